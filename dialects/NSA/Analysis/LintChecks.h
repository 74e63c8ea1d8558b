//===- LintChecks.h - The checks of lint ------------------------*- C++ -*-===//

#ifndef NSACC_NSA_ANALYSIS_LINTCHECKS_H
#define NSACC_NSA_ANALYSIS_LINTCHECKS_H

#include "NSA/Analysis/Lint.h"

namespace nsacc::nsa {

/// Collects warnings. The same words about the same place are kept once: an
/// importance has copies of an attention's clauses.
class LintReport {
public:
  Finding &warning(mlir::Location place, const llvm::Twine &message);
  /// Warns of a clause that is infinite or NaN, unless a logarithm or root in
  /// it has a warning.
  Finding &outcome(mlir::Region &clause, const llvm::Twine &message);
  Findings take() { return std::move(findings); }

private:
  Findings findings;
  /// Takes notes of repeated warnings and of outcomes, and is dropped.
  std::optional<Finding> repeated;
};

/// The place of a clause: of the value that it yields.
inline mlir::Location getPlace(mlir::Region &clause) {
  return clause.front().getTerminator()->getLoc();
}

/// The dimensions of queries or keys: [B, T, H, D] or [ragged T, H, D].
struct SequenceDims {
  explicit SequenceDims(mlir::Value tensor);
  mlir::Attribute tokens, heads, features;
};

// LintArithmetic.cpp
/// Warns of scalar code that can't be meant wherever it stands: comparisons of
/// quotients or of rounded numbers, sums that wrap around, logarithms of
/// nothing positive, indices in front of a table.
void lintArithmetic(mlir::Operation *op, LintReport &report);
/// Whether an index is negative for all sizes and positions.
bool isAlwaysInFront(mlir::Value index);

// LintMasks.cpp
/// Warns of masks that hide everything, nothing, or all but later keys, and of
/// tables that are read in front of their first element at visible pairs.
void lintMask(ScoringOpInterface op, LintReport &report);
/// Warns of a mask of blocks that hides them all.
void lintMask(TopKOp op, LintReport &report);
/// Warns of branches of a merge whose masks show the same pairs.
void lintBranches(MergeOp op, LintReport &report);

// LintScores.cpp
/// Whether a clause is 0 at all positions, for each `s`.
bool isAlwaysZero(mlir::Region &clause);
/// Warns of a constant scale that isn't positive, or of one that grows with a
/// dimension's size.
void lintScale(ScoringOpInterface op, LintReport &report);
/// Warns of clauses whose constants hide or cancel everything.
void lintConstants(ScoringOpInterface op, LintReport &report);
/// Warns of suspicious formulas of the score and the weight.
void lintScores(ScoringOpInterface op, LintReport &report);

// LintScoreTrials.cpp
/// Warns of a softmax's score that doesn't grow with s, or one that is 0 for
/// keys that should probably be hidden.
void lintDependence(ScoringOpInterface op, LintReport &report);
/// Warns of a divisor that is 0 for a query that sees keys, or for one whose
/// keys may all weigh 0.
void lintDivisor(AttendOp op, LintReport &report);

// LintSelections.cpp
/// Warns of a causal selection that shows later tokens of a query's block, and
/// of a causal attention's selection that depends on later tokens.
void lintSelection(AttendOp op, LintReport &report);

} // namespace nsacc::nsa

#endif // NSACC_NSA_ANALYSIS_LINTCHECKS_H
