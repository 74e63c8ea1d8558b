//===- SharedShape.cpp - Tiles in shared memory ---------------------------===//

#include "NSATile/IR/SharedShape.h"
#include "NSATile/IR/NSATileOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc::nsatile;

SharedShape SharedShape::get(RankedTensorType tile) {
  Attribute layout = tile.getEncoding();
  ArrayRef<int64_t> shape = tile.getShape();
  if (auto reshape = dyn_cast_if_present<ReshapeLayoutAttr>(layout)) {
    layout = reshape.getOf();
    shape = reshape.getAs();
  }
  auto shared = dyn_cast_if_present<SharedLayoutAttr>(layout);
  return get(shape, tile.getElementType(), shared ? shared.getSwizzle() : 0);
}

SharedShape SharedShape::get(ArrayRef<int64_t> shape, Type element,
                             int64_t swizzle) {
  SharedShape result;
  result.swizzle = swizzle;
  if (!shape.empty()) {
    result.columns = shape.back();
    result.rows = ShapedType::getNumElements(shape.drop_back());
  }
  int64_t bits = element.isIndex() ? 32 : element.getIntOrFloatBitWidth();
  result.elementBytes = llvm::divideCeil(bits, 8);
  result.paddedRows = result.rows;
  result.paddedColumns = result.columns;
  if (swizzle != 0) {
    // Tensor cores take 16 of the inner dimension at a time.
    result.paddedRows = llvm::alignTo(result.rows, 16);
    result.paddedColumns = llvm::alignTo(result.columns, 16);
    int64_t slabs = llvm::divideCeil(result.paddedColumns, kSlabColumns);
    result.pitch = 128;
    result.bytes = slabs * result.paddedRows * result.pitch;
    return result;
  }
  // Rows that begin 16 bytes further keep columns out of the same bank.
  result.pitch = llvm::alignTo(result.columns * result.elementBytes, 16);
  if (result.rows > 1)
    result.pitch += 16;
  // Registers beyond the last column read past the end.
  constexpr int64_t slack = 64;
  result.bytes = result.rows * result.pitch + slack;
  return result;
}

bool nsacc::nsatile::isSharedVector(RankedTensorType tile) {
  return tile.getRank() == 1 && tile.getElementType().isF32() &&
         isa_and_present<SharedLayoutAttr>(tile.getEncoding());
}

int64_t SharedShape::getPlaceBytes() const {
  return llvm::alignTo(bytes, kSharedAlignment);
}
