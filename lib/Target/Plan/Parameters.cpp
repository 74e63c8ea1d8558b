//===- Parameters.cpp - A plan's inputs and results -----------------------===//

#include "Parameters.h"
#include "NSA/IR/NSADialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

std::optional<DType> nsacc::getDType(Type type) {
  if (type.isInteger(8) || type.isInteger(1))
    return DType::Bool;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64))
    return DType::I64;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  return std::nullopt;
}

static rt::Size makeSize(int64_t size, const Dim *dim) {
  rt::Size result;
  if (!ShapedType::isDynamic(size))
    result.fixed = size;
  if (!dim || dim->kind == Dim::Kind::Constant)
    return result;
  // Dimensions with equal spelling have equal sizes; offsets of all ragged
  // dimensions cover one batch.
  result.name = dim->kind == Dim::Kind::Named     ? dim->name
                : dim->kind == Dim::Kind::Offsets ? "offsets"
                                                  : toString(*dim);
  return result;
}

/// Whether an op may write to a buffer among its operands.
static bool writes(Operation *op) {
  // A producer's load writes to its circular buffer.
  if (isa<ProducerLoadOp>(op) || isMemoryEffectFree(op))
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return !effects || !effects.onlyHasEffect<MemoryEffects::Read>();
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
    while (!views.empty()) {
      Value view = views.pop_back_val();
      for (Operation *user : view.getUsers()) {
        auto next = dyn_cast<ViewLikeOpInterface>(user);
        if (next && next.getViewSource() == view)
          views.push_back(next.getViewDest());
        else if (writes(user))
          return true;
      }
    }
  }
  return false;
}

/// For each dimension of callers, the buffer's dimension.
static std::vector<uint32_t> getOrder(PlanOp plan, unsigned index,
                                      int64_t rank) {
  auto declared = plan.getArgAttrOfType<DenseI64ArrayAttr>(
      index, nsa::NSADialect::getOrderAttrName());
  std::vector<uint32_t> order;
  for (int64_t dim = 0; dim < rank; ++dim)
    order.push_back(declared ? declared[dim] : dim);
  return order;
}

LogicalResult nsacc::checkRank(Value buffer, const Twine &tensor,
                               const PlanOptions &options) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  if (!options.maxRank || rank <= *options.maxRank)
    return success();
  return emitError(buffer.getLoc())
         << tensor << " has " << rank << " dimensions, and " << options.target
         << " take tensors of at most " << *options.maxRank;
}

static FailureOr<rt::Parameter> readParameter(PlanOp plan, unsigned index,
                                              const nsacc::Argument *argument,
                                              const PlanOptions &options) {
  BlockArgument value = plan.getBody().getArgument(index);
  auto type = dyn_cast<MemRefType>(value.getType());
  std::optional<DType> dtype =
      type ? getDType(type.getElementType()) : std::nullopt;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!dtype || failed(type.getStridesAndOffset(strides, offset)))
    return emitError(value.getLoc())
           << "a plan's argument of type " << value.getType()
           << " isn't supported by " << options.target
           << "; expected strided buffers";
  auto name = plan.getArgAttrOfType<StringAttr>(
      index, nsa::NSADialect::getNameAttrName());
  rt::Parameter parameter;
  parameter.name = name ? name.str() : "argument " + std::to_string(index);
  if (failed(checkRank(value, "'" + parameter.name + "'", options)))
    return failure();
  parameter.dtype = *dtype;
  parameter.isResult = isWritten(value);
  parameter.order = getOrder(plan, index, type.getRank());
  if (argument && argument->isOffsets())
    parameter.offsetsOf = argument->dims.front().name;
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

/// Argument `index` of a kernel, inputs before results; null if the plan has
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
nsacc::readParameters(PlanOp plan, const PlanOptions &options) {
  const Signature *signature = options.signature;
  std::vector<rt::Parameter> parameters;
  for (unsigned index = 0; index < plan.getNumArguments(); ++index) {
    FailureOr<rt::Parameter> parameter =
        readParameter(plan, index, findArgument(signature, index), options);
    if (failed(parameter))
      return failure();
    if (signature)
      parameter->isResult = index >= signature->inputs.size();
    parameters.push_back(std::move(*parameter));
  }
  return parameters;
}
