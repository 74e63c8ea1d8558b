//===- KeyBounds.h - Bounds of visible keys as numbers ----------*- C++ -*-===//

#ifndef NSACC_TUNING_KEYBOUNDS_H
#define NSACC_TUNING_KEYBOUNDS_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// Keys of an op: tokens, or windows of pooled ones. Of ragged rows, those of
/// an average one.
double countKeys(nsa::ScoringOpInterface op, const CallSizes &sizes);

/// Keys from `first` on and before `second`; disjoint, not even adjacent, and
/// sorted.
using KeyRanges = llvm::SmallVector<std::pair<int64_t, int64_t>, 4>;

/// Sorts ranges, and joins those that meet.
void normalize(KeyRanges &keys);

/// `length` positions further on, a bound is `step` further on.
struct Period {
  int64_t length = 1, step = 0;
};

/// Evaluates what a mask's analysis says, for the sizes of a call, in one batch
/// row and one head: the first row and the middle head, unless others are
/// chosen.
class KeyBounds {
public:
  /// The mask has to live as long as this.
  KeyBounds(nsa::ScoringOpInterface op, const nsa::MaskInfo &mask,
            const CallSizes &sizes);

  void choose(int64_t batchRow, int64_t head);

  int64_t countQueries() const { return queries; }
  int64_t countKeys() const { return keys; }
  /// The position of the first query: the last one stands at the last key.
  int64_t getShift() const { return shift; }

  /// The keys from `first` on and before `second` that an interval shows the
  /// query at a position; none where its guards don't hold.
  std::pair<int64_t, int64_t> get(const nsa::KeyInterval &interval,
                                  int64_t position) const;

  /// All that intervals show, or those alone whose every pair is visible.
  KeyRanges getAll(int64_t position, bool onlyExact) const;

  int64_t evaluate(mlir::AffineExpr expr, int64_t position) const;
  /// None where it has none, or a longer one than `most`.
  std::optional<Period> findPeriod(mlir::AffineExpr expr, int64_t most) const;

private:
  const nsa::MaskInfo &mask;
  llvm::SmallVector<int64_t> symbols;
  int64_t queries, keys, shift;
};

} // namespace nsacc::tuning

#endif // NSACC_TUNING_KEYBOUNDS_H
