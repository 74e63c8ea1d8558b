//===- NSAVerifyAttention.cpp - Checks of attention ops -------------------===//

#include "NSA/IR/NSAVerify.h"

using namespace mlir;
using namespace nsacc::nsa;

static Type getF32(Operation *op) { return Float32Type::get(op->getContext()); }

static LogicalResult verifyFeatures(Operation *op, StringRef what,
                                    Attribute dim) {
  auto size = dyn_cast<IntegerAttr>(dim);
  if (!size || size.getInt() >= 1)
    return success();
  return op->emitOpError("expected ")
         << what << " to have at least 1 feature, found " << size.getInt();
}

/// Checks that the query's heads are a multiple of the key's. Named sizes are
/// checked when a call binds them (lib/Tensor/Signature.cpp).
static LogicalResult verifyHeads(Operation *op, const SequenceDims &query,
                                 const SequenceDims &key) {
  auto queryHeads = dyn_cast<IntegerAttr>(query.heads);
  auto keyHeads = dyn_cast<IntegerAttr>(key.heads);
  if (!queryHeads || !keyHeads)
    return success();
  if (keyHeads.getInt() > 0 && queryHeads.getInt() % keyHeads.getInt() == 0)
    return success();
  return op->emitOpError("expected the query's heads to be a multiple of the "
                         "key's, found ")
         << queryHeads.getInt() << " and " << keyHeads.getInt();
}

static LogicalResult verifySameBatch(Operation *op, StringRef what,
                                     const SequenceDims &found,
                                     const SequenceDims &query) {
  if (found.isRagged() != query.isRagged())
    return op->emitOpError("expected ")
           << what << " to be " << (query.isRagged() ? "ragged" : "dense")
           << " like the query, found it "
           << (query.isRagged() ? "dense" : "ragged");
  if (query.isRagged())
    return success();
  return expectDim(op, (what + "'s batch").str(), found.batch, query.batch,
                   "all of q, k and v have the query's batch");
}

static LogicalResult verifyQuery(Operation *op, const SequenceDims &query) {
  if (isa<PooledDimAttr>(query.tokens))
    return op->emitOpError("expected queries of tokens, found pooled ones (")
           << toString(query.tokens) << "); attend with the unpooled query";
  return verifyFeatures(op, "the query", query.features);
}

static LogicalResult verifyKey(Operation *op, const SequenceDims &query,
                               const SequenceDims &key) {
  if (failed(verifySameBatch(op, "the key", key, query)) ||
      failed(expectDim(op, "the key's features", key.features, query.features,
                       "a score is the product of as many features")))
    return failure();
  return verifyHeads(op, query, key);
}

static LogicalResult verifySelection(Operation *op, const SequenceDims &query,
                                     const SequenceDims &key, Value selected) {
  auto selection = cast<SelectionType>(selected.getType());
  if (isa<PooledDimAttr>(key.tokens))
    return op->emitOpError("expected unpooled keys under a selection of blocks "
                           "of ")
           << selection.getBlock() << " tokens, found keys over blocks of "
           << "another size, '" << toString(key.tokens)
           << "'; attend to the keys that were pooled";
  StringRef tokens = getTokenDim(key.tokens);
  if (selection.getOf() != tokens)
    return op->emitOpError("expected a selection of blocks of the key's tokens "
                           "'")
           << toString(key.tokens) << "', found one of '"
           << selection.getOf().getValue() << "'";
  SequenceDims rows = query;
  if (selection.getTokens() > 1 || isHandedIn(selected)) {
    // At run time it is checked that there are as many as the queries' tokens
    // need.
    rows.tokens = selection.getRowDim();
    if (rows.tokens == query.tokens &&
        (selection.getTokens() > 1 || hasRowsOfOffsets(selected)))
      return op->emitOpError("expected a selection with a dimension of its own "
                             "for groups of ")
             << selection.getTokens() << " tokens, found the query's tokens '"
             << toString(query.tokens) << "'";
  }
  SmallVector<Attribute> perKeyHead = getRowDims(rows, key.heads);
  SmallVector<Attribute> perQueryHead = getRowDims(rows, query.heads);
  SmallVector<Attribute> forAllHeads =
      getRowDims(rows, Builder(op->getContext()).getI64IntegerAttr(1));
  if (selection.getDims() == ArrayRef(perKeyHead) ||
      selection.getDims() == ArrayRef(perQueryHead) ||
      selection.getDims() == ArrayRef(forAllHeads))
    return success();
  return op->emitOpError("expected a selection for each query and key head, ")
         << toString(perKeyHead) << ", or query head, "
         << toString(perQueryHead) << ", or one for all heads, "
         << toString(forAllHeads) << ", found "
         << toString(selection.getDims());
}

namespace {
struct Scoring {
  SequenceDims query, key;
};
} // namespace

/// Checks that attend and importance share: queries, keys and a selection.
static FailureOr<Scoring> verifyScoring(ScoringOpInterface op) {
  auto queryType = cast<NamedTensorType>(op.getQuery().getType());
  auto keyType = cast<NamedTensorType>(op.getKey().getType());
  if (failed(expectReals(op, "the query", queryType)) ||
      failed(expectReals(op, "the key", keyType)))
    return failure();
  FailureOr<SequenceDims> query = getSequenceDims(op, "the query", queryType);
  if (failed(query))
    return failure();
  FailureOr<SequenceDims> key = getSequenceDims(op, "the key", keyType);
  if (failed(key) || failed(verifyQuery(op, *query)) ||
      failed(verifyKey(op, *query, *key)))
    return failure();
  if (Value selection = op.getSelection())
    if (failed(verifySelection(op, *query, *key, selection)))
      return failure();
  return Scoring{*query, *key};
}

static LogicalResult verifyScoringRegions(ScoringOpInterface op) {
  return failure(failed(verifyClause(op, Clause::Scale, op.getScale())) ||
                 failed(verifyClause(op, Clause::Mask, op.getMask())) ||
                 failed(verifyClause(op, Clause::Score, op.getScore())) ||
                 failed(verifyClause(op, Clause::Weight, op.getWeight())));
}

//===----------------------------------------------------------------------===//
// AttendOp
//===----------------------------------------------------------------------===//

static FailureOr<SequenceDims> verifyValue(AttendOp op,
                                           const Scoring &scoring) {
  NamedTensorType type = op.getValue().getType();
  if (failed(expectReals(op, "the value", type)))
    return failure();
  FailureOr<SequenceDims> value = getSequenceDims(op, "the value", type);
  if (failed(value) ||
      failed(verifySameBatch(op, "the value", *value, scoring.query)) ||
      failed(expectDim(op, "the value's tokens", value->tokens,
                       scoring.key.tokens,
                       "each key has one value; pool both alike")) ||
      failed(expectDim(op, "the value's heads", value->heads, scoring.key.heads,
                       "keys and values have the same heads")) ||
      failed(verifyFeatures(op, "the value", value->features)))
    return failure();
  return value;
}

static LogicalResult verifyWeightClauses(AttendOp op) {
  if (op.isSoftmax() && !op.getNormalize().empty())
    return op.emitOpError("expected no 'normalize' with softmax, whose weights "
                          "already sum to one; drop it, or give a 'weight'");
  if (!op.isSoftmax() && !op.getSink().empty())
    return op.emitOpError("expected no 'sink' with a 'weight', since a sink "
                          "joins a softmax; drop one of the two");
  if (op.isSoftmax() && !op.getLse())
    return op.emitOpError("expected the log-sum-exp as the second result of a "
                          "softmax, found one result");
  if (!op.isSoftmax() && op.getLse())
    return op.emitOpError("expected one result with a 'weight', since only a "
                          "softmax has a log-sum-exp; drop the second");
  return success();
}

LogicalResult AttendOp::verify() {
  FailureOr<Scoring> scoring =
      verifyScoring(cast<ScoringOpInterface>(getOperation()));
  if (failed(scoring))
    return failure();
  FailureOr<SequenceDims> value = verifyValue(*this, *scoring);
  if (failed(value) || failed(verifyWeightClauses(*this)))
    return failure();
  SmallVector<Attribute> output =
      getRowDims(scoring->query, {scoring->query.heads, value->features});
  if (failed(expectTensor(*this, "the output", getOutput().getType(), output,
                          getF32(*this),
                          "it has the query's dimensions with the value's "
                          "features")))
    return failure();
  if (!getLse())
    return success();
  return expectTensor(*this, "the log-sum-exp", getLse().getType(),
                      ArrayRef(output).drop_back(), getF32(*this),
                      "there is one for each query and query head");
}

LogicalResult AttendOp::verifyRegions() {
  return failure(
      failed(verifyScoringRegions(cast<ScoringOpInterface>(getOperation()))) ||
      failed(verifyClause(*this, Clause::Normalize, getNormalize())) ||
      failed(verifyClause(*this, Clause::Sink, getSink())));
}

//===----------------------------------------------------------------------===//
// ImportanceOp
//===----------------------------------------------------------------------===//

/// Checks that `lse` and `weight` are there if the kind of importance needs
/// them.
static LogicalResult verifyKind(ImportanceOp op) {
  bool isProb = op.getKind() == ImportanceKind::Prob;
  if (isProb && !op.getLse())
    return op.emitOpError("expected the log-sum-exp ('lse') of the attention "
                          "whose probabilities are asked for");
  if (!isProb && op.getLse())
    return op.emitOpError("expected 'lse' with kind prob only, found it with ")
           << stringifyImportanceKind(op.getKind()) << "; drop it";
  if (isProb && !op.getWeight().empty())
    return op.emitOpError("expected no 'weight' with kind prob, which is of "
                          "softmax; use kind activation");
  if (op.getKind() == ImportanceKind::Activation && op.getWeight().empty())
    return op.emitOpError("expected a 'weight' with kind activation; use kind "
                          "prob for the probabilities of softmax");
  return success();
}

/// The keys of an importance, after its rows, aren't packed.
static FailureOr<Attribute> getKeyEntries(ImportanceOp op,
                                          const SequenceDims &key) {
  if (!key.isRagged())
    return key.tokens;
  if (auto pooled = dyn_cast<PooledDimAttr>(key.tokens))
    return Attribute(PooledDimAttr::get(
        op.getContext(), pooled.getBase(), pooled.getLen(), pooled.getStride(),
        pooled.getTail(), /*ragged=*/false, pooled.getCount(),
        pooled.getOffset(), pooled.getMemory()));
  return op.emitOpError("expected pooled keys, since the importance of single "
                        "tokens isn't supported in a ragged batch, found '")
         << toString(key.tokens) << "'; pool the keys first";
}

LogicalResult ImportanceOp::verify() {
  FailureOr<Scoring> scoring =
      verifyScoring(cast<ScoringOpInterface>(getOperation()));
  if (failed(scoring) || failed(verifyKind(*this)))
    return failure();
  const auto &[query, key] = *scoring;
  if (Value lse = getLse())
    if (failed(expectTensor(*this, "the log-sum-exp",
                            cast<NamedTensorType>(lse.getType()),
                            getRowDims(query, query.heads), getF32(*this),
                            "there is one for each query and query head")))
      return failure();
  FailureOr<Attribute> entries = getKeyEntries(*this, key);
  if (failed(entries))
    return failure();
  bool perQueryHead = getHeads() == HeadReduction::None;
  return expectTensor(
      *this, "the importance", getResult().getType(),
      getRowDims(query, {perQueryHead ? query.heads : key.heads, *entries}),
      getF32(*this),
      perQueryHead ? "'heads none' keeps every query head"
                   : "the query heads of a key head's group are reduced");
}

LogicalResult ImportanceOp::verifyRegions() {
  return verifyScoringRegions(cast<ScoringOpInterface>(getOperation()));
}

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

LogicalResult MergeOp::verify() {
  if (getOutputs().empty())
    return emitOpError("expected at least one branch to merge");
  Type f32 = getF32(*this);
  auto first = cast<NamedTensorType>(getOutputs().front().getType());
  ArrayRef<Attribute> dims = first.getDims();
  if (dims.size() != (first.isRagged() ? 3u : 4u))
    return emitOpError("expected the output of an attention, [batch, tokens, "
                       "heads, features] or [ragged tokens, heads, features], "
                       "found ")
           << toString(dims);
  for (auto [output, lse] : llvm::zip_equal(getOutputs(), getLses()))
    if (failed(expectTensor(*this, "each branch's output",
                            cast<NamedTensorType>(output.getType()), dims, f32,
                            "all branches have the same queries and "
                            "features")) ||
        failed(expectTensor(*this, "each branch's log-sum-exp",
                            cast<NamedTensorType>(lse.getType()),
                            dims.drop_back(), f32,
                            "there is one for each query and query head")))
      return failure();
  return failure(
      failed(expectTensor(*this, "the merged output", getOutput().getType(),
                          dims, f32, "it is like each branch's output")) ||
      failed(expectTensor(*this, "the merged log-sum-exp", getLse().getType(),
                          dims.drop_back(), f32,
                          "it is like each branch's log-sum-exp")));
}
