//===- NSATileLayouts.cpp - Verifiers of layouts --------------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/TileLayout.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc::nsatile;

using EmitError = function_ref<InFlightDiagnostic()>;

static bool isRegisterLayout(Attribute layout) {
  return isa<MmaLayoutAttr, SliceLayoutAttr, ReshapeLayoutAttr,
             BlockedLayoutAttr>(layout);
}

/// Checks the layout that a slice or a reshape is made of.
static LogicalResult verifyInner(EmitError emitError, Attribute inner) {
  if (isRegisterLayout(inner))
    return success();
  return emitError() << "expected a layout of registers without partial sums: "
                        "#nsatile.mma, slice, reshape or blocked, found "
                     << inner;
}

static LogicalResult verifyInner(Attribute inner, ArrayRef<int64_t> shape,
                                 Type elementType, EmitError emitError) {
  return cast<VerifiableTensorEncoding>(inner).verifyEncoding(
      shape, elementType, emitError);
}

LogicalResult MmaLayoutAttr::verify(EmitError emitError, int64_t warps) {
  if (warps < 1 || warps > 32)
    return emitError() << "expected 1 to 32 warps, found " << warps;
  return success();
}

LogicalResult MmaLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                            EmitError emitError) const {
  if (shape.size() != 2)
    return emitError() << "expected a matrix for #nsatile.mma, found a tile of "
                          "rank "
                       << shape.size()
                       << "; slice or reshape the layout of a matrix";
  return success();
}

LogicalResult SliceLayoutAttr::verify(EmitError emitError, int64_t dim,
                                      Attribute of) {
  if (dim < 0)
    return emitError() << "expected a dimension from 0 on, found " << dim;
  return verifyInner(emitError, of);
}

LogicalResult SliceLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                              Type elementType,
                                              EmitError emitError) const {
  if (getDim() > static_cast<int64_t>(shape.size()))
    return emitError() << "expected a slice along one of dimensions 0 to "
                       << shape.size() << ", found " << getDim();
  SmallVector<int64_t> whole(shape);
  whole.insert(whole.begin() + getDim(), ShapedType::kDynamic);
  return verifyInner(getOf(), whole, elementType, emitError);
}

LogicalResult PartialLayoutAttr::verify(EmitError emitError, Attribute of) {
  if (!isa<SliceLayoutAttr>(of))
    return emitError() << "expected partial sums of a #nsatile.slice, found "
                       << of;
  return success();
}

LogicalResult PartialLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                                Type elementType,
                                                EmitError emitError) const {
  if (!elementType.isF32())
    return emitError() << "expected partial sums of f32, found " << elementType;
  return verifyInner(getOf(), shape, elementType, emitError);
}

LogicalResult ReshapeLayoutAttr::verify(EmitError emitError,
                                        ArrayRef<int64_t> as, Attribute of) {
  for (int64_t size : as)
    if (size < 1)
      return emitError() << "expected sizes of at least 1, found " << size;
  // A tile in shared memory can be of any shape.
  return isa<SharedLayoutAttr>(of) ? success() : verifyInner(emitError, of);
}

LogicalResult ReshapeLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                                Type elementType,
                                                EmitError emitError) const {
  int64_t total = ShapedType::getNumElements(getAs());
  int64_t known = 1;
  unsigned gaps = 0;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(size))
      known *= size;
    else if (dim == 0 || !ShapedType::isDynamic(shape[dim - 1]))
      ++gaps;
  }
  if (gaps > 1)
    return emitError() << "expected slices of neighbouring dimensions of "
                          "#nsatile.reshape; the sizes of others aren't known";
  if (known == 0 || (gaps == 0 ? total != known : total % known != 0))
    return emitError() << "expected as many elements as [" << getAs()
                       << "] has, " << total << ", found "
                       << (gaps == 0 ? "" : "parts of ") << known;
  return verifyInner(getOf(), getAs(), elementType, emitError);
}

LogicalResult BlockedLayoutAttr::verify(EmitError emitError, int64_t threads,
                                        int64_t vector) {
  if (threads < 32 || threads > 1024 || threads % 32 != 0)
    return emitError()
           << "expected whole warps of threads, at most 1024, found "
           << threads;
  if (vector < 1 || !llvm::isPowerOf2_64(vector))
    return emitError() << "expected vectors of a power of two, found "
                       << vector;
  return success();
}

LogicalResult BlockedLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                                EmitError emitError) const {
  if (ShapedType::isDynamicShape(shape))
    return emitError()
           << "can't slice #nsatile.blocked: which element a thread "
              "holds depends on every size";
  return success();
}

LogicalResult SharedLayoutAttr::verify(EmitError emitError, int64_t swizzle) {
  if (swizzle != 0 && swizzle != 128)
    return emitError() << "expected a swizzle of 0 or 128, found " << swizzle;
  return success();
}

LogicalResult SharedLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                               Type elementType,
                                               EmitError emitError) const {
  if (getSwizzle() == 0)
    return success();
  if (shape.size() != 2 || !elementType.isIntOrFloat() ||
      elementType.getIntOrFloatBitWidth() != 16)
    return emitError() << "expected a matrix of 16-bit elements for a swizzle "
                          "of 128, found rank "
                       << shape.size() << " of " << elementType;
  return success();
}
