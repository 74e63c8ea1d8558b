//===- Scoring.h - The keys that queries see, and their scores --*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_SCORING_H
#define NSACC_LIB_INTERPRETER_SCORING_H

#include "Clause.h"
#include "Context.h"
#include "Products.h"

namespace nsacc::nsa {
class ScoringOpInterface;
} // namespace nsacc::nsa

namespace nsacc::interpreter {

/// Number of keys for which a clause is evaluated in one step.
inline constexpr size_t lanesAtATime = 512;

/// Scores of the visible pairs of queries and keys, for attend and importance
/// (spec, "Meaning"). It has no state, so threads can share it.
struct Scoring {
  static llvm::Expected<Scoring> create(nsa::ScoringOpInterface op,
                                        const Context &context);

  const TensorValue *query, *key;
  RowOffsets queryRows, keyRows;
  int64_t queryHeads, keyHeads, depth;
  /// For each batch entry: number of tokens of the keys, and the factor of q·k.
  std::vector<int64_t> tokens;
  std::vector<double> scale;
  Rounding rounding{};
  /// For each batch entry and head, if products are rounded.
  std::vector<TiledRows> tiledKeys;
  /// Keys whose scores are read: the first one and, for each batch entry, the
  /// end.
  int64_t firstKey = 0;
  std::vector<int64_t> keyEnds{};
  /// Blocks that the rows may see, if any.
  const SelectionValue *selection = nullptr;
  int64_t block = 0;
  /// Number of tokens for each of its rows; for each batch entry, the first
  /// row.
  int64_t selectionTokens = 1;
  std::vector<int64_t> selectionStarts{};
  Clause mask, score, weight;

  void findNeededKeys(nsa::ScoringOpInterface op);
  int64_t getKeyHead(int64_t queryHead) const {
    return queryHead / (queryHeads / keyHeads);
  }
  /// A batch entry's keys of one head.
  RowsOf getKeys(int64_t b, int64_t head) const;
  /// The position of a packed query row; its head is 0.
  Position getPosition(int64_t row) const;
};

/// Evaluates one (query row, query head) after the other.
class RowScorer {
public:
  explicit RowScorer(const Scoring &scoring);

  /// Finds the keys that take part and their scores after the `score` clause.
  llvm::Error run(int64_t row, const Position &position);

  /// Keys with `where` and `in`, which `normalize` counts as `visible`.
  int64_t getNumVisible() const { return visible.size(); }
  /// Visible keys whose score isn't -inf, ascending, within their batch entry.
  llvm::ArrayRef<int64_t> getKeys() const { return keys; }
  llvm::ArrayRef<double> getScores() const { return scores; }
  /// Runs the `weight` clause for these keys.
  llvm::Error runWeight(std::vector<double> &weights);

private:
  void findCandidates(const Position &position);
  llvm::Error findVisible();
  void findScores(int64_t row, const Position &position);

  const Scoring &scoring;
  ClauseRunner mask, score, weight;
  std::vector<int64_t> candidates, visible, keys, holds;
  std::vector<double> scores, changed;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_SCORING_H
