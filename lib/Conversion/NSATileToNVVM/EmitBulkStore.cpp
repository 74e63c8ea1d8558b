//===- EmitBulkStore.cpp - Results that leave through shared memory -------===//

#include "BulkStore.h"
#include "KernelEmitter.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

std::optional<BulkStore> BulkStore::get(StoreOp op) {
  RankedTensorType type = getTile(op.getTile());
  auto buffer = dyn_cast<BlockArgument>(op.getBuffer());
  if (!op->getParentOfType<RolesOp>() || !buffer ||
      !isa<FloatType>(type.getElementType()) ||
      type.getElementTypeBitWidth() != 16 || type.getRank() < 2)
    return std::nullopt;
  BulkStore store;
  ArrayRef<int64_t> matrix = type.getShape();
  Attribute layout = type.getEncoding();
  if (auto reshape = dyn_cast_if_present<ReshapeLayoutAttr>(layout)) {
    matrix = reshape.getAs();
    layout = reshape.getOf();
  }
  auto mma = dyn_cast_if_present<MmaLayoutAttr>(layout);
  if (!mma || matrix.size() != 2 || matrix.back() != type.getShape().back())
    return std::nullopt;
  store.rows = matrix[0];
  store.columns = matrix[1];
  store.warps = mma.getWarps();
  constexpr int64_t rowMultiple = 8;
  auto memref = cast<MemRefType>(buffer.getType());
  int64_t lastDim = memref.getRank() - 1;
  if (store.warps % kGroupWarps != 0 || store.rows % (16 * store.warps) != 0 ||
      op.getDims().back() != lastDim ||
      memref.getShape().back() % rowMultiple != 0 ||
      memref.getStridesAndOffset().first.back() != 1)
    return std::nullopt;
  // A warpgroup's rows are a box: all of the inner dimensions, some of the
  // outermost.
  ArrayRef<int64_t> outer = type.getShape().drop_back();
  int64_t inner = ShapedType::getNumElements(outer.drop_front());
  if (kGroupRows % inner != 0)
    return std::nullopt;
  store.boxOuter = kGroupRows / inner;
  SmallVector<int64_t> sizes(outer);
  sizes[0] = store.boxOuter;
  sizes.push_back(SharedMatrix::slabColumns);
  store.map = getTensorMap(buffer, op.getDims(), sizes);
  return store;
}

int64_t BulkStore::getBytes() const {
  return rows * SharedMatrix::rowBytes *
         llvm::divideCeil(columns, SharedMatrix::slabColumns);
}

/// A bulk copy writes what lies in the buffer: the same as what lies within the
/// limits, where these are its sizes or aren't reached.
Value KernelEmitter::isWrittenByBox(StoreOp op, const BulkStore &store,
                                    Value firstRow) {
  const Buffer &buffer = getBuffer(op.getBuffer());
  Value holds;
  for (auto [index, dim] : llvm::enumerate(op.getDims())) {
    Value limit = lookup(op.getLimits()[index]);
    Value size = make<arith::TruncIOp>(builder.getI32Type(), buffer.sizes[dim]);
    Value isWhole = make<arith::CmpIOp>(arith::CmpIPredicate::eq, limit, size);
    int64_t extent = getTile(op.getTile()).getDimSize(index);
    Value end = lookup(op.getOffsets()[dim]);
    if (index == 0) {
      extent = store.boxOuter;
      end = add(end, firstRow);
    }
    end = add(end, i32(extent));
    Value isInside = make<arith::CmpIOp>(arith::CmpIPredicate::sle, end, limit);
    holds = both(holds, make<arith::OrIOp>(isWhole, isInside));
  }
  return holds;
}

/// Fragments of 16 x 16 elements go where a row's chunks of 16 bytes are
/// swizzled as bulk copies expect it.
void KernelEmitter::writeSlabs(Value address, ArrayRef<Value> values,
                               int64_t columns) {
  PTXBuilder ptx(builder, loc);
  Value lane = getLane();
  Value inGroup =
      make<arith::AndIOp>(getThreadDim(ThreadDim::Warp), i32(kGroupWarps - 1));
  Value row = add(mul(inGroup, i32(16)), make<arith::AndIOp>(lane, i32(15)));
  Value rowAddress = add(address, mul(row, i32(SharedMatrix::rowBytes)));
  Value swizzle =
      make<arith::XOrIOp>(Value(make<arith::AndIOp>(lane, i32(7))),
                          Value(make<arith::ShRUIOp>(lane, i32(4))));
  int64_t numN = llvm::divideCeil(columns, 8);
  for (int64_t n = 0; n < numN; n += 2) {
    SmallVector<Value> packed;
    for (int64_t part = n; part < std::min(n + 2, numN); ++part)
      for (int64_t b : {0, 1}) {
        int64_t index = (part * 2 + b) * 2;
        packed.push_back(pack(values[index], values[index + 1]));
      }
    Value chunk = make<arith::XOrIOp>(swizzle, i32(n % 8));
    Value place = add(rowAddress, mul(chunk, i32(16)));
    int64_t slab = n / 8 * kGroupRows * SharedMatrix::rowBytes;
    ptx.storeMatrices(add(place, i32(slab)), packed);
  }
}

void KernelEmitter::emitBulkStore(StoreOp op, const BulkStore &store,
                                  int64_t place,
                                  llvm::function_ref<void()> storeDirectly) {
  PTXBuilder ptx(builder, loc);
  ArrayRef<Value> values = getRegisters(op.getTile());
  int64_t groups = store.warps / kGroupWarps;
  int64_t slabs = llvm::divideCeil(store.columns, SharedMatrix::slabColumns);
  int64_t groupBytes = kGroupRows * slabs * SharedMatrix::rowBytes;
  int64_t perTile = values.size() / (store.rows / (16 * store.warps));
  Value group = getGroup();
  Value barrier = add(group, i32(namedBarriers::kResult));
  Value leads = make<arith::CmpIOp>(
      arith::CmpIPredicate::eq,
      Value(make<arith::AndIOp>(scope.thread, i32(kGroupThreads - 1))), i32(0));
  for (int64_t tile = 0; tile * perTile < static_cast<int64_t>(values.size());
       ++tile) {
    Value part = add(group, i32(tile * groups));
    Value firstRow = mul(part, i32(store.boxOuter));
    Value address = add(getSharedAddress(place), mul(part, i32(groupBytes)));
    branch(
        isWrittenByBox(op, store, firstRow), {},
        [&] {
          // The copies of the tile before have left.
          when(leads, [&] { ptx.waitCopiesRead(0); });
          ptx.syncThreads(barrier, kGroupThreads);
          writeSlabs(address, values.slice(tile * perTile, perTile),
                     store.columns);
          ptx.fenceSharedForAsync();
          ptx.syncThreads(barrier, kGroupThreads);
          when(leads, [&] {
            SmallVector<Value> coordinates;
            for (Value offset : llvm::reverse(op.getOffsets()))
              coordinates.push_back(lookup(offset));
            Value &outer =
                coordinates[coordinates.size() - 1 - op.getDims().front()];
            outer = add(outer, firstRow);
            Value first = coordinates[0];
            for (int64_t slab = 0; slab < slabs; ++slab) {
              coordinates[0] =
                  add(first, i32(slab * SharedMatrix::slabColumns));
              ptx.copyBoxFromShared(tensorMaps.lookup(store.map), coordinates,
                                    add(address, i32(slab * kGroupRows *
                                                     SharedMatrix::rowBytes)));
            }
            ptx.commitCopies();
          });
          return SmallVector<Value>();
        },
        [&] {
          storeDirectly();
          return SmallVector<Value>();
        });
  }
}
