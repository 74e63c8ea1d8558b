//===- FMAProduct.cpp - Products by FMA -----------------------------------===//

#include "FMAProduct.h"
#include "InlinePTX.h"
#include "Instructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

AccumulatorShape AccumulatorShape::get(RankedTensorType result) {
  int64_t warps = cast<MmaLayoutAttr>(result.getEncoding()).getWarps();
  return {
      warps,
      static_cast<int64_t>(llvm::divideCeil(result.getDimSize(0), 16 * warps)),
      static_cast<int64_t>(llvm::divideCeil(result.getDimSize(1), 8))};
}

SmallVector<int64_t> AccumulatorShape::getColumns(int64_t firstN,
                                                  int64_t lastN) const {
  SmallVector<int64_t> indices;
  for (int64_t m = 0; m < numM; ++m)
    for (int64_t n = firstN; n < lastN; ++n)
      for (int64_t i = 0; i < 4; ++i)
        indices.push_back(getIndex(m, n, i / 2, i % 2));
  return indices;
}

FMAProduct::FMAProduct(Kernel &kernel, DotOp op, AccumulatorShape shape)
    : b(kernel.b), threads(kernel.threads), program(kernel.program),
      shared(kernel.shared), op(op), shape(shape),
      result(program.getLayout(getTile(op.getResult()))),
      rhs(kernel.sharedTiles.get(op.getRhs())),
      element(getTile(op.getLhs()).getElementType()) {}

//===----------------------------------------------------------------------===//
// The left operand
//===----------------------------------------------------------------------===//

Value FMAProduct::mark(Value value, Value visible) {
  if (auto narrowing = value.getDefiningOp<arith::TruncFOp>())
    return b.make<arith::TruncFOp>(value.getType(),
                                   mark(narrowing.getIn(), visible));
  Type type = value.getType();
  // Probabilities are never -0; any other -0 becomes 0.
  if (!ptx::isExp2(value))
    value = b.add(value, b.zero(type));
  Value hidden = b.make<arith::ConstantOp>(b.getFloatAttr(type, -0.0));
  return b.select(visible, value, hidden);
}

void FMAProduct::writeLhs(ArrayRef<Value> registers) {
  const TileLayout &layout = program.getLayout(getTile(op.getLhs()));
  for (auto [index, value] : llvm::enumerate(registers)) {
    if (layout.isPadding(index))
      continue;
    Value stored = value;
    Value pointer =
        shared.getElementPointer(lhs, threads.getPlace(layout, index));
    b.when(threads.getInside(layout, index),
           [&] { b.store(stored, pointer, lhs.elementBytes); });
  }
  nvvm::syncWarp(b);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value FMAProduct::getCoordinate(int64_t index, unsigned dim) {
  return threads.materialize(
      threads.getCoordinate(result.getCoordinates(index)[dim]));
}

Value FMAProduct::load(const SharedTile &tile, Value row, Value column) {
  Value value = b.load(
      element, shared.getPointer(tile, shared.getByteOffset(tile, row, column)),
      tile.elementBytes);
  return element.isF32() ? value : b.make<arith::ExtFOp>(b.getF32Type(), value);
}

/// Elements of the right operand for the thread's columns.
SmallVector<Value> FMAProduct::loadColumns(int64_t firstN, int64_t lastN,
                                           Value k) {
  SmallVector<Value> columns;
  for (int64_t n = firstN; n < lastN; ++n)
    for (int64_t odd : {0, 1}) {
      Value column = getCoordinate(shape.getIndex(0, n, 0, odd), 1);
      if (!op.getTransposeRhs()) {
        columns.push_back(load(rhs, k, column));
        continue;
      }
      column = b.make<arith::MinUIOp>(column, b.i32(rhs.paddedRows - 1));
      columns.push_back(load(rhs, column, k));
    }
  return columns;
}

SmallVector<Value> FMAProduct::multiply(ArrayRef<Value> sums, int64_t firstN,
                                        int64_t lastN, bool skipsHidden) {
  int64_t inner = op.getInner();
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(inner), b.i32(1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  Value k = loop.getInductionVar();
  SmallVector<Value> next(loop.getRegionIterArgs());
  SmallVector<Value> columns = loadColumns(firstN, lastN, k);
  int64_t place = 0;
  for (int64_t m = 0; m < shape.numM; ++m) {
    Value rows[2], hidden[2];
    for (int64_t lower : {0, 1}) {
      Value row = getCoordinate(shape.getIndex(m, 0, lower, 0), 0);
      int64_t rowsOfLhs = op.getTransposeLhs() ? lhs.columns : lhs.rows;
      if (16 * shape.warps * shape.numM > rowsOfLhs)
        row = b.make<arith::MinUIOp>(row, b.i32(rowsOfLhs - 1));
      rows[lower] =
          op.getTransposeLhs() ? load(lhs, k, row) : load(lhs, row, k);
      if (skipsHidden) {
        Value bits = b.make<LLVM::BitcastOp>(b.getI32Type(), rows[lower]);
        hidden[lower] =
            b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, bits,
                                  b.i32(std::numeric_limits<int32_t>::min()));
      }
    }
    for (int64_t n = firstN; n < lastN; ++n)
      for (int64_t lower : {0, 1})
        for (int64_t odd : {0, 1}) {
          Value &sum = next[place++];
          Value more = b.fma(rows[lower], columns[2 * (n - firstN) + odd], sum);
          sum = skipsHidden ? b.select(hidden[lower], sum, more) : more;
        }
  }
  scf::YieldOp::create(b, next);
  return loop.getResults();
}
