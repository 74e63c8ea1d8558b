//===- SoftmaxUpdate.cpp - A step of the streaming softmax ----------------===//

#include "SoftmaxUpdate.h"
#include "InlinePTX.h"
#include "Instructions.h"
#include "NSATile/IR/NSATileHints.h"
#include "Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

static SoftmaxOrder getOrder(SoftmaxUpdateOp op) {
  auto order = op->getAttrOfType<StringAttr>(kOrderAttrName);
  return order ? symbolizeSoftmaxOrder(order.getValue())
                     .value_or(SoftmaxOrder::Rows)
               : SoftmaxOrder::Rows;
}

/// Whether scores are a product's result: no mask hides a key.
static bool isProduct(Value tile) {
  return isa_and_present<DotOp, DotWaitOp>(tile.getDefiningOp());
}

SoftmaxUpdate::SoftmaxUpdate(Kernel &kernel, SoftmaxUpdateOp op)
    : b(kernel.b), threads(kernel.threads), program(kernel.program), op(op),
      order(getOrder(op)), math(b, op->hasAttr(kAssumesFiniteAttrName),
                                isProduct(op.getScores()) && !op.getRows()),
      matrix(program.getLayout(getTile(op.getScores()))),
      rows(groupByRow(matrix, program.getLayout(getTile(op.getMax())))),
      scale(program.lookup(op.getScale())), least(b.f32(-kInfinity)),
      scores(program.getRegisters(op.getScores())),
      probs(matrix.getNumRegisters(), b.f32(0)) {
  FloatAttr constant;
  if (matchPattern(op.getScale(), m_Constant(&constant)))
    factorOfScale = std::max(constant.getValueAsDouble(), 0.0);
  factor = b.f32((isPositive() ? factorOfScale : 1) * double(kLog2E));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value SoftmaxUpdate::getGreatest(ArrayRef<int64_t> members) {
  SmallVector<Value> candidates;
  for (int64_t index : members) {
    if (matrix.isPadding(index))
      continue;
    Value &score = scores[index];
    if (!isPositive())
      score = b.mul(score, scale);
    // Only padding of columns matters to a row.
    score = b.select(threads.getInside(matrix, index), score, least);
    candidates.push_back(score);
  }
  return combineAll(b, ReduceKind::Max, candidates, true);
}

void SoftmaxUpdate::update(size_t row, Value greatest) {
  Value old = program.getRegisters(op.getMax())[row];
  Value max = combineRow(b, ReduceKind::Max, greatest, true);
  if (isPositive())
    max = b.mul(max, scale);
  max = combine(b, ReduceKind::Max, old, max, true);
  Value looks = isLooking(row);
  if (looks)
    max = b.select(looks, max, old);
  Value shift = math.getShift(max);
  decays.push_back(math.getDecay(old, max, shift));
  maxima.push_back(max);
  shifts.push_back(looks ? b.select(looks, shift, least) : shift);
}

/// Whether a row takes part; null if all rows do.
Value SoftmaxUpdate::isLooking(size_t row) {
  return op.getRows() ? program.getRegisters(op.getRows())[row] : Value();
}

/// Sets probabilities of a row that doesn't take part to 0. For finite scores,
/// an exponent of -inf already does this.
void SoftmaxUpdate::hide(size_t row) {
  Value looks = isLooking(row);
  if (!looks || op->hasAttr(kAssumesFiniteAttrName))
    return;
  for (int64_t index : rows[row])
    probs[index] = b.select(looks, probs[index], b.f32(0));
}

Value SoftmaxUpdate::addUp(size_t row) {
  SmallVector<Value> parts;
  for (int64_t index : rows[row])
    if (!matrix.isPadding(index))
      parts.push_back(probs[index]);
  bool isPartial = isa<PartialLayoutAttr>(getTile(op.getSum()).getEncoding());
  Value old = program.getRegisters(op.getSum())[row];
  bool beginsWithOld =
      isPartial && order == SoftmaxOrder::DecayFirst && !parts.empty();
  if (beginsWithOld)
    parts.front() = b.fma(old, decays[row], parts.front());
  Value sum = combineAll(b, ReduceKind::Sum, parts);
  if (!isPartial)
    sum = combineRow(b, ReduceKind::Sum, sum);
  return beginsWithOld ? sum : b.fma(old, decays[row], sum);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Lets ptxas compute `values` before the following code: it doesn't move them
/// over a branch that depends on them. The branch is never taken: no sum of
/// theirs is the greatest number.
static void computeFirst(CodeBuilder &b, ArrayRef<Value> values) {
  Value sum = combineAll(b, ReduceKind::Sum, values);
  Value isGreatest = b.make<arith::CmpFOp>(
      arith::CmpFPredicate::OEQ, sum, b.f32(std::numeric_limits<float>::max()));
  b.when(nvvm::anyLane(b, isGreatest), [&] { nvvm::sleep(b, 64); });
}

/// Sets the probabilities of scores, given with their rows. One fused product
/// leaves the rounding error of the maximum's product with log2(e). Every
/// weight of a row has the same error, so it cancels. For a large maximum,
/// though, the error is beyond the range of powers of 2. A program that assumes
/// finite numbers marks such rows (nsatile-assume-finite); others take the
/// distance first.
void SoftmaxUpdate::raise(ArrayRef<std::pair<int64_t, size_t>> elements) {
  SmallVector<Value> references;
  Value isLarge;
  if (!op->hasAttr(kAssumesFiniteAttrName)) {
    references = llvm::map_to_vector(
        maxima, [&](Value max) { return math.getReference(max); });
    isLarge = hasLarge(b, references, kLargeMaximum);
  }
  SmallVector<Value> raised = nsacc::raise(
      b, elements.size(), isLarge,
      [&](size_t number) {
        auto [index, row] = elements[number];
        return b.fma(scores[index], factor, shifts[row]);
      },
      [&](size_t number) {
        auto [index, row] = elements[number];
        Value score = scores[index];
        Value scaled = isPositive() ? b.mul(score, scale) : score;
        Value distance = b.make<arith::SubFOp>(scaled, references[row]);
        return b.mul(distance, b.f32(kLog2E));
      });
  for (auto [one, prob] : llvm::zip_equal(elements, raised))
    probs[one.first] = prob;
}

void SoftmaxUpdate::writeRows(size_t first, size_t last) {
  auto batch = llvm::seq(first, last);
  SmallVector<Value> greatest;
  for (size_t row : batch)
    greatest.push_back(getGreatest(rows[row]));
  SmallVector<std::pair<int64_t, size_t>> elements;
  for (auto [row, most] : llvm::zip_equal(batch, greatest)) {
    update(row, most);
    for (int64_t index : rows[row])
      if (!matrix.isPadding(index))
        elements.emplace_back(index, row);
  }
  if (order == SoftmaxOrder::MaximaFirst)
    computeFirst(b, maxima);
  llvm::sort(elements, llvm::less_first());
  raise(elements);
  for (size_t row : batch) {
    hide(row);
    sums.push_back(addUp(row));
  }
}

void SoftmaxUpdate::write() {
  size_t together = order == SoftmaxOrder::Rows ? 1 : rows.size();
  for (size_t first = 0; first < rows.size(); first += together)
    writeRows(first, first + together);
  program.setRegisters(op.getNewMax(), std::move(maxima));
  program.setRegisters(op.getNewSum(), std::move(sums));
  program.setRegisters(op.getProbs(), std::move(probs));
  program.setRegisters(op.getDecay(), std::move(decays));
}
