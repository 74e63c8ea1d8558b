//===- Attend.cpp - nsa.attend and nsa.merge ------------------------------===//
//
// docs/spec.md, 3.3 and 3.8.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "NSA/Analysis/Rounding.h"
#include "Parallel.h"
#include "Scoring.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

namespace {

/// Data that the rows of an attend share.
struct Attention {
  Scoring scoring;
  const TensorValue *value;
  int64_t valueDepth;
  /// The values' element type, for results of eager arithmetic.
  std::optional<DType> valueType;
  /// Rounding of weights and their sums. Each attention has a different one,
  /// since programs may add them up in another order, even if two attentions
  /// see the same keys.
  Rounding sums = {};
  /// Eager arithmetic keeps 11 digits of an output, as programs that store it
  /// do. Each attention rounds differently, since programs may store some
  /// outputs only.
  Rounding toHalves = {};
  Clause normalize, sink;
};

/// Computes the output and the log-sum-exp of one query row after the other.
class AttendRow {
public:
  AttendRow(const Attention &attention, AttendResult &result,
            std::atomic<int64_t> *usefulOperations)
      : attention(attention), result(result),
        usefulOperations(usefulOperations), scorer(attention.scoring),
        normalize(attention.normalize, /*lanes=*/1),
        sink(attention.sink, /*lanes=*/1) {}

  llvm::Error run(int64_t row);

private:
  llvm::Expected<Normalizer> runSoftmax(const Position &position);
  llvm::Error runWeighted(const Position &position,
                          MutableArrayRef<double> out);
  llvm::Error runHead(const Position &position, int64_t index,
                      MutableArrayRef<double> out);
  void addValues(const Position &position, MutableArrayRef<double> out);

  const Attention &attention;
  AttendResult &result;
  std::atomic<int64_t> *usefulOperations;
  RowScorer scorer;
  ClauseRunner normalize, sink;
  std::vector<double> weights, factors;
};

} // namespace

/// The sum Σ exp x. NaN if any x is NaN; else +inf if any is.
static Normalizer addUp(ArrayRef<double> values, Rounding round) {
  Normalizer all;
  for (double x : values) {
    if (std::isnan(x))
      return {x};
    all.most = std::max(all.most, x);
  }
  if (std::isinf(all.most))
    return all;
  all.sum = 0;
  for (double x : values)
    all.sum = round(all.sum + round(std::exp(round(x - all.most))));
  return all;
}

/// Sets `weights` to exp(s_j) / (Σ exp(s_j) + exp(sink)).
llvm::Expected<Normalizer> AttendRow::runSoftmax(const Position &position) {
  ArrayRef<double> scores = scorer.getScores();
  weights.assign(scores.begin(), scores.end());
  if (!sink.isEmpty()) {
    sink.setPosition(position);
    llvm::Expected<double> logit = sink.runRow();
    if (!logit)
      return logit.takeError();
    weights.push_back(*logit);
  }
  Rounding round = attention.sums;
  Normalizer normalizer = addUp(weights, round);
  weights.resize(scores.size());
  for (double &weight : weights)
    weight = normalizer.getShare(weight, round);
  return normalizer;
}

/// o = Σ w_j v_j / normalize; 0 if no key takes part.
llvm::Error AttendRow::runWeighted(const Position &position,
                                   MutableArrayRef<double> out) {
  if (llvm::Error error = scorer.runWeight(weights))
    return error;
  addValues(position, out);
  if (normalize.isEmpty() || weights.empty())
    return llvm::Error::success();
  double sum = 0;
  for (double weight : weights)
    sum = attention.sums(sum + weight);
  normalize.setPosition(position);
  llvm::Expected<double> divisor =
      normalize.runNormalize(sum, scorer.getNumVisible());
  if (!divisor)
    return divisor.takeError();
  for (double &x : out)
    x = attention.sums(x / *divisor);
  return llvm::Error::success();
}

/// out = Σ weights_j v_j over the keys that take part.
void AttendRow::addValues(const Position &position,
                          MutableArrayRef<double> out) {
  const Scoring &scoring = attention.scoring;
  int64_t depth = attention.valueDepth;
  int64_t first = scoring.keyRows.getStart(position.b);
  int64_t head = scoring.getKeyHead(position.h);
  RowsOf values = RowsOf::from(attention.value->reals,
                               (first * scoring.keyHeads + head) * depth,
                               scoring.keyHeads * depth);
  Rounding round = attention.sums;
  if (!round) {
    addRows(weights, values, scorer.getKeys(), depth, out.data());
    return;
  }
  factors.clear();
  for (double weight : weights)
    factors.push_back(round.toOperand(weight, attention.valueType));
  addRowsRounded(factors, values, scorer.getKeys(), depth, round, out.data());
}

llvm::Error AttendRow::runHead(const Position &position, int64_t index,
                               MutableArrayRef<double> out) {
  if (!attention.scoring.weight.isEmpty())
    return runWeighted(position, out);
  llvm::Expected<Normalizer> normalizer = runSoftmax(position);
  if (!normalizer)
    return normalizer.takeError();
  addValues(position, out);
  result.lse.reals[index] = normalizer->getLse(attention.sums);
  result.normalizers[index] = *normalizer;
  return llvm::Error::success();
}

llvm::Error AttendRow::run(int64_t row) {
  const Scoring &scoring = attention.scoring;
  Position position = scoring.getPosition(row);
  for (position.h = 0; position.h < scoring.queryHeads; ++position.h) {
    if (llvm::Error error = scorer.run(row, position))
      return error;
    if (usefulOperations)
      *usefulOperations += 2 * int64_t(scorer.getKeys().size()) *
                           (scoring.depth + attention.valueDepth);
    int64_t index = row * scoring.queryHeads + position.h;
    auto out = MutableArrayRef<double>(result.output.reals)
                   .slice(index * attention.valueDepth, attention.valueDepth);
    if (llvm::Error error = runHead(position, index, out))
      return error;
    if (attention.toHalves)
      for (double &x : out)
        x = attention.toHalves.toHalfDigits(x);
  }
  return llvm::Error::success();
}

static std::optional<DType> getSmallType(Type type) {
  Type element = cast<nsa::NamedTensorType>(type).getElementType();
  if (element.isBF16())
    return DType::BF16;
  return element.isF16() ? std::optional(DType::F16) : std::nullopt;
}

/// Number of ops before it.
static uint64_t getPlace(Operation *op) {
  return std::distance(op->getBlock()->begin(), op->getIterator());
}

llvm::Expected<AttendResult>
nsacc::interpreter::evaluateAttend(nsa::AttendOp op, const Context &context) {
  llvm::Expected<Scoring> scoring = Scoring::create(op, context);
  if (!scoring)
    return scoring.takeError();
  llvm::Expected<Clause> normalize =
      Clause::compile(nsa::Clause::Normalize, op.getNormalize(), context);
  if (!normalize)
    return normalize.takeError();
  llvm::Expected<Clause> sink =
      Clause::compile(nsa::Clause::Sink, op.getSink(), context);
  if (!sink)
    return sink.takeError();

  AttendResult result;
  auto outputType = cast<nsa::NamedTensorType>(op.getOutput().getType());
  SmallVector<int64_t> shape =
      context.environment.getShape(outputType.getDims());
  result.output = TensorValue::makeReal(shape);
  result.lse = TensorValue::makeReal(ArrayRef(shape).drop_back(), absent);
  result.normalizers.resize(result.lse.reals.size());

  Attention attention{.scoring = std::move(*scoring),
                      .value = &context.getTensor(op.getValue()),
                      .valueDepth = shape.back(),
                      .valueType = getSmallType(op.getValue().getType()),
                      .normalize = std::move(*normalize),
                      .sink = std::move(*sink)};
  attention.sums = attention.scoring.rounding.of(getPlace(op));
  if (nsa::isRoundedToBF16(op))
    attention.toHalves = attention.sums.elsewhere();
  auto makeWorker = [&]() -> RowWorker {
    auto worker = std::make_shared<AttendRow>(attention, result,
                                              context.usefulOperations);
    return [worker, &context](int64_t row) {
      return context.needsRow(row) ? worker->run(row) : llvm::Error::success();
    };
  };
  if (llvm::Error error = forEachRow(attention.scoring.queryRows.getNumRows(),
                                     context.threads, makeWorker))
    return std::move(error);
  return result;
}

/// One softmax over the branches' normalizers.
static Normalizer merge(ArrayRef<Normalizer> branches, Rounding round) {
  SmallVector<double> mosts = llvm::map_to_vector(
      branches, [](const Normalizer &branch) { return branch.most; });
  Normalizer all = addUp(mosts, round);
  if (!std::isfinite(all.most))
    return all;
  all.sum = 0;
  for (const Normalizer &branch : branches)
    all.sum =
        round(all.sum + round(branch.sum *
                              round(std::exp(round(branch.most - all.most)))));
  return all;
}

/// lse = log Σ exp lse_k, o = Σ exp(lse_k - lse) o_k. A branch that sees
/// nothing and has no sink takes no part.
llvm::Expected<AttendResult>
nsacc::interpreter::evaluateMerge(nsa::MergeOp op, const Context &context) {
  SmallVector<const TensorValue *> outputs;
  for (Value output : op.getOutputs())
    outputs.push_back(&context.getTensor(output));
  AttendResult result;
  result.output = TensorValue::makeReal(outputs.front()->shape);
  result.lse =
      TensorValue::makeReal(context.getTensor(op.getLses().front()).shape);
  int64_t depth = result.output.shape.back();
  // A merge with only one branch that takes part equals that branch, but it is
  // other code, which rounds differently.
  Rounding round = context.rounding.elsewhere();
  for (size_t row = 0, e = result.lse.reals.size(); row != e; ++row) {
    SmallVector<Normalizer> branches =
        llvm::map_to_vector(op.getLses(), [&](Value lse) {
          return context.getNormalizer(lse, row);
        });
    Normalizer all = merge(branches, round);
    result.lse.reals[row] = all.getLse(round);
    result.normalizers.push_back(all);
    double *out = result.output.reals.data() + row * depth;
    for (auto [branch, output] : llvm::zip_equal(branches, outputs)) {
      if (branch.most == absent)
        continue;
      double weight = round(branch.sum * all.getShare(branch.most, round));
      for (int64_t d = 0; d < depth; ++d)
        out[d] = round(out[d] + round(weight * output->reals[row * depth + d]));
    }
  }
  return result;
}
