//===- EmitFragment.cpp - Operands of tensor cores from shared memory -----===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

Value KernelEmitter::getFragmentAddress(const SharedTile &tile, Value laneRow,
                                        Value laneChunk, int64_t row,
                                        int64_t column) {
  constexpr int64_t chunkBytes = 16, chunkColumns = 8;
  Value chunk = make<arith::XOrIOp>(
      laneChunk, Value(make<arith::AndIOp>(laneRow, i32(7))));
  Value base = make<arith::OrIOp>(mul(laneRow, i32(tile.pitch)),
                                  mul(chunk, i32(chunkBytes)));
  int64_t pattern = column % kSlabColumns / chunkColumns * chunkBytes;
  int64_t begin = tile.offset + row * tile.pitch +
                  column / kSlabColumns * tile.paddedRows * tile.pitch;
  Value address =
      getSharedPointer(make<arith::XOrIOp>(base, i32(pattern)), tile.place);
  return advanceShared(address, begin);
}

SmallVector<Value, 4> KernelEmitter::loadMatrices(Value address, int64_t count,
                                                  bool isTransposed) {
  std::string name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x";
  name += std::to_string(count);
  name += isTransposed ? ".trans.b16" : ".b16";
  auto type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(count, builder.getI32Type()));
  Value loaded = call(name, type, address);
  SmallVector<Value, 4> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(element(loaded, i));
  return words;
}

SmallVector<Value, 4> KernelEmitter::loadLeftFragment(const SharedTile &tile,
                                                      int64_t warps,
                                                      int64_t numM, int64_t m,
                                                      int64_t step) {
  Value lane = getLane();
  Value row = add(mul(getThreadDim(ThreadDim::Warp), i32(16)),
                  make<arith::AndIOp>(lane, i32(15)));
  int64_t firstRow = 16 * warps * m;
  // Rows beyond the tile's place read its last one.
  if (16 * warps * numM > tile.paddedRows) {
    row =
        make<arith::MinUIOp>(add(row, i32(firstRow)), i32(tile.paddedRows - 1));
    firstRow = 0;
  }
  Value chunk = make<arith::ShRUIOp>(lane, i32(4));
  return loadMatrices(getFragmentAddress(tile, row, chunk, firstRow, 16 * step),
                      /*count=*/4, /*isTransposed=*/false);
}

LogicalResult KernelEmitter::emitFragment(FragmentOp op) {
  RankedTensorType type = getTile(op.getResult());
  if (!isShared(getTile(op.getSource())))
    return reject(op);
  int64_t warps = cast<MmaLayoutAttr>(type.getEncoding()).getWarps();
  int64_t numM = llvm::divideCeil(type.getDimSize(0), 16 * warps);
  Type pair = VectorType::get({2}, type.getElementType());
  SharedTile tile = getShared(op.getSource());
  SmallVector<Value> registers;
  for (int64_t m = 0; m < numM; ++m)
    for (int64_t step = 0; step < type.getDimSize(1) / 16; ++step)
      for (Value word : loadLeftFragment(tile, warps, numM, m, step)) {
        Value halves = make<LLVM::BitcastOp>(pair, word);
        for (int64_t half : {0, 1})
          registers.push_back(make<LLVM::ExtractElementOp>(halves, i32(half)));
      }
  setRegisters(op.getResult(), std::move(registers));
  return success();
}
