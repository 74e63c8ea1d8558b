//===- AsyncProducts.cpp - Products that can be in flight -----------------===//

#include "AsyncProducts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc::nsatile;

Value nsacc::nsatile::getRing(Value tile) {
  while (auto reshape = tile.getDefiningOp<ReshapeOp>())
    tile = reshape.getSource();
  auto acquire = tile.getDefiningOp<AcquireOp>();
  return acquire ? acquire.getRing() : Value();
}

bool nsacc::nsatile::canBeAsync(DotOp dot) {
  auto type = cast<RankedTensorType>(dot.getResult().getType());
  auto layout = dyn_cast_if_present<MmaLayoutAttr>(type.getEncoding());
  if (!layout || layout.getWarps() % 4 != 0 || dot.getVisible() ||
      !getRing(dot.getRhs()))
    return false;
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  // Instructions read whole tiles of 64 rows, 16 inner and 8 outer elements.
  // Bulk copies bring zeros behind the last column, and only there.
  bool isShared = getRing(dot.getLhs()) != nullptr;
  bool isPadded = isShared && dot.getTransposeRhs();
  if (llvm::alignTo(type.getDimSize(0), 16) % (16 * layout.getWarps()) != 0 ||
      type.getDimSize(1) > 256 || (!isPadded && lhs.getDimSize(1) % 16 != 0))
    return false;
  return lhs.getElementTypeBitWidth() == 16 &&
         (isShared || lhs.getEncoding() == layout);
}
