//===- NSATileKernel.cpp - Launch parameters on a GPU ---------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/SharedShape.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace nsacc::nsatile;

using EmitError = function_ref<InFlightDiagnostic()>;

/// Limits of a tensor's bulk copy.
static constexpr int64_t kMaxTensorRank = 5;
static constexpr int64_t kMaxBox = 256, kMaxBoxStep = 8;

bool nsacc::nsatile::isBoxSize(int64_t size, int64_t step) {
  return size >= 1 && step >= 1 && step <= kMaxBoxStep &&
         (size - 1) * step < kMaxBox;
}

LogicalResult TensorMapAttr::verify(EmitError emitError, int64_t argument,
                                    DenseI64ArrayAttr dims,
                                    DenseI64ArrayAttr box, int64_t swizzle,
                                    DenseI64ArrayAttr steps) {
  if (argument < 0)
    return emitError() << "expected the number of a buffer among the "
                          "arguments, found "
                       << argument;
  if (dims.empty() || dims.size() > kMaxTensorRank)
    return emitError() << "expected 1 to " << kMaxTensorRank
                       << " dimensions, found " << dims.size();
  if (box.size() != dims.size())
    return emitError() << "expected a box of " << dims.size()
                       << " sizes, as many as dimensions, found " << box.size();
  llvm::SmallSet<int64_t, kMaxTensorRank> seen;
  for (int64_t dim : dims.asArrayRef())
    if (dim < 0 || !seen.insert(dim).second)
      return emitError() << "expected dimensions of the buffer, each once, "
                            "found "
                         << dim << (dim < 0 ? "" : " twice");
  for (int64_t size : box.asArrayRef())
    if (size < 1 || size > kMaxBox)
      return emitError() << "expected sizes of the box from 1 to " << kMaxBox
                         << ", found " << size;
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return emitError() << "expected a swizzle of 0, 32, 64 or 128 bytes, found "
                       << swizzle;
  if (!steps)
    return success();
  if (steps.size() != dims.size())
    return emitError() << "expected " << dims.size()
                       << " steps, as many as dimensions, found "
                       << steps.size();
  for (auto [size, step] :
       llvm::zip_equal(box.asArrayRef(), steps.asArrayRef()))
    if (!isBoxSize(size, step))
      return emitError() << "expected steps from 1 to " << kMaxBoxStep
                         << " that reach over at most " << kMaxBox
                         << " elements, found " << size << " with a step of "
                         << step;
  return success();
}

LogicalResult KernelAttr::verify(EmitError emitError, int64_t threads,
                                 int64_t shared, int64_t cluster,
                                 bool dependent, ArrayAttr extra) {
  if (threads < 1 || threads > 1024)
    return emitError() << "expected 1 to 1024 threads, found " << threads;
  if (shared < 0)
    return emitError() << "expected at least 0 bytes of shared memory, found "
                       << shared;
  if (cluster < 1 || cluster > 16)
    return emitError() << "expected a cluster of 1 to 16 blocks, found "
                       << cluster;
  if (!extra)
    return success();
  for (Attribute each : extra)
    if (!isa<TensorMapAttr, HostParameterAttr>(each))
      return emitError() << "expected #nsatile.tensor_map or "
                            "#nsatile.parameter as extra parameters, found "
                         << each;
  return success();
}

/// Checks a map against the buffer that it is made of.
static LogicalResult verifyMap(ProgramOp program, TensorMapAttr map) {
  ArrayRef<Type> arguments = program.getArgumentTypes();
  auto buffer = map.getArgument() < static_cast<int64_t>(arguments.size())
                    ? dyn_cast<MemRefType>(arguments[map.getArgument()])
                    : MemRefType();
  if (!buffer)
    return program.emitOpError("expected a tensor map of a buffer, found "
                               "argument ")
           << map.getArgument();
  for (int64_t dim : map.getDims().asArrayRef())
    if (dim >= buffer.getRank())
      return program.emitOpError("expected a tensor map of dimensions of ")
             << buffer << ", found " << dim;
  int64_t rowBytes = map.getBox()[0] * buffer.getElementTypeBitWidth() / 8;
  if (rowBytes % 16 != 0)
    return program.emitOpError("expected a tensor map whose box has rows of a "
                               "multiple of 16 bytes, found ")
           << rowBytes;
  if (map.getSwizzle() != 0 && rowBytes > map.getSwizzle())
    return program.emitOpError("expected a tensor map whose box has rows of "
                               "at most the swizzle's ")
           << map.getSwizzle() << " bytes, found " << rowBytes;
  SmallVector<int64_t> strides;
  int64_t offset;
  int64_t innermost = map.getDims()[0];
  if (failed(buffer.getStridesAndOffset(strides, offset)) ||
      (strides[innermost] != 1 && !ShapedType::isDynamic(strides[innermost])))
    return program.emitOpError("expected a tensor map whose innermost "
                               "dimension has stride 1, found dimension ")
           << innermost << " of " << buffer;
  return success();
}

LogicalResult
NSATileDialect::verifyOperationAttribute(Operation *op,
                                         NamedAttribute attribute) {
  if (attribute.getName() != getKernelAttrName())
    return success();
  auto kernel = dyn_cast<KernelAttr>(attribute.getValue());
  if (!kernel)
    return op->emitOpError("expected #nsatile.kernel as ")
           << getKernelAttrName() << ", found " << attribute.getValue();
  auto program = dyn_cast<ProgramOp>(op);
  if (!program || !kernel.getExtra())
    return success();
  for (Attribute each : kernel.getExtra())
    if (auto map = dyn_cast<TensorMapAttr>(each))
      if (failed(verifyMap(program, map)))
        return failure();
  return success();
}
