//===- Fragments.cpp - Operands of tensor cores ---------------------------===//

#include "Fragments.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// The f32 that a 16-bit number was rounded from; null for other numbers.
static Value getWide(Value value) {
  auto narrowing = value.getDefiningOp<arith::TruncFOp>();
  return narrowing && narrowing.getIn().getType().isF32() ? narrowing.getIn()
                                                          : Value();
}

/// The word that `half` is the low (0) or the high (1) half of; null for other
/// values.
static Value getWord(Value half, int64_t index) {
  auto extract = half.getDefiningOp<LLVM::ExtractElementOp>();
  llvm::APInt place;
  if (!extract || !matchPattern(extract.getPosition(), m_ConstantInt(&place)) ||
      place != index)
    return {};
  auto cast = extract.getVector().getDefiningOp<LLVM::BitcastOp>();
  return cast && cast.getArg().getType().isInteger(32) ? cast.getArg()
                                                       : Value();
}

Value nsacc::pack(CodeBuilder &b, Value low, Value high) {
  Value lowWord = getWord(low, 0), highWord = getWord(high, 1);
  if (lowWord && lowWord == highWord)
    return lowWord;
  // Both are rounded by one instruction.
  Value wideLow = getWide(low), wideHigh = getWide(high);
  Value pair = wideLow && wideHigh
                   ? nvvm::roundPair(b, low.getType(), wideLow, wideHigh)
                   : b.join({low, high});
  return b.make<LLVM::BitcastOp>(b.getI32Type(), pair);
}

std::array<Value, 2> nsacc::unpack(CodeBuilder &b, Type element, Value word) {
  Value pair = b.make<LLVM::BitcastOp>(VectorType::get({2}, element), word);
  return {b.element(pair, 0), b.element(pair, 1)};
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

Value FragmentLoader::getPointer(const SharedTile &tile, Value laneRow,
                                 Value laneChunk, int64_t row, int64_t column) {
  constexpr int64_t chunkBytes = 16, chunkColumns = 8;
  Value chunk = b.make<arith::XOrIOp>(
      laneChunk, Value(b.make<arith::AndIOp>(laneRow, b.i32(7))));
  Value base = b.make<arith::OrIOp>(b.mul(laneRow, b.i32(tile.pitch)),
                                    b.mul(chunk, b.i32(chunkBytes)));
  int64_t pattern = column % kSlabColumns / chunkColumns * chunkBytes;
  int64_t begin = tile.offset + row * tile.pitch +
                  column / kSlabColumns * tile.paddedRows * tile.pitch;
  Value address = shared.getPointer(b.make<arith::XOrIOp>(base, b.i32(pattern)),
                                    tile.place);
  return b.advance(address, begin);
}

SmallVector<Value, 4> FragmentLoader::loadLeft(const SharedTile &tile,
                                               int64_t warps, int64_t numM,
                                               int64_t m, int64_t step,
                                               bool isTransposed) {
  Value lane = threads.getLane();
  if (isTransposed)
    return loadColumns(tile,
                       b.add(b.mul(threads.getDim(ThreadDim::Warp), b.i32(16)),
                             b.i32(16 * warps * m)),
                       16 * step);
  Value row = getLeftRow();
  int64_t firstRow = 16 * warps * m;
  // Rows beyond the tile's place read its last row.
  if (16 * warps * numM > tile.paddedRows) {
    row = b.make<arith::MinUIOp>(b.add(row, b.i32(firstRow)),
                                 b.i32(tile.paddedRows - 1));
    firstRow = 0;
  }
  Value chunk = b.make<arith::ShRUIOp>(lane, b.i32(4));
  return nvvm::loadMatrices(b,
                            getPointer(tile, row, chunk, firstRow, 16 * step),
                            /*count=*/4, /*isTransposed=*/false);
}

/// The row among the warp's 16 rows that a lane gives the address of.
Value FragmentLoader::getLeftRow() {
  return b.add(b.mul(threads.getDim(ThreadDim::Warp), b.i32(16)),
               b.make<arith::AndIOp>(threads.getLane(), b.i32(15)));
}

void FragmentLoader::storeLeft(const SharedTile &tile, int64_t warps, int64_t m,
                               int64_t step, ValueRange words) {
  Value chunk = b.make<arith::ShRUIOp>(threads.getLane(), b.i32(4));
  nvvm::storeMatrices(
      b, getPointer(tile, getLeftRow(), chunk, 16 * warps * m, 16 * step),
      words);
}

/// Loads columns `warpColumn` to `warpColumn` + 16 as rows of a left operand.
/// The operand's columns are 16 rows from `row` on. Lanes give the rows of four
/// matrices of 8 by 8: two side by side, and two below.
SmallVector<Value, 4> FragmentLoader::loadColumns(const SharedTile &tile,
                                                  Value warpColumn,
                                                  int64_t row) {
  constexpr int64_t chunkBytes = 16, chunkColumns = 8, slabChunks = 8;
  Value lane = threads.getLane();
  auto getBit = [&](int64_t bit) -> Value {
    return b.make<arith::AndIOp>(
        Value(b.make<arith::ShRUIOp>(lane, b.i32(bit))), b.i32(1));
  };
  Value inMatrix = b.make<arith::AndIOp>(lane, b.i32(7));
  Value laneRow = b.add(inMatrix, b.mul(getBit(4), b.i32(8)));
  Value chunk =
      b.add(Value(b.make<arith::DivUIOp>(warpColumn, b.i32(chunkColumns))),
            getBit(3));
  // Columns beyond the tile's place read its last columns.
  chunk = b.make<arith::MinUIOp>(chunk,
                                 b.i32(tile.paddedColumns / chunkColumns - 1));
  Value slab = b.make<arith::DivUIOp>(chunk, b.i32(slabChunks));
  Value inSlab = b.make<arith::XOrIOp>(
      Value(b.make<arith::RemUIOp>(chunk, b.i32(slabChunks))), inMatrix);
  Value offset = b.add(b.mul(slab, b.i32(tile.paddedRows * tile.pitch)),
                       b.add(b.mul(laneRow, b.i32(tile.pitch)),
                             b.mul(inSlab, b.i32(chunkBytes))));
  Value pointer = b.advance(shared.getPointer(offset, tile.place),
                            tile.offset + row * tile.pitch);
  return nvvm::loadMatrices(b, pointer, /*count=*/4, /*isTransposed=*/true);
}

namespace {

/// Loads left operands into registers.
class FragmentEmitter {
public:
  explicit FragmentEmitter(Kernel &kernel)
      : b(kernel.b), program(kernel.program), sharedTiles(kernel.sharedTiles),
        loader(kernel.b, kernel.threads, kernel.shared) {}

  LogicalResult emitFragment(FragmentOp op);

private:
  CodeBuilder &b;
  ProgramValues &program;
  const SharedTiles &sharedTiles;
  FragmentLoader loader;
};

} // namespace

LogicalResult FragmentEmitter::emitFragment(FragmentOp op) {
  RankedTensorType type = getTile(op.getResult());
  if (!isShared(getTile(op.getSource())))
    return reject(op);
  int64_t warps = cast<MmaLayoutAttr>(type.getEncoding()).getWarps();
  int64_t numM = llvm::divideCeil(type.getDimSize(0), 16 * warps);
  SharedTile tile = sharedTiles.get(op.getSource());
  SmallVector<Value> registers;
  for (int64_t m = 0; m < numM; ++m)
    for (int64_t step = 0; step < type.getDimSize(1) / 16; ++step)
      for (Value word : loader.loadLeft(tile, warps, numM, m, step))
        llvm::append_range(registers, unpack(b, type.getElementType(), word));
  program.setRegisters(op.getResult(), std::move(registers));
  return success();
}

void nsacc::addFragments(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<FragmentEmitter>(kernel),
              &FragmentEmitter::emitFragment);
}
