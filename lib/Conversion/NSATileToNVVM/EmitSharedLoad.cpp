//===- EmitSharedLoad.cpp - Tiles on their way into shared memory ---------===//

#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Copies a tile from a buffer to shared memory, and zeros to what is beyond
/// it.
class SharedCopy {
public:
  SharedCopy(KernelEmitter &emitter, LoadOp op, const SharedTile &tile)
      : e(emitter), op(op), tile(tile),
        access(emitter, op.getBuffer(), op.getOffsets(), op.getLimits(),
               op.getDims(), op.getSteps().value_or(ArrayRef<int64_t>()),
               op.getTile().getType().getShape()),
        columns(llvm::alignTo(tile.paddedColumns, getPerChunk())) {}

  /// Rows begin at multiples of 16 bytes, and tiles at the buffer's first
  /// element.
  Value canCopyChunks() {
    if (!access.isContiguous || op.getTile().getType().getRank() < 1)
      return {};
    Value aligned = access.getAligned(16);
    Value starts = e.make<arith::CmpIOp>(
        arith::CmpIPredicate::sge, access.tileDims.back().offset, e.i32(0));
    return e.both(aligned, starts);
  }

  /// 16 bytes at a time; elements beyond a limit are filled with zeros.
  void copyChunks() {
    int64_t perRow = columns / getPerChunk();
    Value limit =
        e.make<arith::MaxSIOp>(access.tileDims.back().limit, e.i32(0));
    Value end = e.make<arith::MinSIOp>(
        e.make<arith::SubIOp>(limit, access.tileDims.back().offset),
        e.i32(tile.columns));
    forEachPlace(perRow, /*unrolled=*/8, [&](Value row, Value chunk) {
      Value column = e.mul(chunk, e.i32(getPerChunk()));
      SmallVector<Value> coordinates = getCoordinates(row, column);
      Value left = e.make<arith::SubIOp>(end, column);
      left = e.make<arith::MinSIOp>(left, e.i32(getPerChunk()));
      left = e.make<arith::MaxSIOp>(left, e.i32(0));
      Value inside = getRowInside(row, coordinates);
      Value bytes =
          e.select(inside, e.mul(left, e.i32(tile.elementBytes)), e.i32(0));
      // An address that isn't read still has to be one.
      Value isRead =
          e.make<arith::CmpIOp>(arith::CmpIPredicate::sgt, bytes, e.i32(0));
      Value source = e.select(isRead, getPointer(coordinates), access.pointer);
      Value target = e.getAddress(tile, e.getByteOffset(tile, row, column));
      e.call("llvm.nvvm.cp.async.cg.shared.global.16.s", {},
             {target, source, bytes});
    });
  }

  void copyElements() {
    Type type = op.getTile().getType().getElementType();
    forEachPlace(columns, /*unrolled=*/1, [&](Value row, Value column) {
      SmallVector<Value> coordinates = getCoordinates(row, column);
      Value inside = getRowInside(row, coordinates);
      inside =
          e.both(inside, e.make<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                               column, e.i32(tile.columns)));
      if (!coordinates.empty())
        inside = e.both(inside, access.getInside(coordinates.size() - 1,
                                                 {coordinates.back(), 0}));
      Value value = e.branch(
          inside, type,
          [&] {
            return SmallVector<Value>{
                e.loadGlobal(type, getPointer(coordinates), tile.elementBytes)};
          },
          [&] { return SmallVector<Value>{e.zero(type)}; })[0];
      e.storeGlobal(value,
                    e.getAddress(tile, e.getByteOffset(tile, row, column)),
                    tile.elementBytes);
    });
  }

private:
  int64_t getPerChunk() const { return 16 / tile.elementBytes; }

  /// Every row and place in it, dealt out to threads.
  void forEachPlace(int64_t perRow, int64_t unrolled,
                    llvm::function_ref<void(Value, Value)> body) {
    int64_t threads = e.getScope().numThreads;
    int64_t total = tile.paddedRows * perRow;
    e.forEach(llvm::divideCeil(total, threads), unrolled, [&](Value round) {
      access.forgetNested();
      Value place = e.add(e.mul(round, e.i32(threads)), e.getScope().thread);
      Value row = e.make<arith::DivUIOp>(place, e.i32(perRow));
      Value column = e.make<arith::RemUIOp>(place, e.i32(perRow));
      Value isAny;
      if (total % threads != 0)
        isAny = e.make<arith::CmpIOp>(arith::CmpIPredicate::ult, place,
                                      e.i32(total));
      e.when(isAny, [&] { body(row, column); });
    });
    access.forgetNested();
  }

  SmallVector<Value> getCoordinates(Value row, Value column) {
    ArrayRef<int64_t> shape = op.getTile().getType().getShape();
    SmallVector<Value> coordinates(shape.size());
    if (shape.empty())
      return coordinates;
    coordinates.back() = column;
    for (size_t dim = shape.size() - 1; dim-- > 0;) {
      if (dim == 0) {
        coordinates[0] = row;
        break;
      }
      coordinates[dim] = e.make<arith::RemUIOp>(row, e.i32(shape[dim]));
      row = e.make<arith::DivUIOp>(row, e.i32(shape[dim]));
    }
    return coordinates;
  }

  Value getRowInside(Value row, ArrayRef<Value> coordinates) {
    Value inside;
    if (tile.paddedRows != tile.rows)
      inside = e.make<arith::CmpIOp>(arith::CmpIPredicate::slt, row,
                                     e.i32(tile.rows));
    for (size_t dim = 0; dim + 1 < coordinates.size(); ++dim)
      inside = e.both(inside, access.getInside(dim, {coordinates[dim], 0}));
    return inside;
  }

  Value getPointer(ArrayRef<Value> coordinates) {
    SmallVector<IndexSum> sums;
    for (Value coordinate : coordinates)
      sums.push_back({coordinate, 0});
    return access.getPointer(sums);
  }

  KernelEmitter &e;
  LoadOp op;
  SharedTile tile;
  TileAccess access;
  int64_t columns;
};

} // namespace

LogicalResult KernelEmitter::emitSharedLoad(LoadOp op) {
  RankedTensorType type = getTile(op.getTile());
  if (type.getElementType().isIndex() || type.getElementType().isInteger(1))
    return reject(op);
  beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  SharedTile tile = allocate(type);
  beforeWrite(tile);
  SharedCopy copy(*this, op, tile);
  auto copyElements = [&] {
    copy.copyElements();
    return SmallVector<Value>();
  };
  if (Value isFast = copy.canCopyChunks()) {
    branch(
        isFast, {},
        [&] {
          copy.copyChunks();
          return SmallVector<Value>();
        },
        copyElements);
    hasCopies = true;
  } else {
    copyElements();
  }
  setShared(op.getTile(), tile);
  return success();
}
