//===- Plan.h - Launch plans as data ----------------------------*- C++ -*-===//
//
// What a host does to run a kernel, on every target: numbers, workspaces,
// launches. The CPU's executables and the GPU's modules run the same plans;
// where memory is and how a launch is made is theirs.
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

/// What a dimension has to be: `fixed`, as every other one of its name, or
/// anything.
struct Size {
  std::optional<int64_t> fixed;
  std::string name;
};

/// An input or a result.
struct Parameter {
  std::string name;
  DType dtype;
  /// As callers order the dimensions.
  std::vector<Size> sizes;
  /// In elements; those without a value are arguments of kernels.
  std::vector<std::optional<int64_t>> strides;
  /// The dimension of the kernels' buffer that each of these is.
  std::vector<uint32_t> order;
  bool isResult;
  /// Of integers that are offsets of ragged rows: the name of the dimension
  /// whose tokens they divide; else empty.
  std::string offsetsOf = {};
};

/// One number of a plan: computed of numbers before it, named by position.
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

/// How many operands a step has.
unsigned getNumOperands(Step::Kind kind);
/// Whether it has a value.
bool hasValue(Step::Kind kind);
/// "<=" for the kinds that compare, else null.
const char *getComparison(Step::Kind kind);

/// A row-major buffer that lives from one launch to another.
struct Workspace {
  int64_t elementBytes;
  DType dtype;
  std::vector<uint32_t> sizes; ///< numbers of the plan
  /// Launches that use it; all of a repeat, if any of them does.
  uint32_t first, last;
};

/// How bulk copies see a buffer (#nsatile.tensor_map).
struct TensorMap {
  uint32_t argument;
  std::vector<uint32_t> dims, box;
  uint32_t swizzle;
  std::vector<uint32_t> steps = {}; ///< for each of `dims`; none: 1
};

/// An argument of a program: a buffer (parameters, then workspaces), or a
/// number of the plan with `bytes` bytes.
struct Argument {
  bool isBuffer;
  uint32_t index;
  uint32_t bytes = 0;
};

/// A parameter behind the arguments.
struct ExtraParameter {
  enum class Kind { TensorMap, Counter, Failures, Raised, FirstZ };

  Kind kind;
  TensorMap map = {};
};

/// A program at every point of a grid. A grid with a size of 0 runs nothing.
struct Launch {
  std::string kernel;
  uint32_t grid[3]; ///< numbers of the plan
  /// How a GPU runs it; nothing to a CPU.
  uint32_t threads = 0, sharedBytes = 0, cluster = 1;
  /// The package's image that has the kernel.
  uint32_t image = 0;
  /// Waits for the end of the launch before it by itself.
  bool isDependent = false;
  std::vector<Argument> arguments;
  /// What a GPU's kernel takes more.
  std::vector<ExtraParameter> extra;
};

/// A kernel with a counter takes the points of its grid by itself.
bool isPersistent(const Launch &launch);

/// Blocks that a device takes along the last axis of a grid.
inline constexpr int64_t kMostBlocksOfZ = 65535;
/// A grid with more of them is launched in parts, whose first block a kernel is
/// told.
bool isLaunchedInParts(const Launch &launch);

/// More than any call needs: what a plan costs stays bounded.
inline constexpr int64_t kMaxTimes = 1 << 16;

/// Launches that run `count` times, at most `kMaxTimes`, one time after the
/// other. Some numbers are others each time (Step::Kind::Time), but for `count`
/// and sizes of workspaces.
struct Repeat {
  uint32_t first, last; ///< launches
  uint32_t count;       ///< a number of the plan
};

/// What must hold of two numbers of a plan before anything is launched.
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

/// A condition of the programs' code: its message, in which {n} stands for
/// value n of `numValues`.
struct Assertion {
  std::string message;
  uint32_t numValues;
};

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// Why a plan doesn't run for a call's sizes; none where it does.
using Problem = std::optional<std::string>;
inline constexpr char kSizesTooLarge[] =
    "these sizes are too large: the launch plan leaves 64 bits";

/// Which time of which repeat it is.
struct Time {
  size_t repeat = 0;
  int64_t number = 0;
};

/// Computes numbers in order. `sizes[i]` points to those of parameter i, in the
/// order of its buffer's dimensions.
[[nodiscard]] Problem computeSteps(const std::vector<Step> &steps,
                                   const std::vector<const int64_t *> &sizes,
                                   std::vector<int64_t> &numbers,
                                   Time time = {});
/// Computes a plan's numbers, of the first time of repeats, and looks at its
/// checks.
[[nodiscard]] Problem computeNumbers(const Plan &plan,
                                     const std::vector<const int64_t *> &sizes,
                                     std::vector<int64_t> &numbers);

/// Visits launches as they run, by their places, with the numbers of their
/// time. `numbers` are those of the first time before and behind. `visit` may
/// end it, with a problem.
[[nodiscard]] Problem
forEachLaunch(const Plan &plan, const std::vector<const int64_t *> &sizes,
              std::vector<int64_t> &numbers,
              const std::function<Problem(size_t launch)> &visit);

/// What each workspace's bytes are a multiple of: of a CPU's vectors, and of
/// what bulk copies and every vector load of a GPU take.
inline constexpr int64_t kHostAlignment = 64, kDeviceAlignment = 256;

/// An empty workspace has an address, too.
inline int64_t alignWorkspace(int64_t bytes, int64_t alignment) {
  return ((bytes > 1 ? bytes : 1) + alignment - 1) / alignment * alignment;
}

/// The most that workspaces take together while a launch runs.
[[nodiscard]] Problem computeWorkspace(const Plan &plan,
                                       const std::vector<int64_t> &numbers,
                                       int64_t alignment, int64_t &bytes);

/// Sizes and row-major strides of a workspace, as many as it has dimensions,
/// and its bytes: 0 where it has no elements.
[[nodiscard]] Problem computeExtent(const Workspace &workspace,
                                    const std::vector<int64_t> &numbers,
                                    int64_t *sizes, int64_t *strides,
                                    int64_t &bytes);

/// Row-major strides of sizes, in elements, and bytes of the whole. False where
/// they leave 64 bits.
bool setStrides(size_t rank, const int64_t *sizes, int64_t elementBytes,
                int64_t *strides, int64_t &bytes);

/// Whether a launch's grid has no point.
bool isEmpty(const Launch &launch, const std::vector<int64_t> &numbers);

/// The points of a launch's grid; null if they are more than INT32_MAX.
std::optional<int64_t> countPoints(const Launch &launch,
                                   const std::vector<int64_t> &numbers);

/// Why no GPU takes a launch's grid.
Problem findGridProblem(const Launch &launch,
                        const std::vector<int64_t> &numbers);
/// Of the first launch that has such a grid.
Problem findGridProblem(const Plan &plan, const std::vector<int64_t> &numbers);

/// An assertion's message with its values in the places of {n}.
std::string formatMessage(const Assertion &assertion, const int64_t *values);

} // namespace nsacc::rt

#endif // NSACC_RT_PLAN_H
