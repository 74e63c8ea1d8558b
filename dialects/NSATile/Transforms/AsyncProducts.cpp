//===- AsyncProducts.cpp - Products that can be in flight -----------------===//

#include "AsyncProducts.h"
#include "NSATile/IR/SharedShape.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc::nsatile;

Value nsacc::nsatile::getCircularBuffer(Value tile) {
  while (auto reshape = tile.getDefiningOp<ReshapeOp>())
    tile = reshape.getSource();
  auto wait = tile.getDefiningOp<ConsumerWaitOp>();
  return wait ? wait.getCircularBuffer() : Value();
}

/// Whether `tile` is a swizzled tile in shared memory that the consumers write.
static bool isWrittenByConsumers(Value tile) {
  auto layout = dyn_cast_if_present<SharedLayoutAttr>(
      cast<RankedTensorType>(tile.getType()).getEncoding());
  return layout && layout.getSwizzle() == 128 &&
         tile.getDefiningOp<ConvertLayoutOp>();
}

bool nsacc::nsatile::canBeAsync(DotOp dot) {
  auto type = cast<RankedTensorType>(dot.getResult().getType());
  auto layout = dyn_cast_if_present<MmaLayoutAttr>(type.getEncoding());
  if (!layout || layout.getWarps() % 4 != 0 || dot.getVisible() ||
      !(getCircularBuffer(dot.getRhs()) || isWrittenByConsumers(dot.getRhs())))
    return false;
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  // Instructions read whole tiles of 64 rows, 16 inner and 8 outer elements.
  // Bulk copies write zeros behind the last column, and only there.
  bool isShared = getCircularBuffer(dot.getLhs()) != nullptr;
  bool isPadded = isShared && dot.getTransposeRhs() && !dot.getTransposeLhs();
  if (llvm::alignTo(type.getDimSize(0), 16) % (16 * layout.getWarps()) != 0 ||
      type.getDimSize(1) > 256 || (!isPadded && dot.getInner() % 16 != 0))
    return false;
  if (lhs.getElementTypeBitWidth() != 16)
    return false;
  // A warpgroup's rows are whole slabs of a transposed operand.
  if (dot.getTransposeLhs() && type.getDimSize(0) % kSlabColumns != 0)
    return false;
  return isShared || isWrittenByConsumers(dot.getLhs()) ||
         (!dot.getTransposeLhs() && lhs.getEncoding() == layout);
}
