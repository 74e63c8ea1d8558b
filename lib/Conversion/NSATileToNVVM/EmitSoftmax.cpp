//===- EmitSoftmax.cpp - The streaming softmax in registers ---------------===//

#include "InlinePTX.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/NSATileHints.h"
#include "Reductions.h"
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
  SoftmaxWriter(CodeBuilder &b, bool assumesFinite, bool seesAll = false)
      : b(b), assumesFinite(assumesFinite), seesAll(seesAll) {}

  Value exp2(Value x) { return ptx::exp2(b, x); }
  Value isEqual(Value x, float value) {
    return b.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, b.f32(value));
  }
  /// What an exponent is taken relative to: 0 for a maximum that is infinite.
  /// Where only -inf is to be right, a bound that no finite score of use is
  /// below does it, too, and takes one instruction.
  Value getReference(Value max) {
    constexpr float least = -0x1p126f;
    if (assumesFinite && seesAll)
      return max;
    if (assumesFinite)
      return combine(b, ReduceKind::Max, max, b.f32(least), true);
    Value size = b.make<LLVM::FAbsOp>(max);
    return b.select(isEqual(size, kInfinity), b.f32(0), max);
  }
  /// exp(old - max), and 1 where the maximum is infinite. `shift` is what the
  /// exponents of base 2 of this step's scores get.
  Value getDecay(Value old, Value max, Value shift) {
    if (assumesFinite)
      return exp2(b.fma(old, b.f32(kLog2E), shift));
    Value distance = b.make<arith::SubFOp>(old, getReference(max));
    Value decay = exp2(b.mul(distance, b.f32(kLog2E)));
    Value isInfinite = isEqual(b.make<LLVM::FAbsOp>(max), kInfinity);
    return b.select(isInfinite, b.f32(1), decay);
  }

private:
  CodeBuilder &b;
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
static void computeFirst(CodeBuilder &b, ArrayRef<Value> values) {
  Value sum = combineAll(b, ReduceKind::Sum, values);
  Value isGreatest = b.make<arith::CmpFOp>(
      arith::CmpFPredicate::OEQ, sum, b.f32(std::numeric_limits<float>::max()));
  b.when(nvvm::anyLane(b, isGreatest), [&] { nvvm::sleep(b, 64); });
}

namespace {

class SoftmaxEmitter {
public:
  explicit SoftmaxEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        facts(kernel.facts) {}

  LogicalResult emitUpdate(SoftmaxUpdateOp op);
  LogicalResult emitFinalize(SoftmaxFinalizeOp op);

private:
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  const KernelFacts &facts;
};

} // namespace

LogicalResult SoftmaxEmitter::emitUpdate(SoftmaxUpdateOp op) {
  if (!isMma(op.getScores()))
    return reject(op);
  bool assumesFinite = op->hasAttr(kAssumesFiniteAttrName);
  SoftmaxWriter writer(b, assumesFinite, isProduct(op.getScores()));
  const TileLayout &matrix = program.getLayout(getTile(op.getScores()));
  const TileLayout &rows = program.getLayout(getTile(op.getMax()));
  ArrayRef<Value> scores = program.getRegisters(op.getScores());
  bool isPartial = isa<PartialLayoutAttr>(getTile(op.getSum()).getEncoding());
  FloatAttr constant;
  bool isPositive = matchPattern(op.getScale(), m_Constant(&constant)) &&
                    constant.getValueAsDouble() > 0;
  Value scale = program.lookup(op.getScale()), least = b.f32(-kInfinity);
  // A positive factor can wait: the greatest stays the greatest.
  Value factor = isPositive
                     ? b.f32(constant.getValueAsDouble() * double(kLog2E))
                     : b.f32(kLog2E);

  SmallVector<SmallVector<int64_t>> groups = groupByRow(matrix, rows);
  SmallVector<Value> xs(scores), maxima, sums, decays,
      probs(matrix.getNumRegisters(), b.f32(0));
  auto getGreatest = [&](ArrayRef<int64_t> members) {
    SmallVector<Value> candidates;
    for (int64_t index : members) {
      if (matrix.isPadding(index))
        continue;
      if (!isPositive)
        xs[index] = b.mul(xs[index], scale);
      // Only padding of columns matters to a row.
      xs[index] = b.select(threads.getInside(matrix, index), xs[index], least);
      candidates.push_back(xs[index]);
    }
    return combineAll(b, ReduceKind::Max, candidates, true);
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
  bool hasRoom = assumesFinite && facts.hasRoles &&
                 mma.getWarps() == twoGroups &&
                 getTile(op.getScores()).getDimSize(1) >= manyKeys;
  auto addUp = [&](size_t row) {
    SmallVector<Value> parts;
    for (int64_t index : groups[row])
      if (!matrix.isPadding(index))
        parts.push_back(probs[index]);
    Value old = program.getRegisters(op.getSum())[row];
    bool beginsWithOld = isPartial && isCrowded && !parts.empty();
    if (beginsWithOld)
      parts.front() = b.fma(old, decays[row], parts.front());
    Value sum = combineAll(b, ReduceKind::Sum, parts);
    if (!isPartial)
      sum = combineRow(b, ReduceKind::Sum, sum);
    return beginsWithOld ? sum : b.fma(old, decays[row], sum);
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
      Value old = program.getRegisters(op.getMax())[row];
      Value max = combineRow(b, ReduceKind::Max, most, true);
      if (isPositive)
        max = b.mul(max, scale);
      max = combine(b, ReduceKind::Max, old, max, true);
      Value shift =
          b.make<arith::NegFOp>(b.mul(writer.getReference(max), b.f32(kLog2E)));
      decays.push_back(writer.getDecay(old, max, shift));
      maxima.push_back(max);
      for (int64_t index : groups[row])
        if (!matrix.isPadding(index))
          exponents.emplace_back(index, shift);
    }
    if (hasRoom)
      computeFirst(b, maxima);
    llvm::sort(exponents, llvm::less_first());
    for (auto [index, shift] : exponents)
      probs[index] = writer.exp2(b.fma(xs[index], factor, shift));
    for (size_t row : batch)
      sums.push_back(addUp(row));
  }
  program.setRegisters(op.getNewMax(), std::move(maxima));
  program.setRegisters(op.getNewSum(), std::move(sums));
  program.setRegisters(op.getProbs(), std::move(probs));
  program.setRegisters(op.getDecay(), std::move(decays));
  return success();
}

LogicalResult SoftmaxEmitter::emitFinalize(SoftmaxFinalizeOp op) {
  if (!isMma(op.getAcc()))
    return reject(op);
  bool assumesFinite = op->hasAttr(kAssumesFiniteAttrName);
  SoftmaxWriter writer(b, assumesFinite);
  const TileLayout &matrix = program.getLayout(getTile(op.getAcc()));
  const TileLayout &rows = program.getLayout(getTile(op.getMax()));
  bool isPartial = isa<PartialLayoutAttr>(getTile(op.getSum()).getEncoding());
  SmallVector<Value> lses, outputs(matrix.getNumRegisters(), b.f32(0));
  for (auto [row, members] : llvm::enumerate(groupByRow(matrix, rows))) {
    Value sum = program.getRegisters(op.getSum())[row];
    if (isPartial)
      sum = combineRow(b, ReduceKind::Sum, sum);
    Value isEmpty = writer.isEqual(sum, 0);
    // The greatest score's own probability is 1, so a sum isn't below that.
    Value inverse = facts.multipliesIn16Bits
                        ? nvvm::reciprocal(b, sum)
                        : Value(b.make<arith::DivFOp>(b.f32(1), sum));
    if (assumesFinite)
      inverse = b.select(isEmpty, b.f32(0), inverse);
    for (int64_t index : members) {
      Value output = b.mul(program.getRegisters(op.getAcc())[index], inverse);
      outputs[index] =
          assumesFinite ? output : b.select(isEmpty, b.f32(0), output);
    }
    Value log = ptx::log2(b, sum);
    Value lse = b.fma(log, b.f32(kLn2), program.getRegisters(op.getMax())[row]);
    lses.push_back(b.select(isEmpty, b.f32(-kInfinity), lse));
  }
  program.setRegisters(op.getOutput(), std::move(outputs));
  program.setRegisters(op.getLse(), std::move(lses));
  return success();
}

void nsacc::addSoftmax(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<SoftmaxEmitter>(kernel),
              &SoftmaxEmitter::emitUpdate, &SoftmaxEmitter::emitFinalize);
}
