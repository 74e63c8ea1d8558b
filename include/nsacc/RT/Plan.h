//===- Plan.h - Launch plans as data ----------------------------*- C++ -*-===//
//
// Work of the host that runs a kernel, on every target: it computes numbers,
// allocates workspaces, and launches. The CPU's executables and the GPU's
// modules run the same plans; each of them places memory and makes launches in
// its own way.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_RT_PLAN_H
#define NSACC_RT_PLAN_H

#include "nsacc/DType.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nsacc::rt {

using nsacc::DType;

/// Bytes of an element.
int64_t getBytes(DType dtype);
/// "bool", "i32", "i64", "f16", "bf16", "f32", "f64"
const char *getName(DType dtype);

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// The required size of a dimension: `fixed`, or equal to all other dimensions
/// of its name, or any.
struct Size {
  std::optional<int64_t> fixed;
  std::string name;
};

/// An input or a result.
struct Parameter {
  std::string name;
  DType dtype;
  /// In the caller's order of dimensions.
  std::vector<Size> sizes;
  /// In elements; strides without a value are arguments of kernels.
  std::vector<std::optional<int64_t>> strides;
  /// For each of these, the dimension of the kernels' buffer.
  std::vector<uint32_t> order;
  bool isResult;
  /// Offsets of ragged rows (integers): the name of the dimension whose tokens
  /// they divide; else empty.
  std::string offsetsOf = {};
};

/// One number of a plan: computed from earlier numbers, which are named by
/// position.
struct Step {
  enum class Kind {
    Constant, ///< value
    Dim,      ///< size `value` of the buffer of parameter `operands[0]`
    Time,     ///< how often repeat `value` has run
    Add,
    Sub,
    Mul,
    Div, ///< towards zero
    FloorDiv,
    CeilDiv,
    Rem,
    Min,
    Max,
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Select
  };

  Kind kind;
  int64_t value = 0;
  uint32_t operands[3] = {};
};

/// Number of operands of a step.
unsigned getNumOperands(Step::Kind kind);
/// Whether a step of this kind has a value.
bool hasValue(Step::Kind kind);
/// "<=" for the kinds that compare, else null.
const char *getComparison(Step::Kind kind);

/// A row-major buffer that lives from one launch to another.
struct Workspace {
  int64_t elementBytes;
  DType dtype;
  std::vector<uint32_t> sizes; ///< numbers of the plan
  /// First and last launch that use it; if a launch of a repeat uses it, all of
  /// that repeat.
  uint32_t first, last;
};

/// A bulk copy's view of a buffer (#nsatile.tensor_map).
struct TensorMap {
  uint32_t argument;
  std::vector<uint32_t> dims, box;
  uint32_t swizzle;
  std::vector<uint32_t> steps = {}; ///< for each of `dims`; none: 1
};

/// An argument of a program: a buffer (parameters, then workspaces), or a
/// number of the plan that takes `bytes` bytes.
struct Argument {
  bool isBuffer;
  uint32_t index;
  uint32_t bytes = 0;
};

/// A parameter that follows the arguments.
struct ExtraParameter {
  enum class Kind { TensorMap, Counter, Failures, Raised, FirstZ };

  Kind kind;
  TensorMap map = {};
};

/// A program at every point of a grid. A grid with a size of 0 runs nothing.
struct Launch {
  std::string kernel;
  uint32_t grid[3]; ///< numbers of the plan
  /// GPU only; ignored on a CPU.
  uint32_t threads = 0, sharedBytes = 0, cluster = 1;
  /// The package's image that has the kernel.
  uint32_t image = 0;
  /// Whether the kernel's own code waits for the launch before it to end
  /// (programmatic dependent launch).
  bool isDependent = false;
  std::vector<Argument> arguments;
  /// Further parameters of a GPU's kernel.
  std::vector<ExtraParameter> extra;
};

/// Whether the kernel has a counter and takes the points of its grid by itself.
bool isPersistent(const Launch &launch);

/// The most blocks that a device takes along the last axis of a grid.
inline constexpr int64_t kMostBlocksOfZ = 65535;
/// Whether the grid has more of them and is launched in parts; the kernel is
/// given the first block of each part.
bool isLaunchedInParts(const Launch &launch);

/// More than any call needs; bounds the cost of a plan.
inline constexpr int64_t kMaxTimes = 1 << 16;

/// Launches that run `count` times, at most `kMaxTimes`, one time after the
/// other. Numbers that depend on the time (Step::Kind::Time) change each time;
/// `count` and sizes of workspaces don't.
struct Repeat {
  uint32_t first, last; ///< launches
  uint32_t count;       ///< a number of the plan
};

/// A condition on two numbers of a plan that must hold before anything is
/// launched.
struct Check {
  uint32_t found, expected;
  std::string what; ///< "size 2 of result 'i'"
};

struct Plan {
  std::vector<Step> steps;
  std::vector<Check> checks;
  std::vector<Workspace> workspaces;
  std::vector<Launch> launches;
  std::vector<Repeat> repeats = {}; ///< in the order of their launches
};

/// A condition of the programs' code: its message, in which {n} is replaced by
/// value n of `numValues`.
struct Assertion {
  std::string message;
  uint32_t numValues;
};

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// Why a plan can't run for a call's sizes; none if it can.
using Problem = std::optional<std::string>;
inline constexpr char kSizesTooLarge[] =
    "these sizes are too large: the launch plan leaves 64 bits";

/// A repeat, and the number of its iteration.
struct Time {
  size_t repeat = 0;
  int64_t number = 0;
};

/// Computes numbers in order. `sizes[i]` points to the sizes of parameter i, in
/// the order of its buffer's dimensions.
[[nodiscard]] Problem computeSteps(const std::vector<Step> &steps,
                                   const std::vector<const int64_t *> &sizes,
                                   std::vector<int64_t> &numbers,
                                   Time time = {});
/// Computes a plan's numbers, for the first time of repeats, and runs its
/// checks.
[[nodiscard]] Problem computeNumbers(const Plan &plan,
                                     const std::vector<const int64_t *> &sizes,
                                     std::vector<int64_t> &numbers);

/// Visits launches in the order in which they run, by their indices, with the
/// numbers of their time. `numbers` are the ones of the first time, before and
/// after the call. `visit` may end the visit with a problem.
[[nodiscard]] Problem
forEachLaunch(const Plan &plan, const std::vector<const int64_t *> &sizes,
              std::vector<int64_t> &numbers,
              const std::function<Problem(size_t launch)> &visit);

/// Alignment of each workspace in bytes: for a CPU's vectors, and for bulk
/// copies and every vector load of a GPU.
inline constexpr int64_t kHostAlignment = 64, kDeviceAlignment = 256;

/// An empty workspace has an address, too.
inline int64_t alignWorkspace(int64_t bytes, int64_t alignment) {
  return ((bytes > 1 ? bytes : 1) + alignment - 1) / alignment * alignment;
}

/// The most bytes that workspaces take together while a launch runs.
[[nodiscard]] Problem computeWorkspace(const Plan &plan,
                                       const std::vector<int64_t> &numbers,
                                       int64_t alignment, int64_t &bytes);

/// Sizes and row-major strides of a workspace, as many as it has dimensions,
/// and its bytes: 0 if it has no elements.
[[nodiscard]] Problem computeExtent(const Workspace &workspace,
                                    const std::vector<int64_t> &numbers,
                                    int64_t *sizes, int64_t *strides,
                                    int64_t &bytes);

/// Row-major strides of sizes, in elements, and bytes of the whole. False if
/// they overflow 64 bits.
bool setStrides(size_t rank, const int64_t *sizes, int64_t elementBytes,
                int64_t *strides, int64_t &bytes);

/// Whether a launch's grid has no point.
bool isEmpty(const Launch &launch, const std::vector<int64_t> &numbers);

/// Number of points of a launch's grid; null if it is more than INT32_MAX.
std::optional<int64_t> countPoints(const Launch &launch,
                                   const std::vector<int64_t> &numbers);

/// Says why no GPU takes a launch's grid.
Problem findGridProblem(const Launch &launch,
                        const std::vector<int64_t> &numbers);
/// The problem of the first launch that has such a grid.
Problem findGridProblem(const Plan &plan, const std::vector<int64_t> &numbers);

/// An assertion's message with its values in the places of {n}.
std::string formatMessage(const Assertion &assertion, const int64_t *values);

} // namespace nsacc::rt

#endif // NSACC_RT_PLAN_H
