//===- Scoring.cpp - The keys that queries see, and their scores ----------===//
//
// docs/spec.md, 3.1 and 3.3.
//
//===----------------------------------------------------------------------===//

#include "Scoring.h"
#include "NSA/Analysis/NeededEntries.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

/// Factors of q·k for each batch entry: `scale`, or depth^-0.5.
static llvm::Expected<std::vector<double>>
computeScale(nsa::ScoringOpInterface op, int64_t depth, int64_t batch,
             const Context &context) {
  std::vector<double> scale(batch, 1 / std::sqrt(double(depth)));
  llvm::Expected<Clause> clause =
      Clause::compile(nsa::Clause::Scale, op.getScale(), context);
  if (!clause)
    return clause.takeError();
  if (clause->isEmpty())
    return scale;
  ClauseRunner runner(*clause, /*lanes=*/1);
  for (int64_t b = 0; b < batch; ++b) {
    runner.setPosition({.b = b});
    llvm::Expected<double> value = runner.runRow();
    if (!value)
      return value.takeError();
    scale[b] = *value;
  }
  return scale;
}

llvm::Expected<Scoring> Scoring::create(nsa::ScoringOpInterface op,
                                        const Context &context) {
  const Environment &environment = context.environment;
  auto queryType = cast<nsa::NamedTensorType>(op.getQuery().getType());
  auto keyType = cast<nsa::NamedTensorType>(op.getKey().getType());
  ArrayRef<Attribute> queryDims = queryType.getDims(),
                      keyDims = keyType.getDims();
  RowOffsets queryRows = environment.getRows(queryDims);
  int64_t depth = environment.getSize(queryDims.back());
  int64_t batch = queryRows.getBatch();

  llvm::Expected<std::vector<double>> scale =
      computeScale(op, depth, batch, context);
  if (!scale)
    return scale.takeError();
  llvm::Expected<Clause> mask =
      Clause::compile(nsa::Clause::Mask, op.getMask(), context);
  if (!mask)
    return mask.takeError();
  llvm::Expected<Clause> score =
      Clause::compile(nsa::Clause::Score, op.getScore(), context);
  if (!score)
    return score.takeError();
  llvm::Expected<Clause> weight =
      Clause::compile(nsa::Clause::Weight, op.getWeight(), context);
  if (!weight)
    return weight.takeError();

  std::vector<int64_t> tokens;
  Attribute sequence = keyDims[keyType.isRagged() ? 0 : 1];
  for (int64_t b = 0; b < batch; ++b)
    tokens.push_back(environment.getTokens(sequence, b));

  Scoring scoring{.query = &context.getTensor(op.getQuery()),
                  .key = &context.getTensor(op.getKey()),
                  .queryRows = std::move(queryRows),
                  .keyRows = environment.getRows(keyDims),
                  .queryHeads =
                      environment.getSize(queryDims.drop_back().back()),
                  .keyHeads = environment.getSize(keyDims.drop_back().back()),
                  .depth = depth,
                  .tokens = std::move(tokens),
                  .scale = std::move(*scale),
                  .rounding = context.rounding,
                  .tiledKeys = {},
                  .mask = std::move(*mask),
                  .score = std::move(*score),
                  .weight = std::move(*weight)};
  scoring.findNeededKeys(op);
  if (Value selection = op.getSelection()) {
    auto type = cast<nsa::SelectionType>(selection.getType());
    scoring.selection = &context.getSelection(selection);
    scoring.block = type.getBlock();
    RowOffsets rows = environment.getRows(type.getDims());
    for (int64_t b = 0; b < batch; ++b)
      scoring.selectionStarts.push_back(rows.getStart(b));
    scoring.selectionTokens = type.getTokens();
  }
  if (context.rounding)
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t head = 0; head < scoring.keyHeads; ++head)
        scoring.tiledKeys.emplace_back(scoring.getKeys(b, head),
                                       scoring.keyRows.getLength(b), depth);
  return scoring;
}

void Scoring::findNeededKeys(nsa::ScoringOpInterface op) {
  std::optional<nsa::NeededEntries> needed;
  if (auto importance = dyn_cast<nsa::ImportanceOp>(op.getOperation()))
    needed = nsa::NeededEntries::find(importance);
  for (int64_t b = 0, e = tokens.size(); b < e; ++b) {
    int64_t end = keyRows.getLength(b);
    keyEnds.push_back(needed ? std::min(end, needed->getEnd(tokens[b])) : end);
  }
  firstKey = needed ? needed->getFirst() : 0;
}

RowsOf Scoring::getKeys(int64_t b, int64_t head) const {
  int64_t first = (keyRows.getStart(b) * keyHeads + head) * depth;
  return RowsOf::from(key->reals, first, keyHeads * depth);
}

Position Scoring::getPosition(int64_t row) const {
  int64_t b = queryRows.findBatch(row);
  int64_t t = row - queryRows.getStart(b);
  // Queries are at the last tokens.
  return {.b = b, .t = t, .i = t + tokens[b] - queryRows.getLength(b)};
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

RowScorer::RowScorer(const Scoring &scoring)
    : scoring(scoring), mask(scoring.mask, lanesAtATime),
      score(scoring.score, lanesAtATime), weight(scoring.weight, lanesAtATime) {
}

/// The keys of the selected blocks, or all keys.
void RowScorer::findCandidates(const Position &position) {
  int64_t numKeys = scoring.keyEnds[position.b];
  const SelectionValue *selection = scoring.selection;
  if (!selection) {
    candidates.resize(std::max<int64_t>(numKeys - scoring.firstKey, 0));
    std::iota(candidates.begin(), candidates.end(), scoring.firstKey);
    return;
  }
  candidates.clear();
  int64_t perHead = scoring.queryHeads / selection->heads;
  int64_t list = scoring.selectionStarts[position.b] +
                 position.t / scoring.selectionTokens;
  for (int64_t block : selection->get(list, position.h / perHead)) {
    if (block < 0)
      break;
    int64_t begin = block * scoring.block;
    int64_t end = std::min(begin + scoring.block, numKeys);
    for (int64_t j = begin; j < end; ++j)
      candidates.push_back(j);
  }
}

llvm::Error RowScorer::findVisible() {
  if (mask.isEmpty()) {
    visible = candidates;
    return llvm::Error::success();
  }
  if (llvm::Error error = mask.run(candidates, holds))
    return error;
  visible.clear();
  for (auto [j, isVisible] : llvm::zip_equal(candidates, holds))
    if (isVisible)
      visible.push_back(j);
  return llvm::Error::success();
}

/// s = scale · q·k
void RowScorer::findScores(int64_t row, const Position &position) {
  scores.resize(visible.size());
  const double *query = scoring.query->reals.data() +
                        (row * scoring.queryHeads + position.h) * scoring.depth;
  int64_t head = scoring.getKeyHead(position.h);
  double scale = scoring.scale[position.b];
  if (Rounding round = scoring.rounding) {
    scoring.tiledKeys[position.b * scoring.keyHeads + head].dot(
        query, visible, round, scores.data());
    scale = round(scale);
  } else {
    dotRows(query, scoring.depth, scoring.getKeys(position.b, head), visible,
            scores.data());
  }
  for (double &s : scores)
    s = scoring.rounding(scale * s);
}

llvm::Error RowScorer::run(int64_t row, const Position &position) {
  mask.setPosition(position);
  score.setPosition(position);
  weight.setPosition(position);
  findCandidates(position);
  if (llvm::Error error = findVisible())
    return error;
  findScores(row, position);

  if (!score.isEmpty()) {
    if (llvm::Error error = score.run(visible, scores, changed))
      return error;
    std::swap(scores, changed);
  }

  // A score of -inf has no weight: such a key doesn't take part.
  keys.clear();
  for (size_t index = 0, e = visible.size(); index != e; ++index) {
    if (scores[index] == absent)
      continue;
    scores[keys.size()] = scores[index];
    keys.push_back(visible[index]);
  }
  scores.resize(keys.size());
  return llvm::Error::success();
}

llvm::Error RowScorer::runWeight(std::vector<double> &weights) {
  return weight.run(keys, scores, weights);
}
