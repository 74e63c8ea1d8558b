//===- Plan.cpp - The numbers and workspaces of a launch plan -------------===//

#include "Plan.h"
#include <algorithm>

using namespace nsacc::rt;
using Kind = Step::Kind;

/// Suits bulk copies and every vector load.
static constexpr int64_t kBufferAlignment = 256;

[[noreturn]] static void fail(const std::string &message) {
  throw Failure(NSACC_RT_INVALID, message);
}

[[noreturn]] static void failTooLarge() {
  fail("these sizes are too large: the launch plan leaves 64 bits");
}

static int64_t divide(Kind kind, int64_t lhs, int64_t rhs) {
  if (rhs == 0)
    fail("the launch plan divides by zero for these sizes");
  if (rhs == -1 && lhs == INT64_MIN)
    failTooLarge();
  int64_t quotient = lhs / rhs, rest = lhs % rhs;
  bool isNegative = (rest < 0) != (rhs < 0);
  switch (kind) {
  case Kind::Rem:
    return rest;
  case Kind::FloorDiv:
    return quotient - (rest != 0 && isNegative);
  case Kind::CeilDiv:
    return quotient + (rest != 0 && !isNegative);
  default:
    return quotient;
  }
}

static int64_t compute(const Step &step, const std::vector<Buffer> &buffers,
                       const int64_t *numbers) {
  if (step.kind == Kind::Constant)
    return step.value;
  if (step.kind == Kind::Dim)
    return buffers[step.operands[0]].sizes[step.value];
  int64_t lhs = numbers[step.operands[0]], rhs = numbers[step.operands[1]];
  int64_t result = 0;
  switch (step.kind) {
  case Kind::Add:
    if (__builtin_add_overflow(lhs, rhs, &result))
      failTooLarge();
    return result;
  case Kind::Sub:
    if (__builtin_sub_overflow(lhs, rhs, &result))
      failTooLarge();
    return result;
  case Kind::Mul:
    if (__builtin_mul_overflow(lhs, rhs, &result))
      failTooLarge();
    return result;
  case Kind::Min:
    return std::min(lhs, rhs);
  case Kind::Max:
    return std::max(lhs, rhs);
  case Kind::And:
    return lhs & rhs;
  case Kind::Or:
    return lhs | rhs;
  case Kind::Equal:
    return lhs == rhs;
  case Kind::NotEqual:
    return lhs != rhs;
  case Kind::Less:
    return lhs < rhs;
  case Kind::LessEqual:
    return lhs <= rhs;
  case Kind::Select:
    return lhs ? rhs : numbers[step.operands[2]];
  default:
    return divide(step.kind, lhs, rhs);
  }
}

void nsacc::rt::computeNumbers(const TargetCode &code,
                               const std::vector<Buffer> &buffers,
                               std::vector<int64_t> &numbers) {
  numbers.resize(code.steps.size());
  for (size_t i = 0; i < code.steps.size(); ++i)
    numbers[i] = compute(code.steps[i], buffers, numbers.data());
  for (const Check &check : code.checks)
    if (numbers[check.found] != numbers[check.expected])
      fail(check.what + " is " + std::to_string(numbers[check.found]) +
           ", expected " + std::to_string(numbers[check.expected]));
}

namespace {

/// Where a workspace lies, and when.
struct Placed {
  int64_t begin, end;
  uint32_t first, last;
};

} // namespace

/// The lowest place that is free for as long as a workspace lives. `placed` is
/// sorted by begin.
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

static int64_t alignedBytes(int64_t bytes) {
  // An empty workspace has an address, too.
  bytes = std::max<int64_t>(bytes, 1);
  if (bytes > INT64_MAX / 4)
    failTooLarge();
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

int64_t nsacc::rt::placeWorkspaces(const TargetCode &code,
                                   const std::vector<int64_t> &numbers,
                                   std::vector<Buffer> &buffers) {
  if (code.workspaces.empty())
    return 0;
  static thread_local std::vector<Placed> placed;
  placed.clear();
  int64_t total = 0;
  for (const Workspace &workspace : code.workspaces) {
    Buffer &buffer = buffers.emplace_back();
    buffer.dtype = workspace.dtype;
    buffer.rank = static_cast<uint32_t>(workspace.sizes.size());
    for (uint32_t dim = 0; dim < buffer.rank; ++dim) {
      buffer.sizes[dim] = numbers[workspace.sizes[dim]];
      if (buffer.sizes[dim] < 0)
        fail("the launch plan asks for a workspace of size " +
             std::to_string(buffer.sizes[dim]));
    }
    int64_t bytes;
    if (!buffer.setStrides(bytes))
      failTooLarge();
    bytes = alignedBytes(bytes);
    int64_t begin = findPlace(placed, bytes, workspace);
    if (begin > INT64_MAX / 4)
      failTooLarge();
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
