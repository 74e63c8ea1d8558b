//===- Programs.cpp - Programs that a kernel is cut into ------------------===//

#include "nsacc/Schedule/Programs.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool schedule::hasSchedule(Operation *op) {
  auto scheduled = dyn_cast<ScheduleOpInterface>(op);
  return scheduled && !scheduled.getFields().empty();
}

std::vector<ScheduledOp> schedule::getScheduledOps(KernelOp kernel) {
  std::vector<ScheduledOp> ops;
  llvm::StringMap<unsigned> counts;
  for (Operation &op : kernel.getBody().front()) {
    if (!hasSchedule(&op))
      continue;
    auto scheduled = cast<ScheduleOpInterface>(op);
    StringRef kind = scheduled.getScheduleName();
    unsigned number = ++counts[kind];
    auto name = op.getLoc()->findInstanceOf<NameLoc>();
    ops.push_back({&op, name ? name.getName().str()
                             : (kind + "." + Twine(number)).str()});
  }
  return ops;
}

//===----------------------------------------------------------------------===//
// Values in memory
//===----------------------------------------------------------------------===//

/// Whether the op's results are shared between query tiles.
static bool isShared(Operation *op) {
  auto scheduled = dyn_cast<ScheduleOpInterface>(op);
  return scheduled && scheduled.isShared();
}

static bool isImportance(Value tensor) {
  auto type = dyn_cast<NamedTensorType>(tensor.getType());
  return type && type.getRank() > 0 &&
         isa<PooledDimAttr, BlocksDimAttr>(type.getDims().back());
}

bool ProgramCut::isInMemory(Value value) const {
  Operation *op = value.getDefiningOp();
  return !op || isShared(op) || memory.contains(value);
}

void ProgramCut::putInMemory(Operation *op, StringRef reason) {
  if (isShared(op))
    return;
  reasons.try_emplace(op, reason);
  for (Value result : op->getResults())
    if (!result.use_empty())
      memory.insert(result);
}

void ProgramCut::readFromMemory(Value value) {
  if (Operation *op = value.getDefiningOp())
    putInMemory(op, "another op reads it from memory, in tiles of keys or "
                    "query tiles of its own");
}

void ProgramCut::separate(Value tensor) {
  if (isa<SelectionType>(tensor.getType()))
    return;
  FoundShape found = findQueryShape(kernel, tensor, [&](Value value) {
    return value != tensor && isInMemory(value);
  });
  for (Operation *other : found.others)
    if (llvm::none_of(other->getResults(), isImportance))
      putInMemory(other, "it's computed over other query tiles than its "
                         "readers are");
}

ProgramCut::ProgramCut(KernelOp kernel, ArrayRef<Own> own) : kernel(kernel) {
  for (const Own &each : own)
    putInMemory(each.op, each.reason);
  Block &body = kernel.getBody().front();
  for (Operation &op : body)
    if (auto scheduled = dyn_cast<ScheduleOpInterface>(op))
      for (Value read : scheduled.getOperandsInMemory())
        readFromMemory(read);
  // Values in memory are computed from other values.
  for (size_t known = memory.size() + 1; known != memory.size();) {
    known = memory.size();
    for (Value result : body.getTerminator()->getOperands())
      separate(result);
    for (Value value : llvm::to_vector(memory))
      separate(value);
  }
  addPrograms();
  share();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Adds a program of the ops that the tensors are computed from, up to values
/// in memory.
void ProgramCut::addProgram(StringRef what, ArrayRef<Value> tensors) {
  Program program = {what, {}};
  SmallVector<Value> open(tensors);
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second ||
        (isInMemory(value) && !llvm::is_contained(tensors, value)))
      continue;
    program.ops.insert(op);
    open.append(op->operand_begin(), op->operand_end());
  }
  programs.push_back(std::move(program));
}

void ProgramCut::addPrograms() {
  auto addOne = [&](ArrayRef<Value> tensors) {
    Value first = tensors.front();
    FoundShape found;
    if (!isa<SelectionType>(first.getType()))
      found = findQueryShape(kernel, first, [&](Value value) {
        return !llvm::is_contained(tensors, value) && isInMemory(value);
      });
    if (!found.shape)
      addProgram("map", tensors);
    else
      addProgram(isImportance(first) ? "importance" : "attend", tensors);
  };
  Block &body = kernel.getBody().front();
  for (Operation &op : body) {
    if (isShared(&op) && hasSchedule(&op))
      addProgram(cast<ScheduleOpInterface>(op).getProgramName(),
                 op.getResult(0));
    SmallVector<Value> kept;
    for (Value result : op.getResults())
      if (memory.contains(result))
        kept.push_back(result);
    if (!kept.empty())
      addOne(kept);
  }
  // Results over the same query tiles share a program.
  SmallVector<std::pair<QueryShape, SmallVector<Value>>> fused;
  for (Value result : body.getTerminator()->getOperands()) {
    Operation *op = result.getDefiningOp();
    if (op && isShared(op))
      continue;
    FoundShape found = findQueryShape(
        kernel, result, [&](Value value) { return isInMemory(value); });
    if (!found.shape || isImportance(result)) {
      addOne(result);
      continue;
    }
    auto *group = llvm::find_if(
        fused, [&](auto &entry) { return entry.first == *found.shape; });
    if (group == fused.end()) {
      fused.push_back({*found.shape, {}});
      group = &fused.back();
    }
    group->second.push_back(result);
  }
  for (auto &[shape, results] : fused)
    addProgram("attend", results);
}

void ProgramCut::share() {
  llvm::EquivalenceClasses<Operation *> classes;
  for (const Program &program : programs) {
    Operation *first = nullptr;
    for (Operation *op : program.ops) {
      if (program.what != "attend" || !isa<ScoringOpInterface>(op) ||
          llvm::any_of(op->getResults(), isImportance))
        continue;
      classes.insert(op);
      if (first)
        classes.unionSets(first, op);
      first = op;
    }
  }
  for (const auto &leader : classes)
    if (leader->isLeader())
      sharing.emplace_back(classes.member_begin(*leader), classes.member_end());
}

ArrayRef<Operation *> ProgramCut::getSharing(Operation *op) const {
  for (const auto &ops : sharing)
    if (llvm::is_contained(ops, op))
      return ops;
  return {};
}
