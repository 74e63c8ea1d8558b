//===- TensorMaps.cpp - Buffers as bulk copies see them -------------------===//

#include "TensorMaps.h"
#include "NSATile/IR/WarpRoles.h"
#include "ProgramValues.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

TensorMapAttr nsacc::getTensorMap(BlockArgument buffer, ArrayRef<int64_t> of,
                                  ArrayRef<int64_t> sizes,
                                  ArrayRef<int64_t> stepsOf) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  SmallVector<int64_t> box(rank, 1), steps(rank, 1), dims;
  for (auto [index, dim] : llvm::enumerate(of)) {
    box[dim] = sizes[index];
    if (!stepsOf.empty())
      steps[dim] = stepsOf[index];
  }
  std::reverse(box.begin(), box.end());
  std::reverse(steps.begin(), steps.end());
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    dims.push_back(dim);
  Builder builder(buffer.getContext());
  bool takesAll = llvm::all_of(steps, [](int64_t step) { return step == 1; });
  return TensorMapAttr::get(buffer.getContext(), buffer.getArgNumber(),
                            builder.getDenseI64ArrayAttr(dims),
                            builder.getDenseI64ArrayAttr(box), kSlabRowBytes,
                            takesAll ? DenseI64ArrayAttr()
                                     : builder.getDenseI64ArrayAttr(steps));
}

bool nsacc::isBulkCopy(ProducerLoadOp op) {
  return !op.getAt().isListed() &&
         !isSharedVector(op.getCircularBuffer().getType().getTile());
}

TensorMapAttr nsacc::getTensorMap(ProducerLoadOp op) {
  AtOp at = op.getAt();
  SmallVector<int64_t> sizes(at.getShape());
  sizes.back() = kSlabColumns;
  return getTensorMap(cast<BlockArgument>(at.getBuffer()), at.getDims(), sizes,
                      at.getSteps());
}

/// The store's tile, buffer and rows. Without a map if bulk copies can't write
/// it: `reason` then says why.
static BulkStore examine(StoreOp op, StringRef &reason) {
  RankedTensorType type = getTile(op.getTile());
  AtOp at = op.getAt();
  auto buffer = dyn_cast<BlockArgument>(at.getBuffer());
  BulkStore store;
  auto fail = [&](StringRef why) {
    reason = why;
    return store;
  };
  if (!op->getParentOfType<WarpSpecializeOp>())
    return fail("its program isn't warp-specialized");
  if (!buffer)
    return fail("its buffer isn't an argument of the program");
  if (at.isListed())
    return fail("a list names its tile's rows");
  if (!at.getSteps().empty())
    return fail("its tile's elements aren't neighbours");
  if (!llvm::is_sorted(at.getDims()))
    return fail("its dimensions aren't in the buffer's order");
  if (!isa<FloatType>(type.getElementType()) ||
      type.getElementTypeBitWidth() != 16)
    return fail("its elements aren't floats of 16 bits");
  if (type.getRank() < 2)
    return fail("its tile isn't a matrix");
  ArrayRef<int64_t> matrix = type.getShape();
  Attribute layout = type.getEncoding();
  if (auto reshape = dyn_cast_if_present<ReshapeLayoutAttr>(layout)) {
    matrix = reshape.getAs();
    layout = reshape.getOf();
  }
  auto mma = dyn_cast_if_present<MmaLayoutAttr>(layout);
  if (!mma || matrix.size() != 2 || matrix.back() != type.getShape().back())
    return fail("its tile isn't laid out as a product's result");
  store.rows = matrix[0];
  store.columns = matrix[1];
  store.warps = mma.getWarps();
  constexpr int64_t rowMultiple = 8;
  auto memref = cast<MemRefType>(buffer.getType());
  int64_t lastDim = memref.getRank() - 1;
  if (store.warps % kGroupWarps != 0 || store.rows % (16 * store.warps) != 0)
    return fail("its rows aren't those of whole warpgroups");
  if (at.getDims().back() != lastDim)
    return fail("its rows aren't rows of the buffer");
  if (memref.getShape().back() % rowMultiple != 0)
    return fail("the size of the buffer's rows isn't a multiple of 8");
  if (memref.getStridesAndOffset().first.back() != 1)
    return fail("the buffer's rows aren't contiguous");
  // A warpgroup's rows are a box: all of the inner dimensions, and a part of
  // the outermost.
  ArrayRef<int64_t> outer = type.getShape().drop_back();
  int64_t inner = ShapedType::getNumElements(outer.drop_front());
  if (kGroupRows % inner != 0)
    return fail("a warpgroup's rows aren't a box of the buffer");
  store.boxOuter = kGroupRows / inner;
  SmallVector<int64_t> sizes(outer);
  sizes[0] = store.boxOuter;
  sizes.push_back(kSlabColumns);
  store.map = getTensorMap(buffer, at.getDims(), sizes);
  return store;
}

std::optional<BulkStore> BulkStore::get(StoreOp op) {
  StringRef reason;
  BulkStore store = examine(op, reason);
  return reason.empty() ? std::optional(store) : std::nullopt;
}

StringRef BulkStore::explainNone(StoreOp op) {
  StringRef reason;
  examine(op, reason);
  return reason;
}

int64_t BulkStore::getBytes() const {
  return rows * kSlabRowBytes * llvm::divideCeil(columns, kSlabColumns);
}
