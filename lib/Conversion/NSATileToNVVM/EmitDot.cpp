//===- EmitDot.cpp - Products by tensor cores and by FMA ------------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

Value KernelEmitter::pack(Value low, Value high) {
  Type word = builder.getI32Type();
  auto getWide = [](Value value) -> Value {
    auto narrowing = value.getDefiningOp<arith::TruncFOp>();
    return narrowing && narrowing.getIn().getType().isF32() ? narrowing.getIn()
                                                            : Value();
  };
  auto pair = VectorType::get({2}, low.getType());
  // The halves of a word that was taken apart.
  auto getWord = [](Value half, int64_t index) -> Value {
    auto extract = half.getDefiningOp<LLVM::ExtractElementOp>();
    llvm::APInt place;
    if (!extract ||
        !matchPattern(extract.getPosition(), m_ConstantInt(&place)) ||
        place != index)
      return {};
    auto cast = extract.getVector().getDefiningOp<LLVM::BitcastOp>();
    return cast ? cast.getArg() : Value();
  };
  if (Value lowWord = getWord(low, 0), highWord = getWord(high, 1);
      lowWord && lowWord == highWord && lowWord.getType() == word)
    return lowWord;
  // Both are rounded at once.
  if (Value wideLow = getWide(low), wideHigh = getWide(high);
      wideLow && wideHigh) {
    StringRef name = low.getType().isBF16() ? "llvm.nvvm.ff2bf16x2.rn"
                                            : "llvm.nvvm.ff2f16x2.rn";
    return make<LLVM::BitcastOp>(word, call(name, pair, {wideHigh, wideLow}));
  }
  Value vector = make<LLVM::PoisonOp>(pair);
  vector = make<LLVM::InsertElementOp>(vector, low, i32(0));
  vector = make<LLVM::InsertElementOp>(vector, high, i32(1));
  return make<LLVM::BitcastOp>(word, vector);
}

namespace {

/// A product whose result is in registers of tensor cores. Nothing in it waits
/// for another warp.
class ProductWriter {
public:
  ProductWriter(KernelEmitter &emitter, DotOp op)
      : e(emitter), op(op), result(emitter.getLayout(getTile(op.getResult()))),
        warps(cast<MmaLayoutAttr>(getTile(op.getResult()).getEncoding())
                  .getWarps()),
        rhs(emitter.getShared(op.getRhs())),
        element(getTile(op.getLhs()).getElementType()),
        inner(getTile(op.getLhs()).getDimSize(1)) {
    RankedTensorType type = getTile(op.getResult());
    numM = llvm::divideCeil(type.getDimSize(0), 16 * warps);
    numN = llvm::divideCeil(type.getDimSize(1), 8);
  }

  SmallVector<Value> write();

private:
  int64_t getIndex(int64_t m, int64_t n, int64_t b, int64_t c) const {
    return ((m * numN + n) * 2 + b) * 2 + c;
  }
  SmallVector<Value> getAccumulators();
  bool isLhsShared() { return KernelEmitter::isShared(getTile(op.getLhs())); }
  Value getLhsElement(int64_t index);
  Value mark(Value value, Value visible);
  SmallVector<Value, 4> loadLhs(int64_t m, int64_t step);
  SmallVector<Value, 4> loadRhs(int64_t n, int64_t step, bool isDouble);
  void multiply(MutableArrayRef<Value> accs, int64_t firstN, int64_t lastN);
  void writeLhs();
  Value toF32(Value value);
  SmallVector<Value> multiplySlowly(ArrayRef<Value> accs, int64_t firstN,
                                    int64_t lastN, bool skipsHidden);
  Value hasInfinity(ArrayRef<Value> values);

  KernelEmitter &e;
  DotOp op;
  const TileLayout &result;
  int64_t warps, numM, numN;
  SharedTile rhs;
  Type element;
  int64_t inner;
  /// Registers of the left operand, -0 where it is hidden and where it isn't,
  /// not -0.
  SmallVector<Value> lhs;
  /// What FMA reads the left operand from.
  SharedTile slowLhs;
};

} // namespace

SmallVector<Value> ProductWriter::getAccumulators() {
  if (op.getAcc())
    return llvm::to_vector(e.getRegisters(op.getAcc()));
  return SmallVector<Value>(result.getNumRegisters(), e.f32(0));
}

/// 0 where there is none: tensor cores multiply padding, too.
Value ProductWriter::getLhsElement(int64_t index) {
  const TileLayout &layout = e.getLayout(getTile(op.getLhs()));
  if (index >= layout.getNumRegisters() || layout.isPadding(index))
    return e.zero(element);
  Value value = lhs[index], inside;
  // Padding of rows stays in its row.
  for (const TileLayout::Condition &condition : layout.getConditions(index))
    if (condition.expr == layout.getCoordinates(index)[1]) {
      IndexSum sum = e.getCoordinate(condition.expr);
      inside = e.make<arith::CmpIOp>(arith::CmpIPredicate::slt, sum.base,
                                     e.i32(condition.bound - sum.offset));
    }
  return e.select(inside, value, e.zero(element));
}

/// The left fragment of 16 rows and 16 of the inner dimension.
SmallVector<Value, 4> ProductWriter::loadLhs(int64_t m, int64_t step) {
  SmallVector<Value, 4> words;
  if (isLhsShared())
    return e.loadLeftFragment(e.getShared(op.getLhs()), warps, numM, m, step);
  int64_t numK = llvm::divideCeil(inner, 8);
  for (int64_t half : {0, 1})
    for (int64_t b : {0, 1}) {
      int64_t n = 2 * step + half;
      if (n >= numK) {
        words.push_back(e.i32(0));
        continue;
      }
      int64_t index = ((m * numK + n) * 2 + b) * 2;
      words.push_back(e.pack(getLhsElement(index), getLhsElement(index + 1)));
    }
  return words;
}

/// Right fragments of 16 of the inner dimension and 8 columns, or 16 of them.
SmallVector<Value, 4> ProductWriter::loadRhs(int64_t n, int64_t step,
                                             bool isDouble) {
  Value lane = e.getLane();
  Value inMatrix = e.make<arith::AndIOp>(lane, e.i32(7));
  // Lanes of a group of 8 tell the rows of one matrix.
  Value low = e.make<arith::AndIOp>(
      Value(e.make<arith::ShRUIOp>(lane, e.i32(3))), e.i32(1));
  Value high = isDouble ? e.make<arith::ShRUIOp>(lane, e.i32(4)) : e.i32(0);
  if (isDouble)
    high = e.make<arith::AndIOp>(high, e.i32(1));
  bool isTransposed = !op.getTransposeRhs();
  Value rowGroup = isTransposed ? low : high;
  Value row = e.add(inMatrix, e.mul(rowGroup, e.i32(8)));
  Value address = e.getFragmentAddress(rhs, row, isTransposed ? high : low,
                                       isTransposed ? 16 * step : 8 * n,
                                       isTransposed ? 8 * n : 16 * step);
  return e.loadMatrices(address, isDouble ? 4 : 2, isTransposed);
}

/// Adds the product's columns 8 firstN … 8 lastN - 1 by tensor cores.
void ProductWriter::multiply(MutableArrayRef<Value> accs, int64_t firstN,
                             int64_t lastN) {
  bool isBF16 = element.isBF16();
  Type f32 = e.builder.getF32Type();
  auto four = LLVM::LLVMStructType::getLiteral(e.builder.getContext(),
                                               {f32, f32, f32, f32});
  auto toOperand = [&](Value word) {
    if (isBF16)
      return word;
    return e.make<LLVM::BitcastOp>(VectorType::get({2}, element), word);
  };
  for (int64_t step = 0; step < llvm::divideCeilSigned(inner, 16); ++step) {
    SmallVector<SmallVector<Value, 4>> left;
    for (int64_t m = 0; m < numM; ++m)
      left.push_back(loadLhs(m, step));
    for (int64_t n = firstN; n < lastN; n += 2) {
      bool isDouble = n + 1 < lastN;
      SmallVector<Value, 4> words = loadRhs(n, step, isDouble);
      for (int64_t part = 0; part < (isDouble ? 2 : 1); ++part)
        for (int64_t m = 0; m < numM; ++m) {
          SmallVector<Value> operands;
          for (Value word : left[m])
            operands.push_back(toOperand(word));
          operands.push_back(toOperand(words[2 * part]));
          operands.push_back(toOperand(words[2 * part + 1]));
          for (int64_t i = 0; i < 4; ++i)
            operands.push_back(accs[getIndex(m, n + part, i / 2, i % 2)]);
          Value sums = e.call(isBF16 ? "llvm.nvvm.mma.m16n8k16.row.col.bf16"
                                     : "llvm.nvvm.mma.m16n8k16.row.col.f32.f32",
                              four, operands);
          for (int64_t i = 0; i < 4; ++i)
            accs[getIndex(m, n + part, i / 2, i % 2)] = e.element(sums, i);
        }
    }
  }
}

//===----------------------------------------------------------------------===//
// Exact products
//===----------------------------------------------------------------------===//

/// Says by its sign which zero is hidden, so that nothing else has to be kept
/// until it is known whether that matters.
Value ProductWriter::mark(Value value, Value visible) {
  if (auto narrowing = value.getDefiningOp<arith::TruncFOp>())
    return e.make<arith::TruncFOp>(value.getType(),
                                   mark(narrowing.getIn(), visible));
  Type type = value.getType();
  // Probabilities are never -0; what else is becomes 0.
  if (!value.getDefiningOp<LLVM::CallIntrinsicOp>())
    value = e.add(value, e.zero(type));
  Value hidden = e.make<arith::ConstantOp>(e.builder.getFloatAttr(type, -0.0));
  return e.select(visible, value, hidden);
}

/// Brings a left operand into shared memory, 16 rows to a warp, which reads its
/// own rows alone. What is hidden is -0 there and no visible number is.
void ProductWriter::writeLhs() {
  const TileLayout &layout = e.getLayout(getTile(op.getLhs()));
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index))
      continue;
    Value value = lhs[index];
    SmallVector<Value> coordinates;
    for (AffineExpr expr : layout.getCoordinates(index))
      coordinates.push_back(e.materialize(e.getCoordinate(expr)));
    Value address = e.getElementAddress(slowLhs, coordinates);
    e.when(e.getInside(layout, index),
           [&] { e.storeGlobal(value, address, slowLhs.elementBytes); });
  }
}

Value ProductWriter::toF32(Value value) {
  if (value.getType().isF32())
    return value;
  return e.make<arith::ExtFOp>(e.builder.getF32Type(), value);
}

/// The same columns by FMA, one element of the inner dimension after the other.
SmallVector<Value> ProductWriter::multiplySlowly(ArrayRef<Value> accs,
                                                 int64_t firstN, int64_t lastN,
                                                 bool skipsHidden) {
  auto loop = scf::ForOp::create(e.builder, e.loc, e.i32(0), e.i32(inner),
                                 e.i32(1), accs);
  OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPointToEnd(loop.getBody());
  Value k = loop.getInductionVar();
  SmallVector<Value> sums(loop.getRegionIterArgs());
  auto coordinate = [&](int64_t index, unsigned dim) {
    return e.materialize(e.getCoordinate(result.getCoordinates(index)[dim]));
  };
  SmallVector<Value> columns;
  for (int64_t n = firstN; n < lastN; ++n)
    for (int64_t c : {0, 1}) {
      Value column = coordinate(getIndex(0, n, 0, c), 1);
      Value row = op.getTransposeRhs() ? column : k;
      if (op.getTransposeRhs()) {
        row = e.make<arith::MinUIOp>(row, e.i32(rhs.paddedRows - 1));
        column = k;
      }
      columns.push_back(toF32(e.loadGlobal(
          element, e.getAddress(rhs, e.getByteOffset(rhs, row, column)),
          rhs.elementBytes)));
    }
  int64_t place = 0;
  for (int64_t m = 0; m < numM; ++m) {
    Value rows[2], hidden[2];
    for (int64_t b : {0, 1}) {
      Value row = coordinate(getIndex(m, 0, b, 0), 0);
      if (16 * warps * numM > slowLhs.rows)
        row = e.make<arith::MinUIOp>(row, e.i32(slowLhs.rows - 1));
      Value value = e.loadGlobal(
          element, e.getAddress(slowLhs, e.getByteOffset(slowLhs, row, k)),
          slowLhs.elementBytes);
      rows[b] = toF32(value);
      if (skipsHidden) {
        Value bits = e.make<LLVM::BitcastOp>(e.builder.getI32Type(), rows[b]);
        hidden[b] =
            e.make<arith::CmpIOp>(arith::CmpIPredicate::eq, bits,
                                  e.i32(std::numeric_limits<int32_t>::min()));
      }
    }
    for (int64_t n = firstN; n < lastN; ++n)
      for (int64_t b : {0, 1})
        for (int64_t c : {0, 1}) {
          Value &sum = sums[place++];
          Value next = e.fma(rows[b], columns[2 * (n - firstN) + c], sum);
          sum = skipsHidden ? e.select(hidden[b], sum, next) : next;
        }
  }
  scf::YieldOp::create(e.builder, e.loc, sums);
  return loop.getResults();
}

/// Whether a number of the warp isn't finite: then its product with 0 isn't 0.
Value ProductWriter::hasInfinity(ArrayRef<Value> values) {
  constexpr size_t numChains = 4;
  SmallVector<Value, numChains> chains(numChains, e.f32(0));
  for (auto [index, value] : llvm::enumerate(values)) {
    Value &chain = chains[index % numChains];
    chain = e.fma(value, e.f32(0), chain);
  }
  Value all = e.combineAll(ReduceKind::Sum, chains);
  Value isFound = e.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, all, all);
  return e.call("llvm.nvvm.vote.any.sync", e.builder.getI1Type(),
                {e.i32(-1), isFound});
}

SmallVector<Value> ProductWriter::write() {
  bool isFMA = element.isF32(), hasHidden = !!op.getVisible();
  if (!isLhsShared())
    lhs = llvm::to_vector(e.getRegisters(op.getLhs()));
  if (hasHidden)
    for (auto [value, visible] :
         llvm::zip_equal(lhs, e.getRegisters(op.getVisible())))
      value = mark(value, visible);
  e.beforeRead(rhs);
  bool ownsLhs = (isFMA || hasHidden) && !isLhsShared();
  if (isLhsShared()) {
    slowLhs = e.getShared(op.getLhs());
    e.beforeRead(slowLhs);
  } else if (ownsLhs) {
    slowLhs = e.allocate(
        RankedTensorType::get(getTile(op.getLhs()).getShape(), element));
    // Only warps meet from here on.
    e.beforeWrite(slowLhs);
  }
  if (isFMA && ownsLhs) {
    writeLhs();
    e.syncWarp();
  }
  SmallVector<Value> accs = getAccumulators();
  // So many columns at once that a copy of their sums stays in registers.
  int64_t numColumns = hasHidden || isFMA ? 4 : numN;
  for (int64_t firstN = 0; firstN < numN; firstN += numColumns) {
    int64_t lastN = std::min(firstN + numColumns, numN);
    SmallVector<int64_t> indices;
    for (int64_t m = 0; m < numM; ++m)
      for (int64_t n = firstN; n < lastN; ++n)
        for (int64_t i = 0; i < 4; ++i)
          indices.push_back(getIndex(m, n, i / 2, i % 2));
    auto select = [&](ArrayRef<Value> from) {
      return llvm::map_to_vector(indices,
                                 [&](int64_t index) { return from[index]; });
    };
    SmallVector<Value> old = select(accs);
    SmallVector<Value> next;
    if (isFMA) {
      next = multiplySlowly(old, firstN, lastN, /*skipsHidden=*/false);
    } else {
      multiply(accs, firstN, lastN);
      next = select(accs);
    }
    if (hasHidden)
      next = e.branch(
          hasInfinity(next),
          SmallVector<Type>(next.size(), e.builder.getF32Type()),
          [&] {
            if (!isFMA) {
              writeLhs();
              e.syncWarp();
            }
            return multiplySlowly(old, firstN, lastN, /*skipsHidden=*/true);
          },
          [&] { return next; });
    for (auto [index, value] : llvm::zip_equal(indices, next))
      accs[index] = value;
  }
  if (ownsLhs)
    e.release(slowLhs);
  return accs;
}

LogicalResult KernelEmitter::emitDot(DotOp op) {
  RankedTensorType lhs = getTile(op.getLhs());
  Type element = lhs.getElementType();
  bool isMma =
      isa_and_present<MmaLayoutAttr>(getTile(op.getResult()).getEncoding());
  SharedTile rhs =
      isShared(getTile(op.getRhs())) ? getShared(op.getRhs()) : SharedTile();
  bool fits = element.isF32() ? rhs.swizzle == 0 : rhs.swizzle == 128;
  if (!isMma || rhs.elementBytes == 0 || !fits ||
      (isShared(lhs) && op.getVisible()))
    return reject(op);
  setRegisters(op.getResult(), ProductWriter(*this, op).write());
  return success();
}
