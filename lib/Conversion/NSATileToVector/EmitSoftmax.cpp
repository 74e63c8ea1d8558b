//===- EmitSoftmax.cpp - The streaming softmax ----------------------------===//

#include "Reducer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// One row of a softmax_update.
class SoftmaxRow {
public:
  SoftmaxRow(TileEmitter &emitter, SoftmaxUpdateOp op, Value row, Value probs,
             Type rounded)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        op(op), row(row), probs(probs), rounded(rounded),
        columns(cast<RankedTensorType>(op.getScores().getType()).getDimSize(1)),
        max(emitter, Reducer::Kind::MaxIgnoringNaN),
        sum(emitter, Reducer::Kind::Sum) {}

  /// The greatest of the old maximum and the scaled scores. It ignores a NaN
  /// score: the score's probability is NaN and reaches the sum.
  Value emitMax() {
    Value old = VectorReader(emitter, row, 1).read(op.getMax());
    return max.combine(
        old, fold(max, [&](Value column, int64_t width) {
          Value scores =
              VectorReader(emitter, {row, column}, width).read(op.getScores());
          Value scale = emitter.splat(emitter.lookup(op.getScale()), width);
          scores = arith::MulFOp::create(builder, loc, scores, scale);
          keep(scores, column);
          return scores;
        }));
  }

  /// Stores exp(scores - max) and returns their sum.
  Value emitProbs(Value newMax) {
    next = 0;
    return fold(sum, [&](Value column, int64_t width) {
      Value shifted = arith::SubFOp::create(builder, loc, recall(column, width),
                                            emitter.splat(newMax, width));
      Value prob = math::ExpOp::create(builder, loc, shifted);
      emitter.storeVector(round(prob), probs, {row, column});
      return prob;
    });
  }

private:
  static constexpr int64_t maxKept = 16;
  bool isKept() const { return columns <= maxKept * emitter.getLanes(); }

  /// Keeps scaled scores between the two steps, in registers if they fit.
  void keep(Value scores, Value column) {
    if (isKept())
      kept.push_back(scores);
    else
      emitter.storeVector(scores, probs, {row, column});
  }
  Value recall(Value column, int64_t width) {
    return isKept() ? kept[next++]
                    : emitter.loadVector(probs, {row, column}, width);
  }

  /// Converts probabilities as their reader does.
  Value round(Value prob) {
    if (!rounded)
      return prob;
    Type type = prob.getType();
    Type narrow = rounded;
    if (auto vector = dyn_cast<VectorType>(type))
      narrow = vector.clone(rounded);
    prob = arith::TruncFOp::create(builder, loc, narrow, prob);
    return arith::ExtFOp::create(builder, loc, type, prob);
  }

  Value fold(Reducer &reducer,
             llvm::function_ref<Value(Value, int64_t)> vectorAt) {
    int64_t lanes = emitter.getLanes(), whole = columns / lanes;
    Value result;
    auto include = [&](Value vector, Value into) {
      return into ? reducer.combine(vector, into) : vector;
    };
    if (isKept()) {
      Value vectors;
      for (int64_t i = 0; i < whole; ++i)
        vectors =
            include(vectorAt(emitter.constant(i * lanes), lanes), vectors);
      if (vectors)
        result = reducer.reduce(vectors);
    } else {
      auto loop = scf::ForOp::create(
          builder, loc, emitter.constant(0), emitter.constant(whole * lanes),
          emitter.constant(lanes), reducer.getNeutral(lanes));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(loop.getBody());
      Value vector = vectorAt(loop.getInductionVar(), lanes);
      Value vectors = reducer.combine(vector, loop.getRegionIterArg(0));
      scf::YieldOp::create(builder, loc, vectors);
      builder.setInsertionPointAfter(loop);
      result = reducer.reduce(loop.getResult(0));
    }
    for (auto [column, width] : emitter.splitRest(columns)) {
      Value vector = vectorAt(emitter.constant(column), width);
      result = include(ignoreNaN(reducer, vector, width), result);
    }
    return result;
  }

  /// Reduces a vector. Without a whole vector before it, a rest may still hold
  /// a NaN.
  Value ignoreNaN(Reducer &reducer, Value vector, int64_t width) {
    return reducer.reduce(reducer.combine(vector, reducer.getNeutral(width)));
  }

  TileEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  SoftmaxUpdateOp op;
  Value row, probs;
  Type rounded;
  int64_t columns;
  Reducer max, sum;
  SmallVector<Value> kept;
  size_t next = 0;
};

} // namespace

/// The conversion that all readers of a tile share; null if there is none.
static arith::TruncFOp findRounding(Value probs) {
  if (!probs.hasOneUse())
    return {};
  return dyn_cast<arith::TruncFOp>(*probs.user_begin());
}

void TileEmitter::emitSoftmaxUpdate(SoftmaxUpdateOp op) {
  int64_t rows = cast<RankedTensorType>(op.getMax().getType()).getDimSize(0);
  Value newMax = allocateResult(op.getNewMax());
  Value newSum = allocateResult(op.getNewSum());
  Value probs = allocateResult(op.getProbs());
  Value decay = allocateResult(op.getDecay());
  Type rounded;
  if (arith::TruncFOp truncate = findRounding(op.getProbs())) {
    // Rounding twice changes nothing, so the memory serves both tiles.
    rounded = cast<RankedTensorType>(truncate.getType()).getElementType();
    packedMemory[truncate.getResult()] = probs;
  }

  auto real = [&](float value, int64_t width) {
    return splatConstant(builder.getF32FloatAttr(value), width);
  };
  auto equals = [&](Value value, float other, int64_t width) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, value,
                                 real(other, width));
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  };
  // exp(-inf - 0) is 0 and exp(inf - 0) infinite; inf - inf would be NaN.
  auto finite = [&](Value max, int64_t width) {
    Value infinite =
        equals(math::AbsFOp::create(builder, loc, max), kInfinity, width);
    return select(infinite, real(0.0f, width), max);
  };

  Value rowEnd = getRowEnd(op.getResults());
  forEach(constant(0), rowEnd ? rowEnd : constant(rows), 1, [&](Value index) {
    SoftmaxRow row(*this, op, index, probs, rounded);
    Value max = row.emitMax();
    storeVector(max, newMax, index);
    storeVector(row.emitProbs(finite(max, 1)), newSum, index);
  });
  forEachVectorOfRow(rows, [&](Value row, int64_t width) {
    VectorReader reader(*this, row, width);
    Value max = loadVector(newMax, row, width);
    Value old = reader.read(op.getMax());
    Value shifted = arith::SubFOp::create(builder, loc, old, max);
    // Infinities can be equal, too: inf - inf would be NaN.
    Value same = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                       old, max);
    Value factor = select(same, real(1.0f, width),
                          math::ExpOp::create(builder, loc, shifted));
    storeVector(factor, decay, row);
    Value kept =
        arith::MulFOp::create(builder, loc, reader.read(op.getSum()), factor);
    Value added = loadVector(newSum, row, width);
    storeVector(arith::AddFOp::create(builder, loc, kept, added), newSum, row);
  });
}

void TileEmitter::emitSoftmaxFinalize(SoftmaxFinalizeOp op) {
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  Value output = allocateResult(op.getOutput());
  Value lse = allocateResult(op.getLse());
  auto real = [&](float value, int64_t width) {
    return splatConstant(builder.getF32FloatAttr(value), width);
  };
  auto isZero = [&](Value sum, int64_t width) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum,
                                 real(0.0f, width));
  };
  Value rowEnd = getRowEnd(op.getOutput());
  if (!rowEnd)
    rowEnd = constant(type.getDimSize(0));
  forEach(constant(0), rowEnd, 1, [&](Value row) {
    Value sum = VectorReader(*this, row, 1).read(op.getSum());
    Value empty = isZero(sum, 1);
    Value inverse = arith::DivFOp::create(builder, loc, real(1.0f, 1), sum);
    forEachVectorOfRow(type.getDimSize(1), [&](Value column, int64_t width) {
      Value acc = VectorReader(*this, {row, column}, width).read(op.getAcc());
      Value scaled =
          arith::MulFOp::create(builder, loc, acc, splat(inverse, width));
      // An output next to a sink of +inf is 0 with either sign: this drops the
      // sign.
      scaled = arith::AddFOp::create(builder, loc, scaled, real(0.0f, width));
      Value value = arith::SelectOp::create(builder, loc, empty,
                                            real(0.0f, width), scaled);
      storeVector(value, output, {row, column});
    });
  });
  forEachVectorOfRow(type.getDimSize(0), [&](Value row, int64_t width) {
    VectorReader reader(*this, row, width);
    Value sum = reader.read(op.getSum());
    Value log = math::LogOp::create(builder, loc, sum);
    Value value =
        arith::AddFOp::create(builder, loc, reader.read(op.getMax()), log);
    storeVector(arith::SelectOp::create(builder, loc, isZero(sum, width),
                                        real(-kInfinity, width), value),
                lse, row);
  });
}
