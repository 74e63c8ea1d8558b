//===- SharedCopy.cpp - Tiles on their way into shared memory -------------===//

#include "SharedCopy.h"
#include "InlinePTX.h"
#include "Instructions.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Copies a tile from a buffer to shared memory, with zeros for elements beyond
/// the limits.
class SharedCopy {
public:
  SharedCopy(CodeBuilder &b, const ThreadMap &threads,
             const ProgramValues &program, SharedMemory &shared, AtOp at,
             const SharedTile &tile)
      : b(b), threads(threads), shared(shared), shape(at.getShape()),
        type(at.getElementType()), tile(tile), access(b, program, at),
        columns(llvm::alignTo(tile.paddedColumns, getPerChunk())) {}

  /// Whether rows begin at multiples of 16 bytes for every place of the tile,
  /// so that the answer is the same for all steps of a loop, and whether tiles
  /// begin at the buffer's first element.
  Value canCopyChunks() {
    if (!access.isContiguous || shape.empty())
      return {};
    Value aligned = access.getAlwaysAligned(16);
    if (access.tileDims.back().isInside)
      return aligned;
    Value starts = b.make<arith::CmpIOp>(
        arith::CmpIPredicate::sge, access.tileDims.back().offset, b.i32(0));
    return b.both(aligned, starts);
  }

  /// Copies 16 bytes at a time, with zeros for elements beyond a limit.
  void copyChunks() {
    if (int64_t rows = getRowsOfRound())
      return copyRows(rows);
    Value thread = threads.getThread();
    forEachPlace(
        thread, getChunksOfRow(), /*unrolled=*/8, [&](Value row, Value chunk) {
          Value column = b.mul(chunk, b.i32(getPerChunk()));
          SmallVector<Value> coordinates = getCoordinates(row, column);
          copyChunk(
              getPointer(coordinates),
              shared.getPointer(tile, shared.getByteOffset(tile, row, column)),
              getRowInside(row, coordinates), getBytes(column));
        });
  }

  /// Copies elements of 4 bytes, with zeros beyond the limit.
  void copyWords() {
    forEachPlace(
        threads.getThread(), tile.columns, /*unrolled=*/8,
        [&](Value row, Value column) {
          Value inside = access.getInside(0, {column, 0});
          nvvm::copyWord(
              b,
              shared.getPointer(tile, shared.getByteOffset(tile, row, column)),
              getPointer(column), b.select(inside, b.i32(4), b.i32(0)));
        });
  }

  void copyElements() {
    Value thread =
        threads.getScope().isBlock ? ptx::readThread(b) : threads.getThread();
    forEachPlace(thread, columns, /*unrolled=*/1, [&](Value row, Value column) {
      SmallVector<Value> coordinates = getCoordinates(row, column);
      Value inside = getRowInside(row, coordinates);
      inside =
          b.both(inside, b.make<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                               column, b.i32(tile.columns)));
      if (!coordinates.empty())
        inside = b.both(inside, access.getInside(coordinates.size() - 1,
                                                 {coordinates.back(), 0}));
      Value value = b.branch(
          inside, type,
          [&] {
            return SmallVector<Value>{
                b.load(type, getPointer(coordinates), tile.elementBytes)};
          },
          [&] { return SmallVector<Value>{b.zero(type)}; })[0];
      b.store(value,
              shared.getPointer(tile, shared.getByteOffset(tile, row, column)),
              tile.elementBytes);
    });
  }

private:
  int64_t getPerChunk() const { return 16 / tile.elementBytes; }
  int64_t getChunksOfRow() const { return columns / getPerChunk(); }

  /// Number of rows that all threads copy at once, if each thread's chunk has
  /// the same place in its row each time, in memory and under the swizzle; else
  /// 0.
  int64_t getRowsOfRound() const {
    constexpr int64_t swizzledRows = 8, mostRounds = 32;
    int64_t numThreads = threads.getScope().numThreads,
            perRow = getChunksOfRow();
    int64_t rows = numThreads / perRow;
    // Rows of a tile of tokens and heads: a round has whole tokens.
    int64_t inner = 1;
    if (shape.size() > 1)
      inner = ShapedType::getNumElements(shape.drop_front().drop_back());
    bool isSame = numThreads % perRow == 0 && rows % inner == 0 &&
                  (tile.swizzle == 0 || rows % swizzledRows == 0);
    bool isWhole = rows != 0 && tile.paddedRows % rows == 0 &&
                   tile.paddedRows / rows <= mostRounds;
    return isSame && isWhole && shape.size() > 1 ? rows : 0;
  }

  /// Copies rows. Pointers and addresses advance by the same distance each
  /// round; listed rows are looked up.
  void copyRows(int64_t rowsOfRound) {
    Value perRow = b.i32(getChunksOfRow()), thread = threads.getThread();
    Value row = b.make<arith::DivUIOp>(thread, perRow);
    Value chunk = b.make<arith::RemUIOp>(thread, perRow);
    Value column = b.mul(chunk, b.i32(getPerChunk()));
    SmallVector<Value> coordinates = getCoordinates(row, column);
    int64_t inner = ShapedType::getNumElements(shape.drop_front().drop_back());
    int64_t step = rowsOfRound / inner;
    const TileAccess::Dim &outer = access.tileDims.front();
    Value distance = b.mul(outer.stride, b.i64(step * outer.step));
    Value pointer = getPointer(coordinates);
    Value place = shared.getByteOffset(tile, row, column);
    Value bytes = getBytes(column), innerInside;
    for (size_t dim = 1; dim + 1 < coordinates.size(); ++dim)
      innerInside =
          b.both(innerInside, access.getInside(dim, {coordinates[dim], 0}));
    for (int64_t round = 0; round * rowsOfRound < tile.paddedRows; ++round) {
      if (round > 0)
        pointer = access.isListed() ? getPointer(coordinates, round * step)
                                    : access.advance(pointer, distance);
      Value inside = access.getInside(0, {coordinates[0], round * step});
      if (tile.paddedRows != tile.rows)
        inside = b.both(inside, b.make<arith::CmpIOp>(
                                    arith::CmpIPredicate::slt, row,
                                    b.i32(tile.rows - round * rowsOfRound)));
      Value target = shared.getPointer(
          tile, b.add(place, b.i32(round * rowsOfRound * tile.pitch)));
      copyChunk(pointer, target, b.both(inside, innerInside), bytes);
    }
    access.forgetNested();
  }

  /// Copies one chunk. Nothing is read if no bytes are inside.
  void copyChunk(Value pointer, Value target, Value inside, Value bytes) {
    nvvm::copyChunk(b, target, pointer, b.select(inside, bytes, b.i32(0)));
  }

  /// Number of bytes within the limit of the chunk at a column.
  Value getBytes(Value column) {
    const TileAccess::Dim &last = access.tileDims.back();
    if (last.isInside && columns == tile.columns)
      return b.i32(16);
    if (!end) {
      Value limit = b.make<arith::MaxSIOp>(last.limit, b.i32(0));
      end = b.make<arith::MinSIOp>(b.make<arith::SubIOp>(limit, last.offset),
                                   b.i32(tile.columns));
    }
    Value left = b.make<arith::SubIOp>(end, column);
    left = b.make<arith::MinSIOp>(left, b.i32(getPerChunk()));
    left = b.make<arith::MaxSIOp>(left, b.i32(0));
    return b.mul(left, b.i32(tile.elementBytes));
  }

  /// Calls `body` for every row and place in it, shared out to threads.
  void forEachPlace(Value thread, int64_t perRow, int64_t unrolled,
                    llvm::function_ref<void(Value, Value)> body) {
    int64_t numThreads = threads.getScope().numThreads;
    int64_t total = tile.paddedRows * perRow;
    // Loads of several entries of a list are under way at once.
    int64_t together =
        access.isListed() && total % (4 * numThreads) == 0 ? 4 : 1;
    auto visit = [&](Value round) {
      access.forgetNested();
      end = Value();
      Value place = b.add(b.mul(round, b.i32(numThreads)), thread);
      Value row = b.make<arith::DivUIOp>(place, b.i32(perRow));
      Value column = b.make<arith::RemUIOp>(place, b.i32(perRow));
      Value isAny;
      if (total % numThreads != 0)
        isAny = b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, place,
                                      b.i32(total));
      b.when(isAny, [&] { body(row, column); });
    };
    int64_t rounds = llvm::divideCeil(total, together * numThreads);
    b.forEach(rounds, unrolled, [&](Value round) {
      Value first = together == 1 ? round : b.mul(round, b.i32(together));
      for (int64_t i = 0; i < together; ++i)
        visit(i == 0 ? first : b.add(first, b.i32(i)));
    });
    access.forgetNested();
  }

  SmallVector<Value> getCoordinates(Value row, Value column) {
    SmallVector<Value> coordinates(shape.size());
    if (shape.empty())
      return coordinates;
    coordinates.back() = column;
    for (size_t dim = shape.size() - 1; dim-- > 0;) {
      if (dim == 0) {
        coordinates[0] = row;
        break;
      }
      coordinates[dim] = b.make<arith::RemUIOp>(row, b.i32(shape[dim]));
      row = b.make<arith::DivUIOp>(row, b.i32(shape[dim]));
    }
    return coordinates;
  }

  Value getRowInside(Value row, ArrayRef<Value> coordinates) {
    Value inside;
    if (tile.paddedRows != tile.rows)
      inside = b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, row,
                                     b.i32(tile.rows));
    for (size_t dim = 0; dim + 1 < coordinates.size(); ++dim)
      inside = b.both(inside, access.getInside(dim, {coordinates[dim], 0}));
    return inside;
  }

  /// Pointer to the coordinates, `step` rows of the first dimension further.
  Value getPointer(ArrayRef<Value> coordinates, int64_t step = 0) {
    SmallVector<IndexSum> sums;
    for (Value coordinate : coordinates)
      sums.push_back({coordinate, 0});
    if (step != 0)
      sums.front().offset = step;
    return access.getPointer(sums);
  }

  CodeBuilder &b;
  const ThreadMap &threads;
  SharedMemory &shared;
  ArrayRef<int64_t> shape;
  Type type;
  SharedTile tile;
  TileAccess access;
  int64_t columns;
  /// The first column of a row that isn't inside.
  Value end;
};

} // namespace

void nsacc::copyVectorToShared(CodeBuilder &b, const ThreadMap &threads,
                               const ProgramValues &program,
                               SharedMemory &shared, AtOp at,
                               const SharedTile &tile) {
  SharedCopy(b, threads, program, shared, at, tile).copyWords();
}

bool nsacc::copyToShared(CodeBuilder &b, const ThreadMap &threads,
                         const ProgramValues &program, SharedMemory &shared,
                         AtOp at, const SharedTile &tile) {
  SharedCopy copy(b, threads, program, shared, at, tile);
  auto copyElements = [&] {
    copy.copyElements();
    return SmallVector<Value>();
  };
  Value isFast = copy.canCopyChunks();
  if (!isFast)
    return copyElements(), false;
  b.branch(
      isFast, {},
      [&] {
        copy.copyChunks();
        return SmallVector<Value>();
      },
      copyElements);
  return true;
}
