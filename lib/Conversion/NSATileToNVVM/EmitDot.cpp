//===- EmitDot.cpp - Products by tensor cores and by FMA ------------------===//

#include "FMAProduct.h"
#include "Fragments.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Writes a product with a result in registers of tensor cores. It never waits
/// for another warp.
class ProductWriter {
public:
  ProductWriter(Kernel &kernel, DotOp op)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        sharedTiles(kernel.sharedTiles), sync(kernel.sync),
        loader(kernel.b, kernel.threads, kernel.shared), op(op),
        shape(AccumulatorShape::get(getTile(op.getResult()))),
        rhs(sharedTiles.get(op.getRhs())),
        element(getTile(op.getLhs()).getElementType()), inner(op.getInner()),
        exact(kernel, op, shape) {}

  SmallVector<Value> write();

private:
  bool isLhsShared() { return isShared(getTile(op.getLhs())); }
  bool hasHidden() { return !!op.getVisible(); }
  SmallVector<Value> getAccumulators();
  std::optional<SharedTile> prepareOperands();
  Value getLhsElement(int64_t index);
  SmallVector<Value, 4> loadLhs(int64_t m, int64_t step);
  SmallVector<Value, 4> loadRhs(int64_t n, int64_t step, bool isDouble);
  void multiply(MutableArrayRef<Value> accs, int64_t firstN, int64_t lastN);
  void addTile(MutableArrayRef<Value> accs, int64_t m, int64_t n,
               ValueRange left, ValueRange right);
  SmallVector<Value> repair(ArrayRef<Value> old, ArrayRef<Value> next,
                            int64_t firstN, int64_t lastN);
  Value hasInfinity(ArrayRef<Value> values);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedTiles &sharedTiles;
  Synchronizer &sync;
  FragmentLoader loader;
  DotOp op;
  AccumulatorShape shape;
  SharedTile rhs;
  Type element;
  int64_t inner;
  /// Registers of the left operand: -0 for hidden elements, never for others.
  SmallVector<Value> lhs;
  FMAProduct exact;
};

} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

SmallVector<Value> ProductWriter::getAccumulators() {
  if (op.getAcc())
    return llvm::to_vector(program.getRegisters(op.getAcc()));
  int64_t count = program.getLayout(getTile(op.getResult())).getNumRegisters();
  return SmallVector<Value>(count, b.f32(0));
}

/// An element of the left operand; 0 if it is padding, which tensor cores
/// multiply, too.
Value ProductWriter::getLhsElement(int64_t index) {
  const TileLayout &layout = program.getLayout(getTile(op.getLhs()));
  if (index >= layout.getNumRegisters() || layout.isPadding(index))
    return b.zero(element);
  Value value = lhs[index], inside;
  // Padding of rows only affects its row.
  for (const TileLayout::Condition &condition : layout.getConditions(index))
    if (condition.expr == layout.getCoordinates(index)[1]) {
      IndexSum sum = threads.getCoordinate(condition.expr);
      inside = b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, sum.base,
                                     b.i32(condition.bound - sum.offset));
    }
  return b.select(inside, value, b.zero(element));
}

/// The left fragment of 16 rows and 16 inner elements.
SmallVector<Value, 4> ProductWriter::loadLhs(int64_t m, int64_t step) {
  if (isLhsShared())
    return loader.loadLeft(sharedTiles.get(op.getLhs()), shape.warps,
                           shape.numM, m, step, op.getTransposeLhs());
  SmallVector<Value, 4> words;
  int64_t numK = llvm::divideCeil(inner, 8);
  for (int64_t half : {0, 1})
    for (int64_t lower : {0, 1}) {
      int64_t n = 2 * step + half;
      if (n >= numK) {
        words.push_back(b.i32(0));
        continue;
      }
      int64_t index = ((m * numK + n) * 2 + lower) * 2;
      words.push_back(pack(b, getLhsElement(index), getLhsElement(index + 1)));
    }
  return words;
}

/// Right fragments of 16 inner elements and 8 columns, or 16 columns.
SmallVector<Value, 4> ProductWriter::loadRhs(int64_t n, int64_t step,
                                             bool isDouble) {
  Value lane = threads.getLane();
  Value inMatrix = b.make<arith::AndIOp>(lane, b.i32(7));
  // Lanes of a group of 8 give the rows of one matrix.
  Value low = b.make<arith::AndIOp>(
      Value(b.make<arith::ShRUIOp>(lane, b.i32(3))), b.i32(1));
  Value high = isDouble ? b.make<arith::ShRUIOp>(lane, b.i32(4)) : b.i32(0);
  if (isDouble)
    high = b.make<arith::AndIOp>(high, b.i32(1));
  bool isTransposed = !op.getTransposeRhs();
  Value rowGroup = isTransposed ? low : high;
  Value row = b.add(inMatrix, b.mul(rowGroup, b.i32(8)));
  Value pointer = loader.getPointer(rhs, row, isTransposed ? high : low,
                                    isTransposed ? 16 * step : 8 * n,
                                    isTransposed ? 8 * n : 16 * step);
  return nvvm::loadMatrices(b, pointer, isDouble ? 4 : 2, isTransposed);
}

/// Prepares the operands. Returns the tile for FMA's left operand if it is
/// allocated for this product.
std::optional<SharedTile> ProductWriter::prepareOperands() {
  if (!isLhsShared())
    lhs = llvm::to_vector(program.getRegisters(op.getLhs()));
  if (hasHidden())
    for (auto [value, visible] :
         llvm::zip_equal(lhs, program.getRegisters(op.getVisible())))
      value = exact.mark(value, visible);
  sync.beforeRead(rhs);
  if (isLhsShared()) {
    SharedTile tile = sharedTiles.get(op.getLhs());
    sync.beforeRead(tile);
    exact.takeLhs(tile);
    return std::nullopt;
  }
  if (!element.isF32() && !hasHidden())
    return std::nullopt;
  SharedTile tile = sharedTiles.allocate(
      RankedTensorType::get(getTile(op.getLhs()).getShape(), element));
  // Only lanes of a warp have to meet from here on.
  sync.beforeWrite(tile);
  exact.takeLhs(tile);
  if (element.isF32())
    exact.writeLhs(lhs);
  return tile;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void ProductWriter::addTile(MutableArrayRef<Value> accs, int64_t m, int64_t n,
                            ValueRange left, ValueRange right) {
  MutableArrayRef<Value> sums = accs.slice(shape.getIndex(m, n, 0, 0), 4);
  llvm::copy(nvvm::multiply(b, element, left, right, SmallVector<Value>(sums)),
             sums.begin());
}

/// Adds columns 8 firstN … 8 lastN - 1 of the product with tensor cores.
void ProductWriter::multiply(MutableArrayRef<Value> accs, int64_t firstN,
                             int64_t lastN) {
  for (int64_t step = 0; step < llvm::divideCeilSigned(inner, 16); ++step) {
    SmallVector<SmallVector<Value, 4>> left;
    for (int64_t m = 0; m < shape.numM; ++m)
      left.push_back(loadLhs(m, step));
    for (int64_t n = firstN; n < lastN; n += 2) {
      bool isDouble = n + 1 < lastN;
      SmallVector<Value, 4> words = loadRhs(n, step, isDouble);
      for (int64_t part = 0; part < (isDouble ? 2 : 1); ++part)
        for (int64_t m = 0; m < shape.numM; ++m)
          addTile(accs, m, n + part, left[m],
                  ArrayRef(words).slice(2 * part, 2));
    }
  }
}

/// Whether a number of the warp isn't finite: its product with 0 isn't 0.
Value ProductWriter::hasInfinity(ArrayRef<Value> values) {
  Value all = addUpMarks(b, values);
  return nvvm::anyLane(
      b, b.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, all, all));
}

/// `next` or, if an element of it isn't finite, the sums of `old` and visible
/// elements only.
SmallVector<Value> ProductWriter::repair(ArrayRef<Value> old,
                                         ArrayRef<Value> next, int64_t firstN,
                                         int64_t lastN) {
  return b.branch(
      hasInfinity(next), SmallVector<Type>(next.size(), b.getF32Type()),
      [&] {
        if (!element.isF32())
          exact.writeLhs(lhs);
        return exact.multiply(old, firstN, lastN, /*skipsHidden=*/true);
      },
      [&] { return SmallVector<Value>(next); });
}

SmallVector<Value> ProductWriter::write() {
  std::optional<SharedTile> place = prepareOperands();
  SmallVector<Value> accs = getAccumulators();
  bool isFMA = element.isF32();
  // Number of columns at once: a copy of their sums has to stay in registers.
  int64_t numColumns = hasHidden() || isFMA ? 4 : shape.numN;
  for (int64_t firstN = 0; firstN < shape.numN; firstN += numColumns) {
    int64_t lastN = std::min(firstN + numColumns, shape.numN);
    SmallVector<int64_t> indices = shape.getColumns(firstN, lastN);
    auto take = [&](ArrayRef<Value> from) {
      return llvm::map_to_vector(indices,
                                 [&](int64_t index) { return from[index]; });
    };
    SmallVector<Value> old = take(accs), next;
    if (isFMA) {
      next = exact.multiply(old, firstN, lastN, /*skipsHidden=*/false);
    } else {
      multiply(accs, firstN, lastN);
      next = take(accs);
    }
    if (hasHidden())
      next = repair(old, next, firstN, lastN);
    for (auto [index, value] : llvm::zip_equal(indices, next))
      accs[index] = value;
  }
  if (place)
    sharedTiles.release(*place);
  return accs;
}

namespace {

/// Writes products that each warp computes alone.
class ProductEmitter {
public:
  explicit ProductEmitter(Kernel &kernel) : kernel(kernel) {}

  LogicalResult emitDot(DotOp op);

private:
  Kernel &kernel;
};

} // namespace

LogicalResult ProductEmitter::emitDot(DotOp op) {
  RankedTensorType lhs = getTile(op.getLhs());
  Type element = lhs.getElementType();
  bool isMma =
      isa_and_present<MmaLayoutAttr>(getTile(op.getResult()).getEncoding());
  SharedTile rhs = isShared(getTile(op.getRhs()))
                       ? kernel.sharedTiles.get(op.getRhs())
                       : SharedTile();
  bool fits = element.isF32() ? rhs.swizzle == 0 : rhs.swizzle == 128;
  if (!isMma || rhs.elementBytes == 0 || !fits ||
      (isShared(lhs) ? !!op.getVisible() : op.getTransposeLhs()))
    return reject(op);
  kernel.program.setRegisters(op.getResult(),
                              ProductWriter(kernel, op).write());
  return success();
}

void nsacc::addProducts(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<ProductEmitter>(kernel),
              &ProductEmitter::emitDot);
}
