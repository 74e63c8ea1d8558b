//===- EmitDot.cpp - Products of tiles as blocks of registers -------------===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Part of a result that stays in registers while the inner dimension runs.
struct RegisterBlock {
  int64_t rows, vectors, width;
};

class DotEmitter {
public:
  DotEmitter(TileEmitter &emitter, DotOp op, Value lhs, Value rhs, Value result)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        op(op), lhs(lhs), rhs(rhs), result(result), inner(op.getInner()) {}

  /// Writes the rows before `rowEnd`, or all rows if it is null.
  void emitRows(Value column, RegisterBlock block, Value rowEnd) {
    int64_t rows =
        cast<RankedTensorType>(op.getResult().getType()).getDimSize(0);
    int64_t rest = rows % block.rows;
    Value blocksEnd = emitter.constant(rows - rest);
    bool endsInBlock = rowEnd && emitter.getRowUnit(rows) % block.rows != 0;
    if (endsInBlock) {
      // Rows behind the end may hold anything, even a NaN.
      Value size = emitter.constant(block.rows);
      Value blocks = arith::DivUIOp::create(builder, loc, rowEnd, size);
      blocksEnd = arith::MulIOp::create(builder, loc, blocks, size);
      rest = 1;
    } else if (rowEnd) {
      blocksEnd = rest == 0
                      ? rowEnd
                      : arith::MinUIOp::create(builder, loc, rowEnd, blocksEnd)
                            .getResult();
    }
    emitBlocks(emitter.constant(0), blocksEnd, column, block);
    block.rows = rest;
    if (rest > 0)
      emitBlocks(endsInBlock ? blocksEnd : emitter.constant(rows - rest),
                 rowEnd ? rowEnd : emitter.constant(rows), column, block);
  }

private:
  void emitBlocks(Value first, Value end, Value column, RegisterBlock block) {
    emitter.forEach(first, end, block.rows,
                    [&](Value row) { emitAt(row, column, block); });
  }

  void emitAt(Value row, Value column, RegisterBlock block) {
    SmallVector<Value> sums =
        emitInnerLoop(row, column, block, readAccumulators(row, column, block));
    if (!op.getVisible())
      return storeSums(sums, row, column, block);
    // A NaN may come from rows of the right operand that a row doesn't see.
    auto ifOp = scf::IfOp::create(builder, loc, areFinite(sums),
                                  /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(ifOp.thenYield());
    storeSums(sums, row, column, block);
    builder.setInsertionPoint(ifOp.elseYield());
    emitter.forEach(row, at(row, block.rows), 1,
                    [&](Value each) { emitVisible(each, column, block); });
  }

  void storeSums(ArrayRef<Value> sums, Value row, Value column,
                 RegisterBlock block) {
    for (int64_t r = 0; r < block.rows; ++r)
      for (int64_t v = 0; v < block.vectors; ++v)
        emitter.storeVector(sums[r * block.vectors + v], result,
                            {at(row, r), at(column, v * block.width)});
  }

  /// Whether all sums are finite: 0 · x is 0 for finite x, else NaN; so is the
  /// sum of these products.
  Value areFinite(ArrayRef<Value> sums) {
    Type type = sums.front().getType();
    int64_t width =
        isa<VectorType>(type) ? cast<VectorType>(type).getDimSize(0) : 1;
    Value zero = emitter.splatConstant(builder.getF32FloatAttr(0.0f), width);
    constexpr size_t chains = 4;
    SmallVector<Value, chains> tests;
    for (auto [index, sum] : llvm::enumerate(sums)) {
      if (index < chains)
        tests.push_back(arith::MulFOp::create(builder, loc, sum, zero));
      else
        tests[index % chains] = multiplyAdd(sum, zero, tests[index % chains]);
    }
    while (tests.size() > 1) {
      Value last = tests.pop_back_val();
      tests.front() = arith::AddFOp::create(builder, loc, tests.front(), last);
    }
    Value isNumber = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::ORD, tests.front(), tests.front());
    if (width == 1)
      return isNumber;
    return vector::ReductionOp::create(builder, loc, vector::CombiningKind::AND,
                                       isNumber);
  }

  /// Computes one row of the block, in the same order of additions: rows
  /// without an invisible NaN get the same bits.
  void emitVisible(Value row, Value column, RegisterBlock block) {
    RegisterBlock one = {1, block.vectors, block.width};
    auto loop = scf::ForOp::create(builder, loc, emitter.constant(0),
                                   emitter.constant(inner), emitter.constant(1),
                                   readAccumulators(row, column, one));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(loop.getBody());
      Value k = loop.getInductionVar();
      SmallVector<Value> sums(loop.getRegionIterArgs());
      Value seen = emitter.splat(
          VectorReader(emitter, {row, k}, 1).read(op.getVisible()),
          block.width);
      Value zero =
          emitter.splatConstant(builder.getF32FloatAttr(0.0f), block.width);
      Value scalar =
          memref::LoadOp::create(builder, loc, lhs, ValueRange{row, k});
      Value repeated = emitter.splat(scalar, block.width);
      for (int64_t v = 0; v < block.vectors; ++v) {
        Value vector = emitter.loadVector(rhs, {k, at(column, v * block.width)},
                                          block.width);
        vector = arith::SelectOp::create(builder, loc, seen, vector, zero);
        sums[v] = multiplyAdd(repeated, vector, sums[v]);
      }
      scf::YieldOp::create(builder, loc, sums);
    }
    storeSums(SmallVector<Value>(loop.getResults()), row, column, one);
  }

  SmallVector<Value> readAccumulators(Value row, Value column,
                                      RegisterBlock block) {
    SmallVector<Value> accumulators;
    for (int64_t r = 0; r < block.rows; ++r)
      for (int64_t v = 0; v < block.vectors; ++v) {
        SmallVector<Value> indices = {at(row, r), at(column, v * block.width)};
        accumulators.push_back(
            op.getAcc()
                ? VectorReader(emitter, indices, block.width).read(op.getAcc())
                : emitter.splatConstant(builder.getF32FloatAttr(0.0f),
                                        block.width));
      }
    return accumulators;
  }

  SmallVector<Value> emitInnerLoop(Value row, Value column, RegisterBlock block,
                                   ArrayRef<Value> accumulators) {
    // Enough to hide the loop's cost, and few enough to compile fast.
    int64_t unrolled = inner % 4 == 0 ? 4 : inner % 2 == 0 ? 2 : 1;
    auto loop = scf::ForOp::create(builder, loc, emitter.constant(0),
                                   emitter.constant(inner),
                                   emitter.constant(unrolled), accumulators);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> sums(loop.getRegionIterArgs());
    for (int64_t i = 0; i < unrolled; ++i)
      emitStep(at(loop.getInductionVar(), i), row, column, block, sums);
    scf::YieldOp::create(builder, loc, sums);
    return loop.getResults();
  }

  void emitStep(Value k, Value row, Value column, RegisterBlock block,
                MutableArrayRef<Value> sums) {
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < block.vectors; ++v)
      vectors.push_back(emitter.loadVector(
          rhs, {k, at(column, v * block.width)}, block.width));
    for (int64_t r = 0; r < block.rows; ++r) {
      Value scalar =
          memref::LoadOp::create(builder, loc, lhs, ValueRange{at(row, r), k});
      Value repeated = emitter.splat(scalar, block.width);
      for (int64_t v = 0; v < block.vectors; ++v) {
        Value &sum = sums[r * block.vectors + v];
        sum = multiplyAdd(repeated, vectors[v], sum);
      }
    }
  }

  /// Adds a product with one rounding. Tiles of all widths give an element the
  /// same bits: exp(s - lse) adds up to 1 even if a program with other tiles
  /// computes the scores again.
  Value multiplyAdd(Value a, Value b, Value sum) {
    if (isa<VectorType>(sum.getType()))
      return vector::FMAOp::create(builder, loc, a, b, sum);
    auto single = [&](Value value) -> Value {
      return vector::BroadcastOp::create(
          builder, loc, VectorType::get({1}, value.getType()), value);
    };
    Value added =
        vector::FMAOp::create(builder, loc, single(a), single(b), single(sum));
    return vector::ExtractOp::create(builder, loc, added, 0);
  }

  Value at(Value index, int64_t offset) {
    if (offset == 0)
      return index;
    return arith::AddIOp::create(builder, loc, index, emitter.constant(offset));
  }

  TileEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  DotOp op;
  Value lhs, rhs, result;
  int64_t inner;
};

} // namespace

/// Number of vectors in a row: a divisor of `available` that leaves registers
/// free.
static int64_t chooseVectors(int64_t available, int64_t rows,
                             int64_t registers) {
  int64_t vectors = registers / 8;
  while (vectors > 1 && available % vectors != 0)
    --vectors;
  // With few rows, more vectors keep the multipliers busy instead.
  while (rows * vectors < registers / 2 && available % (2 * vectors) == 0 &&
         rows * vectors * 2 + 2 * vectors < registers)
    vectors *= 2;
  return vectors;
}

static int64_t chooseRows(int64_t rows, int64_t vectors, int64_t registers) {
  int64_t most = std::max<int64_t>((registers * 3 / 4) / vectors, 1);
  for (int64_t divisor = most; divisor * 2 > most; --divisor)
    if (rows % divisor == 0)
      return divisor;
  return std::min(most, rows);
}

int64_t TileEmitter::getRowUnit(int64_t rows) const {
  return chooseRows(rows, registers / 8, registers);
}

void TileEmitter::emitDot(DotOp op) {
  Value lhs = op.getTransposeLhs() ? transposedMemory.lookup(op.getLhs())
                                   : getPacked(op.getLhs());
  Value rhs = op.getTransposeRhs() ? transposedMemory.lookup(op.getRhs())
                                   : getPacked(op.getRhs());
  Value result = allocateResult(op.getResult());
  DotEmitter dot(*this, op, lhs, rhs, result);
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  Value rowEnd = getRowEnd(op.getResult());

  auto emitColumns = [&](int64_t first, int64_t last, int64_t vectors,
                         int64_t width) {
    if (first == last)
      return;
    RegisterBlock block = {chooseRows(rows, vectors, registers), vectors,
                           width};
    forEach(constant(first), constant(last), vectors * width,
            [&](Value column) { dot.emitRows(column, block, rowEnd); });
  };
  int64_t whole = columns / lanes;
  if (whole > 0)
    emitColumns(0, whole * lanes, chooseVectors(whole, rows, registers), lanes);
  for (auto [column, width] : splitRest(columns))
    emitColumns(column, column + width, 1, width);
}
