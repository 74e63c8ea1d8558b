//===- KeyBounds.h - Bounds of visible keys as numbers ----------*- C++ -*-===//

#ifndef NSACC_TUNING_KEYBOUNDS_H
#define NSACC_TUNING_KEYBOUNDS_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// Keys of an op: tokens, or windows of pooled ones. Of ragged rows, those of
/// an average one.
double countKeys(nsa::ScoringOpInterface op, const CallSizes &sizes);

/// Evaluates what a mask's analysis says, for the sizes of a call, in one batch
/// row and one head: the middle one.
class KeyBounds {
public:
  /// The mask has to live as long as this.
  KeyBounds(nsa::ScoringOpInterface op, const nsa::MaskInfo &mask,
            const CallSizes &sizes);

  int64_t countQueries() const { return queries; }
  int64_t countKeys() const { return keys; }
  /// The position of the first query: the last one stands at the last key.
  int64_t getShift() const { return shift; }

  /// The keys from `first` on and before `second` that an interval shows the
  /// query at a position; none where its guards don't hold.
  std::pair<int64_t, int64_t> get(const nsa::KeyInterval &interval,
                                  int64_t position) const;

private:
  int64_t evaluate(mlir::AffineExpr expr, int64_t position) const;

  llvm::SmallVector<int64_t> symbols;
  int64_t queries, keys, shift;
};

} // namespace nsacc::tuning

#endif // NSACC_TUNING_KEYBOUNDS_H
