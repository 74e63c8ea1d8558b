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
  SharedCopy(KernelEmitter &emitter, const CopySource &source,
             const SharedTile &tile)
      : e(emitter), source(source), tile(tile),
        access(emitter, source.buffer, source.offsets, source.limits,
               source.dims, source.steps, source.type.getShape()),
        columns(llvm::alignTo(tile.paddedColumns, getPerChunk())) {}

  /// Rows begin at multiples of 16 bytes wherever the tile is, which is the
  /// same for all steps of a loop, and tiles at the buffer's first element.
  Value canCopyChunks() {
    if (!access.isContiguous || source.type.getRank() < 1)
      return {};
    Value aligned = access.getAlwaysAligned(16);
    if (access.tileDims.back().isInside)
      return aligned;
    Value starts = e.make<arith::CmpIOp>(
        arith::CmpIPredicate::sge, access.tileDims.back().offset, e.i32(0));
    return e.both(aligned, starts);
  }

  /// 16 bytes at a time; elements beyond a limit are filled with zeros.
  void copyChunks() {
    if (int64_t rows = getRowsOfRound())
      return copyRows(rows);
    Value thread = e.getScope().thread;
    forEachPlace(
        thread, getChunksOfRow(), /*unrolled=*/8, [&](Value row, Value chunk) {
          Value column = e.mul(chunk, e.i32(getPerChunk()));
          SmallVector<Value> coordinates = getCoordinates(row, column);
          copyChunk(getPointer(coordinates),
                    e.getAddress(tile, e.getByteOffset(tile, row, column)),
                    getRowInside(row, coordinates), getBytes(column));
        });
  }

  void copyElements() {
    Type type = source.type.getElementType();
    Value thread = e.getScope().isBlock ? e.readThread() : e.getScope().thread;
    forEachPlace(thread, columns, /*unrolled=*/1, [&](Value row, Value column) {
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
  int64_t getChunksOfRow() const { return columns / getPerChunk(); }

  /// Rows that all threads copy at once, where each thread's chunk is the same
  /// one of its row each time, in memory and under the swizzle; else 0.
  int64_t getRowsOfRound() const {
    constexpr int64_t swizzledRows = 8, mostRounds = 32;
    int64_t threads = e.getScope().numThreads, perRow = getChunksOfRow();
    int64_t rows = threads / perRow;
    // Rows of a tile of tokens and heads: whole tokens at once.
    int64_t inner = 1;
    ArrayRef<int64_t> shape = source.type.getShape();
    if (shape.size() > 1)
      inner = ShapedType::getNumElements(shape.drop_front().drop_back());
    bool isSame = threads % perRow == 0 && rows % inner == 0 &&
                  (tile.swizzle == 0 || rows % swizzledRows == 0);
    bool isWhole = rows != 0 && tile.paddedRows % rows == 0 &&
                   tile.paddedRows / rows <= mostRounds;
    return isSame && isWhole && shape.size() > 1 ? rows : 0;
  }

  /// Pointers and addresses go on by the same distance each time.
  void copyRows(int64_t rowsOfRound) {
    Value perRow = e.i32(getChunksOfRow()), thread = e.getScope().thread;
    Value row = e.make<arith::DivUIOp>(thread, perRow);
    Value chunk = e.make<arith::RemUIOp>(thread, perRow);
    Value column = e.mul(chunk, e.i32(getPerChunk()));
    SmallVector<Value> coordinates = getCoordinates(row, column);
    int64_t inner = ShapedType::getNumElements(
        source.type.getShape().drop_front().drop_back());
    int64_t step = rowsOfRound / inner;
    const TileAccess::Dim &outer = access.tileDims.front();
    Value distance = e.mul(outer.stride, e.i64(step * outer.step));
    Value pointer = getPointer(coordinates);
    Value place = e.getByteOffset(tile, row, column);
    Value bytes = getBytes(column), innerInside;
    for (size_t dim = 1; dim + 1 < coordinates.size(); ++dim)
      innerInside =
          e.both(innerInside, access.getInside(dim, {coordinates[dim], 0}));
    for (int64_t round = 0; round * rowsOfRound < tile.paddedRows; ++round) {
      if (round > 0)
        pointer = access.advance(pointer, distance);
      Value inside = access.getInside(0, {coordinates[0], round * step});
      if (tile.paddedRows != tile.rows)
        inside = e.both(inside, e.make<arith::CmpIOp>(
                                    arith::CmpIPredicate::slt, row,
                                    e.i32(tile.rows - round * rowsOfRound)));
      Value target = e.getAddress(
          tile, e.add(place, e.i32(round * rowsOfRound * tile.pitch)));
      copyChunk(pointer, target, e.both(inside, innerInside), bytes);
    }
    access.forgetNested();
  }

  /// Nothing is read where no bytes are inside.
  void copyChunk(Value pointer, Value target, Value inside, Value bytes) {
    e.call("llvm.nvvm.cp.async.cg.shared.global.16.s", {},
           {target, pointer, e.select(inside, bytes, e.i32(0))});
  }

  /// Of the chunk at a column, those within the limit.
  Value getBytes(Value column) {
    const TileAccess::Dim &last = access.tileDims.back();
    if (last.isInside && columns == tile.columns)
      return e.i32(16);
    if (!end) {
      Value limit = e.make<arith::MaxSIOp>(last.limit, e.i32(0));
      end = e.make<arith::MinSIOp>(e.make<arith::SubIOp>(limit, last.offset),
                                   e.i32(tile.columns));
    }
    Value left = e.make<arith::SubIOp>(end, column);
    left = e.make<arith::MinSIOp>(left, e.i32(getPerChunk()));
    left = e.make<arith::MaxSIOp>(left, e.i32(0));
    return e.mul(left, e.i32(tile.elementBytes));
  }

  /// Every row and place in it, dealt out to threads.
  void forEachPlace(Value thread, int64_t perRow, int64_t unrolled,
                    llvm::function_ref<void(Value, Value)> body) {
    int64_t threads = e.getScope().numThreads;
    int64_t total = tile.paddedRows * perRow;
    e.forEach(llvm::divideCeil(total, threads), unrolled, [&](Value round) {
      access.forgetNested();
      end = Value();
      Value place = e.add(e.mul(round, e.i32(threads)), thread);
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
    ArrayRef<int64_t> shape = source.type.getShape();
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
  const CopySource &source;
  SharedTile tile;
  TileAccess access;
  int64_t columns;
  /// Elements of a row that are inside.
  Value end;
};

} // namespace

bool KernelEmitter::copyToShared(const CopySource &source,
                                 const SharedTile &tile) {
  SharedCopy copy(*this, source, tile);
  auto copyElements = [&] {
    copy.copyElements();
    return SmallVector<Value>();
  };
  Value isFast = copy.canCopyChunks();
  if (!isFast)
    return copyElements(), false;
  branch(
      isFast, {},
      [&] {
        copy.copyChunks();
        return SmallVector<Value>();
      },
      copyElements);
  return true;
}

LogicalResult KernelEmitter::emitSharedLoad(LoadOp op) {
  RankedTensorType type = getTile(op.getTile());
  if (type.getElementType().isIndex() || type.getElementType().isInteger(1))
    return reject(op);
  beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  SharedTile tile = allocate(type);
  beforeWrite(tile);
  CopySource source = {op.getBuffer(),
                       op.getOffsets(),
                       op.getLimits(),
                       op.getDims(),
                       op.getSteps().value_or(ArrayRef<int64_t>()),
                       type};
  if (copyToShared(source, tile))
    noteCopies();
  setShared(op.getTile(), tile);
  return success();
}
