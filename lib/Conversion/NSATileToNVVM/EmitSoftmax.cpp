//===- EmitSoftmax.cpp - The streaming softmax in registers ---------------===//

#include "KernelEmitter.h"
#include "NSATile/IR/NSATileHints.h"
#include "PTXBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/Sequence.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147182f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

namespace {

/// Writes the softmax of a program's rows.
class SoftmaxWriter {
public:
  SoftmaxWriter(KernelEmitter &emitter, bool assumesFinite,
                bool seesAll = false)
      : e(emitter), assumesFinite(assumesFinite), seesAll(seesAll) {}

  Value exp2(Value x) {
    return e.call("llvm.nvvm.ex2.approx.ftz", e.builder.getF32Type(), x);
  }
  Value isEqual(Value x, float value) {
    return e.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, e.f32(value));
  }
  /// What an exponent is taken relative to: 0 for a maximum that is infinite.
  /// Where only -inf is to be right, a bound that no finite score of use is
  /// below does it, too, and takes one instruction.
  Value getReference(Value max) {
    constexpr float least = -0x1p126f;
    if (assumesFinite && seesAll)
      return max;
    if (assumesFinite)
      return e.combine(ReduceKind::Max, max, e.f32(least), true);
    Value size = e.make<LLVM::FAbsOp>(max);
    return e.select(isEqual(size, kInfinity), e.f32(0), max);
  }
  /// exp(old - max), and 1 where the maximum is infinite. `shift` is what the
  /// exponents of base 2 of this step's scores get.
  Value getDecay(Value old, Value max, Value shift) {
    if (assumesFinite)
      return exp2(e.fma(old, e.f32(kLog2E), shift));
    Value distance = e.make<arith::SubFOp>(old, getReference(max));
    Value decay = exp2(e.mul(distance, e.f32(kLog2E)));
    Value isInfinite = isEqual(e.make<LLVM::FAbsOp>(max), kInfinity);
    return e.select(isInfinite, e.f32(1), decay);
  }

private:
  KernelEmitter &e;
  bool assumesFinite;
  /// No score is that of a hidden key, so that a maximum of finite scores is
  /// finite.
  bool seesAll;
};

/// Registers of a matrix by the register of their row.
SmallVector<SmallVector<int64_t>> groupByRow(const TileLayout &matrix,
                                             const TileLayout &rows) {
  SmallVector<SmallVector<int64_t>> groups(rows.getNumRegisters());
  for (int64_t index = 0; index < matrix.getNumRegisters(); ++index)
    for (int64_t row = 0; row < rows.getNumRegisters(); ++row)
      if (matrix.getCoordinates(index)[0] == rows.getCoordinates(row)[0])
        groups[row].push_back(index);
  return groups;
}

} // namespace

static bool isProduct(Value tile) {
  return isa_and_present<DotOp, DotWaitOp>(tile.getDefiningOp());
}

static bool isMma(Value tile) {
  return isa_and_present<MmaLayoutAttr>(getTile(tile).getEncoding());
}

/// Lets ptxas compute `values` in front of what comes next: it doesn't move
/// them over a branch that depends on them. What that leads to is never run: no
/// sum of theirs is the greatest number.
static void computeFirst(KernelEmitter &e, ArrayRef<Value> values) {
  Value sum = e.combineAll(ReduceKind::Sum, values);
  Value isGreatest = e.make<arith::CmpFOp>(
      arith::CmpFPredicate::OEQ, sum, e.f32(std::numeric_limits<float>::max()));
  e.when(e.holdsForLanes(isGreatest), [&] {
    PTXBuilder(e.builder, e.loc).assemble("nanosleep.u32 64;", {}, {});
  });
}

LogicalResult KernelEmitter::emitSoftmaxUpdate(SoftmaxUpdateOp op) {
  if (!isMma(op.getScores()))
    return reject(op);
  bool assumesFinite = op->hasAttr(kAssumesFiniteAttrName);
  SoftmaxWriter writer(*this, assumesFinite, isProduct(op.getScores()));
  const TileLayout &matrix = getLayout(getTile(op.getScores()));
  const TileLayout &rows = getLayout(getTile(op.getMax()));
  ArrayRef<Value> scores = getRegisters(op.getScores());
  bool isPartial = isa<PartialLayoutAttr>(getTile(op.getSum()).getEncoding());
  FloatAttr constant;
  bool isPositive = matchPattern(op.getScale(), m_Constant(&constant)) &&
                    constant.getValueAsDouble() > 0;
  Value scale = lookup(op.getScale()), least = f32(-kInfinity);
  // A positive factor can wait: the greatest stays the greatest.
  Value factor = isPositive ? f32(constant.getValueAsDouble() * double(kLog2E))
                            : f32(kLog2E);

  SmallVector<SmallVector<int64_t>> groups = groupByRow(matrix, rows);
  SmallVector<Value> xs(scores), maxima, sums, decays,
      probs(matrix.getNumRegisters(), f32(0));
  auto getGreatest = [&](ArrayRef<int64_t> members) {
    SmallVector<Value> candidates;
    for (int64_t index : members) {
      if (matrix.isPadding(index))
        continue;
      if (!isPositive)
        xs[index] = mul(xs[index], scale);
      // Only padding of columns matters to a row.
      xs[index] = select(getInside(matrix, index), xs[index], least);
      candidates.push_back(xs[index]);
    }
    return combineAll(ReduceKind::Max, candidates, true);
  };
  // A chain that begins with the decay makes ptxas compute it before the other
  // exponentials, and fill the time they take with what it scales: three
  // warpgroups are 2 % faster, two 1 % slower (H200).
  constexpr int64_t twoGroups = 8;
  auto mma = cast<MmaLayoutAttr>(getTile(op.getScores()).getEncoding());
  bool isCrowded = assumesFinite && mma.getWarps() > twoGroups;
  // Two have registers for the maxima of many keys while the product before is
  // still under way: 1 to 3 % (D 128, H200). Three are up to 3 % slower.
  constexpr int64_t manyKeys = 128;
  bool hasRoom = assumesFinite && hasRoles && mma.getWarps() == twoGroups &&
                 getTile(op.getScores()).getDimSize(1) >= manyKeys;
  auto addUp = [&](size_t row) {
    SmallVector<Value> parts;
    for (int64_t index : groups[row])
      if (!matrix.isPadding(index))
        parts.push_back(probs[index]);
    Value old = getRegisters(op.getSum())[row];
    bool beginsWithOld = isPartial && isCrowded && !parts.empty();
    if (beginsWithOld)
      parts.front() = fma(old, decays[row], parts.front());
    Value sum = combineAll(ReduceKind::Sum, parts);
    if (!isPartial)
      sum = combineRow(ReduceKind::Sum, sum);
    return beginsWithOld ? sum : fma(old, decays[row], sum);
  };
  // Rows that take turns don't wait for their own chains; one after the other,
  // they need fewer registers.
  size_t together = assumesFinite ? groups.size() : 1;
  for (size_t first = 0; first < groups.size(); first += together) {
    auto batch = llvm::seq(first, first + together);
    SmallVector<Value> greatest;
    for (size_t row : batch)
      greatest.push_back(getGreatest(groups[row]));
    SmallVector<std::pair<int64_t, Value>> exponents;
    for (auto [row, most] : llvm::zip_equal(batch, greatest)) {
      Value old = getRegisters(op.getMax())[row];
      Value max = combineRow(ReduceKind::Max, most, true);
      if (isPositive)
        max = mul(max, scale);
      max = combine(ReduceKind::Max, old, max, true);
      Value shift =
          make<arith::NegFOp>(mul(writer.getReference(max), f32(kLog2E)));
      decays.push_back(writer.getDecay(old, max, shift));
      maxima.push_back(max);
      for (int64_t index : groups[row])
        if (!matrix.isPadding(index))
          exponents.emplace_back(index, shift);
    }
    if (hasRoom)
      computeFirst(*this, maxima);
    llvm::sort(exponents, llvm::less_first());
    for (auto [index, shift] : exponents)
      probs[index] = writer.exp2(fma(xs[index], factor, shift));
    for (size_t row : batch)
      sums.push_back(addUp(row));
  }
  setRegisters(op.getNewMax(), std::move(maxima));
  setRegisters(op.getNewSum(), std::move(sums));
  setRegisters(op.getProbs(), std::move(probs));
  setRegisters(op.getDecay(), std::move(decays));
  return success();
}

LogicalResult KernelEmitter::emitSoftmaxFinalize(SoftmaxFinalizeOp op) {
  if (!isMma(op.getAcc()))
    return reject(op);
  bool assumesFinite = op->hasAttr(kAssumesFiniteAttrName);
  SoftmaxWriter writer(*this, assumesFinite);
  const TileLayout &matrix = getLayout(getTile(op.getAcc()));
  const TileLayout &rows = getLayout(getTile(op.getMax()));
  bool isPartial = isa<PartialLayoutAttr>(getTile(op.getSum()).getEncoding());
  SmallVector<Value> lses, outputs(matrix.getNumRegisters(), f32(0));
  for (auto [row, members] : llvm::enumerate(groupByRow(matrix, rows))) {
    Value sum = getRegisters(op.getSum())[row];
    if (isPartial)
      sum = combineRow(ReduceKind::Sum, sum);
    Value isEmpty = writer.isEqual(sum, 0);
    // The greatest score's own probability is 1, so a sum isn't below that.
    Value inverse =
        multipliesIn16Bits
            ? call("llvm.nvvm.rcp.approx.ftz.f", builder.getF32Type(), sum)
            : Value(make<arith::DivFOp>(f32(1), sum));
    if (assumesFinite)
      inverse = select(isEmpty, f32(0), inverse);
    for (int64_t index : members) {
      Value output = mul(getRegisters(op.getAcc())[index], inverse);
      outputs[index] = assumesFinite ? output : select(isEmpty, f32(0), output);
    }
    Value log = call("llvm.nvvm.lg2.approx.ftz.f", builder.getF32Type(), sum);
    Value lse = fma(log, f32(kLn2), getRegisters(op.getMax())[row]);
    lses.push_back(select(isEmpty, f32(-kInfinity), lse));
  }
  setRegisters(op.getOutput(), std::move(outputs));
  setRegisters(op.getLse(), std::move(lses));
  return success();
}
