//===- Placement.cpp - Placement of workspaces in device memory -----------===//

#include "Placement.h"
#include <algorithm>

using namespace nsacc::rt;

/// Sums of a few of these fit 64 bits, too.
static constexpr int64_t kMaxBytes = INT64_MAX / 4;

namespace {

/// The memory and lifetime of a workspace.
struct Placed {
  int64_t begin, end;
  uint32_t first, last;
};

} // namespace

/// The lowest offset that is free for the whole lifetime of a workspace.
/// `placed` is sorted by begin.
static int64_t findPlace(const std::vector<Placed> &placed, int64_t bytes,
                         const Workspace &workspace) {
  int64_t begin = 0;
  for (const Placed &other : placed) {
    bool meets = other.first <= workspace.last && workspace.first <= other.last;
    if (!meets || other.end <= begin)
      continue;
    if (begin + bytes <= other.begin)
      break;
    begin = other.end;
  }
  return begin;
}

static int64_t checkBytes(int64_t bytes) {
  if (bytes > kMaxBytes)
    throw Failure(NSACC_RT_INVALID, kSizesTooLarge);
  return bytes;
}

static int64_t makeBuffer(const Workspace &workspace,
                          const std::vector<int64_t> &numbers, Buffer &buffer) {
  buffer.dtype = workspace.dtype;
  buffer.rank = static_cast<uint32_t>(workspace.sizes.size());
  for (uint32_t dim = 0; dim < buffer.rank; ++dim)
    buffer.given[dim] = dim;
  int64_t bytes;
  if (Problem problem = computeExtent(workspace, numbers, buffer.sizes.data(),
                                      buffer.strides.data(), bytes))
    throw Failure(NSACC_RT_INVALID, *problem);
  return alignWorkspace(checkBytes(bytes), kDeviceAlignment);
}

int64_t nsacc::rt::placeWorkspaces(const Plan &plan,
                                   const std::vector<int64_t> &numbers,
                                   std::vector<Buffer> &buffers) {
  if (plan.workspaces.empty())
    return 0;
  static thread_local std::vector<Placed> placed;
  placed.clear();
  int64_t total = 0;
  for (const Workspace &workspace : plan.workspaces) {
    Buffer &buffer = buffers.emplace_back();
    int64_t bytes = makeBuffer(workspace, numbers, buffer);
    int64_t begin = checkBytes(findPlace(placed, bytes, workspace));
    buffer.address = static_cast<uint64_t>(begin);
    Placed entry = {begin, begin + bytes, workspace.first, workspace.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), entry,
                                   [](const Placed &lhs, const Placed &rhs) {
                                     return lhs.begin < rhs.begin;
                                   }),
                  entry);
    total = std::max(total, entry.end);
  }
  return total;
}
