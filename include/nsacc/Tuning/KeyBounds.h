//===- KeyBounds.h - Bounds of visible keys as numbers ----------*- C++ -*-===//

#ifndef NSACC_TUNING_KEYBOUNDS_H
#define NSACC_TUNING_KEYBOUNDS_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// Number of an op's keys: tokens, or windows of pooled tokens. For ragged
/// rows, an average row's.
double countKeys(nsa::ScoringOpInterface op, const CallSizes &sizes);

/// Ranges of keys from `first` on and before `second`. They are disjoint, not
/// even adjacent, and sorted.
using KeyRanges = llvm::SmallVector<std::pair<int64_t, int64_t>, 4>;

/// Sorts ranges, and joins those that overlap or touch.
void normalize(KeyRanges &keys);

/// A period of a bound: `length` positions later, the bound is greater by
/// `step`.
struct Period {
  int64_t length = 1, step = 0;
};

/// Evaluates the results of a mask's analysis for the sizes of a call, in one
/// batch row and one head: the first row and the middle head, unless others are
/// chosen.
class KeyBounds {
public:
  /// The mask has to outlive this object.
  KeyBounds(nsa::ScoringOpInterface op, const nsa::MaskInfo &mask,
            const CallSizes &sizes);

  void choose(int64_t batchRow, int64_t head);

  int64_t countQueries() const { return queries; }
  int64_t countKeys() const { return keys; }
  /// The position of the first query; the last query is at the last key.
  int64_t getShift() const { return shift; }

  /// The keys from `first` on and before `second` that an interval shows to the
  /// query at a position; none if its guards don't hold.
  std::pair<int64_t, int64_t> get(const nsa::KeyInterval &interval,
                                  int64_t position) const;

  /// All keys that intervals show, or with `onlyExact` only the intervals in
  /// which every pair is visible.
  KeyRanges getAll(int64_t position, bool onlyExact) const;

  int64_t evaluate(mlir::AffineExpr expr, int64_t position) const;
  /// The period of a bound; none if it has no period, or one longer than
  /// `most`.
  std::optional<Period> findPeriod(mlir::AffineExpr expr, int64_t most) const;

private:
  const nsa::MaskInfo &mask;
  llvm::SmallVector<int64_t> symbols;
  int64_t queries, keys, shift;
};

} // namespace nsacc::tuning

#endif // NSACC_TUNING_KEYBOUNDS_H
