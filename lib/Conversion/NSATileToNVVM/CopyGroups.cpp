//===- CopyGroups.cpp - Asynchronous copies under way ---------------------===//

#include "CopyGroups.h"
#include "InlinePTX.h"
#include "Instructions.h"

using namespace mlir;
using namespace nsacc;

void CopyGroups::note() {
  hasCopies = true;
  copiesGroup = numGroups;
}

void CopyGroups::beforeBarrier() {
  if (hasCopies)
    ptx::waitAllCopies(b);
  hasCopies = false;
  for (auto &[buffer, queue] : queues) {
    queue.mustMeet = false;
    queue.numUnmet = 0;
  }
}

//===----------------------------------------------------------------------===//
// Circular buffers
//===----------------------------------------------------------------------===//

void CopyGroups::removeQueue(Value buffer) {
  if (!getQueue(buffer).groups.empty())
    note();
  queues.erase(buffer);
}

void CopyGroups::push(Value buffer) {
  getQueue(buffer).groups.push_back(numGroups);
  hasOpenGroup = true;
}

void CopyGroups::pushStored(Value buffer) {
  Queue &queue = getQueue(buffer);
  ++queue.numStored;
  ++queue.numUnmet;
}

void CopyGroups::Queue::pop() {
  if (numStored > 0)
    --numStored;
  else
    groups.erase(groups.begin());
  isRead = true;
}

void CopyGroups::commit() {
  if (!hasOpenGroup)
    return;
  nvvm::commitCopies(b);
  ++numGroups;
  hasOpenGroup = false;
}

bool CopyGroups::waitFor(int64_t group) {
  if (group <= arrivedGroup)
    return false;
  nvvm::waitCopies(b, numGroups - 1 - group);
  if (copiesGroup <= group)
    hasCopies = false;
  arrivedGroup = group;
  return true;
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

CopyGroups::State CopyGroups::getState() const {
  State state;
  for (auto &[buffer, queue] : queues) {
    auto &distances = state.distances[buffer];
    for (int64_t group : queue.groups)
      distances.push_back(numGroups - group);
    state.stored[buffer] = {queue.numStored, queue.numUnmet};
    if (queue.mustMeet)
      state.mustMeet.insert(buffer);
    if (queue.isRead)
      state.isRead.insert(buffer);
  }
  state.hasCopies = hasCopies;
  state.hasOpenGroup = hasOpenGroup;
  state.copiesDistance = numGroups - copiesGroup;
  return state;
}

void CopyGroups::setQueues(const State &state) {
  for (auto &[buffer, queue] : queues) {
    queue.groups.clear();
    for (int64_t distance : state.distances.lookup(buffer))
      queue.groups.push_back(numGroups - distance);
    std::tie(queue.numStored, queue.numUnmet) = state.stored.lookup(buffer);
    queue.mustMeet = state.mustMeet.contains(buffer);
  }
  arrivedGroup = -1;
}

void CopyGroups::setState(const State &state) {
  setQueues(state);
  hasCopies = state.hasCopies;
  hasOpenGroup = state.hasOpenGroup;
  copiesGroup = numGroups - state.copiesDistance;
}

/// Joins states: a tile that only one of two branches loaded may be there.
void CopyGroups::join(const State &other) {
  State state = getState();
  for (auto &[buffer, distances] : other.distances) {
    auto &joined = state.distances[buffer];
    for (auto [index, distance] : llvm::enumerate(distances)) {
      if (index < joined.size())
        joined[index] = std::min(joined[index], distance);
      else
        joined.push_back(distance);
    }
  }
  for (auto &[buffer, stored] : other.stored) {
    auto &[numStored, numUnmet] = state.stored[buffer];
    numStored = std::max(numStored, stored.first);
    numUnmet = std::max(numUnmet, stored.second);
  }
  state.mustMeet.insert(other.mustMeet.begin(), other.mustMeet.end());
  if (other.hasCopies)
    state.copiesDistance =
        hasCopies ? std::min(state.copiesDistance, other.copiesDistance)
                  : other.copiesDistance;
  state.hasCopies |= other.hasCopies;
  state.hasOpenGroup |= other.hasOpenGroup;
  setState(state);
  // The group is empty if nothing was copied.
  commit();
}

CopyGroups::State CopyGroups::enterLoop() {
  commit();
  State state = getState();
  for (auto &[buffer, queue] : queues) {
    state.mustMeet.insert(buffer);
    state.stored[buffer].second = queue.numStored;
  }
  setQueues(state);
  return state;
}

/// Checks a step: it leaves as many tiles in circular buffers as it finds,
/// acquired or not, and none nearer to the last group.
LogicalResult CopyGroups::leaveLoop(Operation *op, const State &before) {
  for (auto &[buffer, queue] : queues) {
    auto entered = before.distances.lookup(buffer);
    bool isSame = queue.groups.size() == entered.size() &&
                  queue.numStored == before.stored.lookup(buffer).first &&
                  queue.isRead == before.isRead.contains(buffer);
    for (size_t i = 0; isSame && i < entered.size(); ++i)
      isSame = numGroups - queue.groups[i] >= entered[i];
    if (!isSame)
      return op->emitOpError(
          "expected steps that fill circular buffers as often as they "
          "release them");
  }
  setQueues(before);
  // The loop may not have run at all.
  if (before.hasCopies) {
    hasCopies = true;
    copiesGroup = numGroups - before.copiesDistance;
  }
  return success();
}
