//===- Plan.cpp - Numbers, workspaces and messages of launch plans --------===//

#include "nsacc/RT/Plan.h"
#include <algorithm>
#include <cstdlib>
#include <iterator>

using namespace nsacc::rt;
using Kind = Step::Kind;

int64_t nsacc::rt::getBytes(DType dtype) {
  static constexpr int64_t bytes[] = {1, 4, 8, 2, 2, 4, 8};
  static_assert(std::size(bytes) == NSACC_DTYPE_F64);
  return bytes[toNumber(dtype) - NSACC_DTYPE_BOOL];
}

unsigned nsacc::rt::getNumOperands(Kind kind) {
  switch (kind) {
  case Kind::Constant:
  case Kind::Time:
    return 0;
  case Kind::Dim:
    return 1;
  case Kind::Select:
    return 3;
  default:
    return 2;
  }
}

bool nsacc::rt::hasValue(Kind kind) {
  return kind == Kind::Constant || kind == Kind::Dim || kind == Kind::Time;
}

const char *nsacc::rt::getComparison(Kind kind) {
  switch (kind) {
  case Kind::Equal:
    return "==";
  case Kind::NotEqual:
    return "!=";
  case Kind::Less:
    return "<";
  case Kind::LessEqual:
    return "<=";
  default:
    return nullptr;
  }
}

static bool takes(const Launch &launch, ExtraParameter::Kind kind) {
  return std::any_of(
      launch.extra.begin(), launch.extra.end(),
      [&](const ExtraParameter &extra) { return extra.kind == kind; });
}

bool nsacc::rt::isPersistent(const Launch &launch) {
  return takes(launch, ExtraParameter::Kind::Counter);
}

bool nsacc::rt::isLaunchedInParts(const Launch &launch) {
  return takes(launch, ExtraParameter::Kind::FirstZ);
}

bool nsacc::rt::isEmpty(const Launch &launch,
                        const std::vector<int64_t> &numbers) {
  return std::any_of(std::begin(launch.grid), std::end(launch.grid),
                     [&](uint32_t size) { return numbers[size] <= 0; });
}

std::optional<int64_t>
nsacc::rt::countPoints(const Launch &launch,
                       const std::vector<int64_t> &numbers) {
  int64_t points = 1;
  for (uint32_t size : launch.grid)
    if (__builtin_mul_overflow(points, numbers[size], &points) ||
        points > INT32_MAX)
      return std::nullopt;
  return points;
}

Problem nsacc::rt::findGridProblem(const Launch &launch,
                                   const std::vector<int64_t> &numbers) {
  const int64_t most[] = {
      INT32_MAX, 65535, isLaunchedInParts(launch) ? INT32_MAX : kMostBlocksOfZ};
  if (isEmpty(launch, numbers))
    return std::nullopt;
  // Called for each launch, so names are spelled only in case of errors.
  auto explain = [&](const std::string &what) {
    return "kernel '" + launch.kernel + "' " + what;
  };
  if (isPersistent(launch) && !countPoints(launch, numbers))
    return explain("would have a grid of more than " +
                   std::to_string(INT32_MAX) + " points: run smaller batches");
  if (isPersistent(launch))
    return std::nullopt;
  for (unsigned axis = 0; axis < 3; ++axis)
    if (int64_t blocks = numbers[launch.grid[axis]]; blocks > most[axis])
      return explain("would need a grid of " + std::to_string(blocks) +
                     " blocks along dimension " + std::to_string(axis) +
                     ", more than the device's " + std::to_string(most[axis]) +
                     ": run smaller batches");
  if (int64_t blocks = numbers[launch.grid[0]]; blocks % launch.cluster != 0)
    return explain("has a grid of " + std::to_string(blocks) +
                   " blocks that clusters of " +
                   std::to_string(launch.cluster) + " don't divide");
  return std::nullopt;
}

Problem nsacc::rt::findGridProblem(const Plan &plan,
                                   const std::vector<int64_t> &numbers) {
  for (const Launch &launch : plan.launches)
    if (Problem problem = findGridProblem(launch, numbers))
      return problem;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static constexpr const char *kDivides = "the launch plan divides by zero";

/// Null on success, else the error.
static const char *divide(Kind kind, int64_t lhs, int64_t rhs,
                          int64_t &result) {
  if (rhs == 0)
    return kDivides;
  if (rhs == -1 && lhs == INT64_MIN)
    return kSizesTooLarge;
  int64_t quotient = lhs / rhs, rest = lhs % rhs;
  bool isNegative = (rest < 0) != (rhs < 0);
  result = kind == Kind::Rem        ? rest
           : kind == Kind::FloorDiv ? quotient - (rest != 0 && isNegative)
           : kind == Kind::CeilDiv  ? quotient + (rest != 0 && !isNegative)
                                    : quotient;
  return nullptr;
}

static const char *compute(const Step &step,
                           const std::vector<const int64_t *> &sizes,
                           const int64_t *numbers, Time time, int64_t &result) {
  if (step.kind == Kind::Constant) {
    result = step.value;
    return nullptr;
  }
  if (step.kind == Kind::Dim) {
    result = sizes[step.operands[0]][step.value];
    return nullptr;
  }
  if (step.kind == Step::Kind::Time) {
    bool isNow = static_cast<size_t>(step.value) == time.repeat;
    result = isNow ? time.number : 0;
    return nullptr;
  }
  int64_t lhs = numbers[step.operands[0]], rhs = numbers[step.operands[1]];
  bool overflows = false;
  switch (step.kind) {
  case Kind::Add:
    overflows = __builtin_add_overflow(lhs, rhs, &result);
    break;
  case Kind::Sub:
    overflows = __builtin_sub_overflow(lhs, rhs, &result);
    break;
  case Kind::Mul:
    overflows = __builtin_mul_overflow(lhs, rhs, &result);
    break;
  case Kind::Min:
    result = std::min(lhs, rhs);
    break;
  case Kind::Max:
    result = std::max(lhs, rhs);
    break;
  case Kind::And:
    result = lhs & rhs;
    break;
  case Kind::Or:
    result = lhs | rhs;
    break;
  case Kind::Equal:
    result = lhs == rhs;
    break;
  case Kind::NotEqual:
    result = lhs != rhs;
    break;
  case Kind::Less:
    result = lhs < rhs;
    break;
  case Kind::LessEqual:
    result = lhs <= rhs;
    break;
  case Kind::Select:
    result = lhs ? rhs : numbers[step.operands[2]];
    break;
  default:
    return divide(step.kind, lhs, rhs, result);
  }
  return overflows ? kSizesTooLarge : nullptr;
}

Problem nsacc::rt::computeSteps(const std::vector<Step> &steps,
                                const std::vector<const int64_t *> &sizes,
                                std::vector<int64_t> &numbers, Time time) {
  numbers.resize(steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    if (const char *problem =
            compute(steps[i], sizes, numbers.data(), time, numbers[i]))
      return problem;
  return std::nullopt;
}

Problem nsacc::rt::computeNumbers(const Plan &plan,
                                  const std::vector<const int64_t *> &sizes,
                                  std::vector<int64_t> &numbers) {
  if (Problem problem = computeSteps(plan.steps, sizes, numbers))
    return problem;
  for (const Check &check : plan.checks)
    if (numbers[check.found] != numbers[check.expected])
      return check.what + " is " + std::to_string(numbers[check.found]) +
             ", expected " + std::to_string(numbers[check.expected]);
  return std::nullopt;
}

Problem
nsacc::rt::forEachLaunch(const Plan &plan,
                         const std::vector<const int64_t *> &sizes,
                         std::vector<int64_t> &numbers,
                         const std::function<Problem(size_t launch)> &visit) {
  size_t next = 0;
  auto visitUntil = [&](size_t end) {
    Problem problem;
    while (next < end && !problem)
      problem = visit(next++);
    return problem;
  };
  for (size_t index = 0; index < plan.repeats.size(); ++index) {
    const Repeat &repeat = plan.repeats[index];
    if (Problem problem = visitUntil(repeat.first))
      return problem;
    int64_t count = numbers[repeat.count];
    if (count > kMaxTimes)
      return "the launch plan repeats launches " + std::to_string(count) +
             " times, more than " + std::to_string(kMaxTimes) +
             ": run smaller batches, or in larger chunks";
    for (int64_t number = 0; number < count; ++number) {
      if (number > 0)
        if (Problem problem =
                computeSteps(plan.steps, sizes, numbers, {index, number}))
          return problem;
      next = repeat.first;
      if (Problem problem = visitUntil(repeat.last + 1))
        return problem;
    }
    next = repeat.last + 1;
    if (count > 1)
      if (Problem problem = computeSteps(plan.steps, sizes, numbers))
        return problem;
  }
  return visitUntil(plan.launches.size());
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

bool nsacc::rt::setStrides(size_t rank, const int64_t *sizes,
                           int64_t elementBytes, int64_t *strides,
                           int64_t &bytes) {
  bytes = elementBytes;
  int64_t stride = 1;
  for (size_t dim = rank; dim-- > 0;) {
    strides[dim] = stride;
    // Strides count a size of 0 as 1.
    int64_t size = std::max<int64_t>(sizes[dim], 1);
    if (__builtin_mul_overflow(stride, size, &stride) ||
        __builtin_mul_overflow(bytes, size, &bytes))
      return false;
  }
  if (std::find(sizes, sizes + rank, 0) != sizes + rank)
    bytes = 0;
  return true;
}

Problem nsacc::rt::computeExtent(const Workspace &workspace,
                                 const std::vector<int64_t> &numbers,
                                 int64_t *sizes, int64_t *strides,
                                 int64_t &bytes) {
  size_t rank = workspace.sizes.size();
  for (size_t dim = 0; dim < rank; ++dim) {
    sizes[dim] = numbers[workspace.sizes[dim]];
    if (sizes[dim] < 0)
      return "the launch plan asks for a buffer of size " +
             std::to_string(sizes[dim]);
  }
  if (!setStrides(rank, sizes, workspace.elementBytes, strides, bytes))
    return kSizesTooLarge;
  return std::nullopt;
}

Problem nsacc::rt::computeWorkspace(const Plan &plan,
                                    const std::vector<int64_t> &numbers,
                                    int64_t alignment, int64_t &bytes) {
  std::vector<int64_t> during(plan.launches.size()), sizes, strides;
  for (const Workspace &workspace : plan.workspaces) {
    sizes.resize(workspace.sizes.size());
    strides.resize(workspace.sizes.size());
    int64_t own;
    if (Problem problem = computeExtent(workspace, numbers, sizes.data(),
                                        strides.data(), own))
      return problem;
    for (size_t launch = 0; launch < during.size(); ++launch)
      if (workspace.first <= launch && launch <= workspace.last)
        during[launch] += alignWorkspace(own, alignment);
  }
  bytes = during.empty() ? 0 : *std::max_element(during.begin(), during.end());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Assertions
//===----------------------------------------------------------------------===//

std::string nsacc::rt::formatMessage(const Assertion &assertion,
                                     const int64_t *values) {
  std::string text;
  const std::string &message = assertion.message;
  size_t at = 0;
  while (true) {
    size_t open = message.find('{', at);
    size_t close = message.find('}', open);
    if (open == std::string::npos || close == std::string::npos)
      return text + message.substr(at);
    text += message.substr(at, open - at);
    unsigned long index = std::strtoul(message.c_str() + open + 1, nullptr, 10);
    if (index < assertion.numValues)
      text += std::to_string(values[index]);
    at = close + 1;
  }
}
