//===- PackageParameters.cpp - What a package says of tensors -------------===//

#include "PackageParameters.h"
#include "NSA/IR/NSADialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::cuda;
using namespace nsacc::nsatile;
using Kind = rt::Step::Kind;

std::optional<rt::DType> nsacc::cuda::getDType(Type type) {
  if (type.isInteger(8) || type.isInteger(1))
    return rt::DType::Bool;
  if (type.isInteger(32))
    return rt::DType::I32;
  if (type.isInteger(64))
    return rt::DType::I64;
  if (type.isF16())
    return rt::DType::F16;
  if (type.isBF16())
    return rt::DType::BF16;
  if (type.isF32())
    return rt::DType::F32;
  if (type.isF64())
    return rt::DType::F64;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static rt::Size makeSize(int64_t size, const Dim *dim) {
  rt::Size result;
  if (!ShapedType::isDynamic(size))
    result.fixed = size;
  if (!dim || dim->kind == Dim::Kind::Constant)
    return result;
  // Dimensions that are spelled alike have equal sizes; offsets of all ragged
  // dimensions go over one batch.
  result.name = dim->kind == Dim::Kind::Named     ? dim->name
                : dim->kind == Dim::Kind::Offsets ? "offsets"
                                                  : toString(*dim);
  return result;
}

/// Whether a launch lets a program write to the buffer.
static bool isWritten(Value buffer) {
  for (OpOperand &use : buffer.getUses()) {
    auto launch = dyn_cast<LaunchOp>(use.getOwner());
    if (!launch)
      continue;
    auto program = SymbolTable::lookupNearestSymbolFrom<ProgramOp>(
        launch, launch.getProgramAttr());
    unsigned index =
        use.getOperandNumber() - launch.getArguments().getBeginOperandIndex();
    SmallVector<Value> views = {program.getBody().getArgument(index)};
    while (!views.empty())
      for (Operation *user : views.pop_back_val().getUsers()) {
        if (isa<ViewLikeOpInterface>(user))
          llvm::append_range(views, user->getResults());
        else if (isa<StoreOp>(user))
          return true;
      }
  }
  return false;
}

/// The buffer's dimension that each one of callers is.
static std::vector<uint32_t> getOrder(PlanOp plan, unsigned index,
                                      int64_t rank) {
  auto declared = plan.getArgAttrOfType<DenseI64ArrayAttr>(
      index, nsa::NSADialect::getOrderAttrName());
  std::vector<uint32_t> order;
  for (int64_t dim = 0; dim < rank; ++dim)
    order.push_back(declared ? declared[dim] : dim);
  return order;
}

static FailureOr<rt::Parameter> readParameter(PlanOp plan, unsigned index,
                                              const nsacc::Argument *argument) {
  BlockArgument value = plan.getBody().getArgument(index);
  auto type = dyn_cast<MemRefType>(value.getType());
  std::optional<rt::DType> dtype =
      type ? getDType(type.getElementType()) : std::nullopt;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!dtype || failed(type.getStridesAndOffset(strides, offset)) ||
      type.getRank() > static_cast<int64_t>(rt::kMaxRank))
    return emitError(value.getLoc())
           << "a plan's argument of type " << value.getType()
           << " isn't supported by GPU targets; expected strided buffers of at "
              "most "
           << rt::kMaxRank << " dimensions";
  auto name = plan.getArgAttrOfType<StringAttr>(
      index, nsa::NSADialect::getNameAttrName());
  rt::Parameter parameter;
  parameter.name = name ? name.str() : "argument " + std::to_string(index);
  parameter.dtype = *dtype;
  parameter.isResult = isWritten(value);
  parameter.order = getOrder(plan, index, type.getRank());
  bool hasDims =
      argument && static_cast<int64_t>(argument->dims.size()) == type.getRank();
  for (auto [given, dim] : llvm::enumerate(parameter.order)) {
    parameter.sizes.push_back(makeSize(
        type.getShape()[dim], hasDims ? &argument->dims[given] : nullptr));
    parameter.strides.push_back(ShapedType::isDynamic(strides[dim])
                                    ? std::nullopt
                                    : std::optional(strides[dim]));
  }
  return parameter;
}

/// Argument `index` of a kernel, inputs before results; null where the plan has
/// more.
static const nsacc::Argument *findArgument(const Signature *signature,
                                           unsigned index) {
  if (!signature)
    return nullptr;
  size_t numInputs = signature->inputs.size();
  if (index < numInputs)
    return &signature->inputs[index];
  return index - numInputs < signature->results.size()
             ? &signature->results[index - numInputs]
             : nullptr;
}

FailureOr<std::vector<rt::Parameter>>
nsacc::cuda::readParameters(PlanOp plan, const Signature *signature) {
  std::vector<rt::Parameter> parameters;
  for (unsigned index = 0; index < plan.getNumArguments(); ++index) {
    FailureOr<rt::Parameter> parameter =
        readParameter(plan, index, findArgument(signature, index));
    if (failed(parameter))
      return failure();
    if (signature)
      parameter->isResult = index >= signature->inputs.size();
    parameters.push_back(std::move(*parameter));
  }
  return parameters;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {

/// Sizes of dimensions as numbers of a plan.
class SizeChecker {
public:
  SizeChecker(const Signature &signature, ArrayRef<rt::Parameter> parameters,
              PlanNumbers &numbers)
      : signature(signature), parameters(parameters), numbers(numbers) {
    uint32_t index = 0;
    for (const auto *arguments : {&signature.inputs, &signature.results})
      for (const nsacc::Argument &argument : *arguments) {
        for (auto [dim, each] : llvm::enumerate(argument.dims))
          note(each, index, dim);
        ++index;
      }
  }

  std::vector<rt::Check> run() {
    std::vector<rt::Check> checks;
    uint32_t index = 0;
    for (const auto *arguments : {&signature.inputs, &signature.results})
      for (const nsacc::Argument &argument : *arguments) {
        for (auto [dim, each] : llvm::enumerate(argument.dims))
          if (std::optional<uint32_t> expected = getExpected(each))
            checks.push_back({getSize(index, dim), *expected,
                              describe(argument, dim, each)});
        ++index;
      }
    return checks;
  }

private:
  /// The size of dimension `dim` as callers count.
  uint32_t getSize(uint32_t index, size_t dim) {
    return numbers.dim(index, parameters[index].order[dim]);
  }

  void note(const Dim &dim, uint32_t index, size_t at) {
    if (dim.kind == Dim::Kind::Ragged)
      ragged.insert(dim.name);
    if (dim.kind == Dim::Kind::Named && !sizes.contains(dim.name))
      sizes[dim.name] = getSize(index, at);
  }

  static std::string describe(const nsacc::Argument &argument, size_t dim,
                              const Dim &each) {
    return "size " + std::to_string(dim) + " of '" + argument.name + "' (" +
           toString(each) + ")";
  }

  /// What follows from the size of a dimension that isn't ragged.
  std::optional<uint32_t> getExpected(const Dim &dim) {
    bool isDerived =
        dim.kind == Dim::Kind::Pool || dim.kind == Dim::Kind::Blocks;
    auto size = sizes.find(dim.name);
    if (!isDerived || size == sizes.end() || ragged.contains(dim.name))
      return std::nullopt;
    uint32_t tokens = size->second;
    if (dim.kind == Dim::Kind::Blocks)
      return numbers.add(Kind::CeilDiv, {tokens, numbers.constant(dim.block)});
    return countWindows(dim, tokens);
  }

  /// The number of pooled keys over so many tokens (docs/spec.md, pool).
  uint32_t countWindows(const Dim &dim, uint32_t tokens) {
    uint32_t stride = numbers.constant(dim.stride);
    uint32_t one = numbers.constant(1), zero = numbers.constant(0);
    uint32_t behind =
        numbers.add(Kind::Sub, {tokens, numbers.constant(dim.len)});
    switch (dim.tail) {
    case Dim::Tail::Drop: {
      // For fewer tokens than a window has: floor(negative / stride) + 1 <= 0.
      uint32_t steps = numbers.add(Kind::FloorDiv, {behind, stride});
      return numbers.add(Kind::Max,
                         {numbers.add(Kind::Add, {steps, one}), zero});
    }
    case Dim::Tail::ZerosLeft:
      return numbers.add(Kind::FloorDiv, {tokens, stride});
    case Dim::Tail::Average:
    case Dim::Tail::ZerosRight: {
      uint32_t positive = numbers.add(Kind::Max, {behind, zero});
      uint32_t steps = numbers.add(Kind::CeilDiv, {positive, stride});
      uint32_t windows = numbers.add(Kind::Add, {steps, one});
      uint32_t isEmpty = numbers.add(Kind::Equal, {tokens, zero});
      return numbers.add(Kind::Select, {isEmpty, zero, windows});
    }
    }
    llvm_unreachable("not a tail");
  }

  const Signature &signature;
  ArrayRef<rt::Parameter> parameters;
  PlanNumbers &numbers;
  llvm::StringMap<uint32_t> sizes;
  llvm::StringSet<> ragged;
};

} // namespace

std::vector<rt::Check>
nsacc::cuda::makeChecks(const Signature &signature,
                        ArrayRef<rt::Parameter> parameters,
                        PlanNumbers &numbers) {
  return SizeChecker(signature, parameters, numbers).run();
}
