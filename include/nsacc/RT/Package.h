//===- Package.h - A compiled kernel as data --------------------*- C++ -*-===//

#ifndef NSACC_RT_PACKAGE_H
#define NSACC_RT_PACKAGE_H

#include "nsacc/DType.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nsacc::rt {

using nsacc::DType;

/// Bytes of an element.
int64_t getBytes(DType dtype);
/// "bool", "i32", "i64", "f16", "bf16", "f32", "f64"
const char *getName(DType dtype);

/// Dimensions of a buffer at most.
constexpr size_t kMaxRank = 8;

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
};

/// One number of a plan: computed of numbers before it, named by position.
struct Step {
  enum class Kind {
    Constant, ///< value
    Dim,      ///< size `value` of parameter `operands[0]`
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

/// A row-major buffer that lives from one launch to another.
struct Workspace {
  int64_t elementBytes;
  DType dtype;
  std::vector<uint32_t> sizes; ///< numbers of the plan
  uint32_t first, last;        ///< launches that use it
};

/// How bulk copies see a buffer (#nsatile.tensor_map).
struct TensorMap {
  uint32_t argument;
  std::vector<uint32_t> dims, box;
  uint32_t swizzle;
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
  enum class Kind { TensorMap, Counter, Failures, Raised };

  Kind kind;
  TensorMap map = {};
};

struct Launch {
  std::string kernel;
  uint32_t grid[3]; ///< numbers of the plan
  uint32_t threads, sharedBytes, cluster;
  /// Waits for the end of the launch before it by itself.
  bool isDependent;
  std::vector<Argument> arguments;
  std::vector<ExtraParameter> extra;
};

/// A kernel with a counter takes the points of its grid by itself.
bool isPersistent(const Launch &launch);

/// What must hold of two numbers of a plan before anything is launched.
struct Check {
  uint32_t found, expected;
  std::string what; ///< "size 2 of result 'i'"
};

/// The code for one architecture, with the plan that it was made for.
struct TargetCode {
  std::string architecture; ///< "sm_90a"
  std::string ptx, cubin;   ///< empty where there is none
  std::vector<Step> steps;
  std::vector<Check> checks;
  std::vector<Workspace> workspaces;
  std::vector<Launch> launches;
};

/// A condition of the programs' code: its message, in which {n} stands for
/// value n of `numValues`.
struct Requirement {
  std::string message;
  uint32_t numValues;
};

struct Package {
  std::string compiler; ///< its version
  std::string kernel;
  std::vector<Parameter> parameters;
  std::vector<Requirement> requirements;
  std::vector<TargetCode> targets;
};

/// The package as the bytes of a file.
std::string writePackage(const Package &package);
/// The package as indented JSON, without images but with their sizes.
std::string describePackage(const Package &package);
/// Reads and checks a package: whatever is read can be run without looking at
/// indices again. Throws std::runtime_error with what is wrong.
Package readPackage(const void *data, size_t size);

} // namespace nsacc::rt

#endif // NSACC_RT_PACKAGE_H
