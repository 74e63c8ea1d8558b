//===- EmitSoftmax.cpp - The streaming softmax in registers ---------------===//

#include "InlinePTX.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/NSATileHints.h"
#include "Reductions.h"
#include "SoftmaxUpdate.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Writes steps and ends of rows' softmaxes.
class SoftmaxEmitter {
public:
  explicit SoftmaxEmitter(Kernel &kernel)
      : kernel(kernel), b(kernel.b), program(kernel.program) {}

  LogicalResult emitUpdate(SoftmaxUpdateOp op);
  LogicalResult emitFinalize(SoftmaxFinalizeOp op);
  LogicalResult emitWeights(SoftmaxWeightsOp op);

private:
  Value invert(Value sum);

  Kernel &kernel;
  CodeBuilder &b;
  ProgramValues &program;
};

} // namespace

static bool isMma(Value tile) {
  return isa_and_present<MmaLayoutAttr>(getTile(tile).getEncoding());
}

LogicalResult SoftmaxEmitter::emitUpdate(SoftmaxUpdateOp op) {
  if (!isMma(op.getScores()))
    return reject(op);
  SoftmaxUpdate(kernel, op).write();
  return success();
}

/// The reciprocal of a sum. The greatest score's probability is 1, so a sum
/// isn't below 1.
Value SoftmaxEmitter::invert(Value sum) {
  return kernel.facts.multipliesIn16Bits ? nvvm::reciprocal(b, sum)
                                         : b.make<arith::DivFOp>(b.f32(1), sum);
}

LogicalResult SoftmaxEmitter::emitFinalize(SoftmaxFinalizeOp op) {
  const TileLayout &matrix = program.getLayout(getTile(op.getAcc()));
  const TileLayout &rows = program.getLayout(getTile(op.getMax()));
  auto groups = groupByRow(matrix, rows);
  int64_t numGrouped = 0;
  for (const SmallVector<int64_t> &members : groups)
    numGrouped += members.size();
  if (numGrouped != matrix.getNumRegisters())
    return reject(op);
  bool assumesFinite = op->hasAttr(kAssumesFiniteAttrName);
  SoftmaxMath math(b, assumesFinite, /*seesAll=*/false);
  bool isPartial = isa<PartialLayoutAttr>(getTile(op.getSum()).getEncoding());
  SmallVector<Value> lses, outputs(matrix.getNumRegisters(), b.f32(0));
  for (auto [row, members] : llvm::enumerate(groups)) {
    Value sum = program.getRegisters(op.getSum())[row];
    if (isPartial)
      sum = combineRow(b, ReduceKind::Sum, sum);
    Value isEmpty = math.isEqual(sum, 0);
    Value inverse = invert(sum);
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

/// Writes a power of 2 with an exponent that is one fused product if the
/// log-sum-exps are small enough: the error is 2^-12 at most. The products of
/// score and log-sum-exp with log2(e) are rounded separately. Few rows have
/// larger log-sum-exps; a warp checks this before each tile.
LogicalResult SoftmaxEmitter::emitWeights(SoftmaxWeightsOp op) {
  constexpr float large = 1024;
  if (!op.getApproximate())
    return reject(op);
  const TileLayout &layout = program.getLayout(getTile(op.getWeights()));
  ArrayRef<Value> scores = program.getRegisters(op.getScores());
  ArrayRef<Value> lses = program.getRegisters(op.getLse());
  ArrayRef<Value> rests = program.getRegisters(op.getRest());
  Value scale = program.lookup(op.getScale());
  Value factor = b.mul(scale, b.f32(kLog2E));
  SmallVector<int64_t> elements;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index)
    if (!layout.isPadding(index))
      elements.push_back(index);
  SmallVector<Value> references =
      llvm::map_to_vector(elements, [&](int64_t index) { return lses[index]; });
  auto scaleRest = [&](int64_t index) {
    return b.mul(rests[index], b.f32(-kLog2E));
  };
  SmallVector<Value> raised = raise(
      b, elements.size(), hasLarge(b, references, large),
      [&](size_t number) {
        int64_t index = elements[number];
        Value offset =
            b.add(b.mul(lses[index], b.f32(-kLog2E)), scaleRest(index));
        return b.fma(scores[index], factor, offset);
      },
      [&](size_t number) {
        int64_t index = elements[number];
        Value distance =
            b.make<arith::SubFOp>(b.mul(scores[index], scale), lses[index]);
        return b.fma(distance, b.f32(kLog2E), scaleRest(index));
      });
  SmallVector<Value> weights(layout.getNumRegisters(), b.f32(0));
  for (auto [index, weight] : llvm::zip_equal(elements, raised))
    weights[index] = weight;
  program.setRegisters(op.getWeights(), std::move(weights));
  return success();
}

void nsacc::addSoftmax(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<SoftmaxEmitter>(kernel),
              &SoftmaxEmitter::emitUpdate, &SoftmaxEmitter::emitFinalize,
              &SoftmaxEmitter::emitWeights);
}
