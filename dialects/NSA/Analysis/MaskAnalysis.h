//===- MaskAnalysis.h - Keys that a mask lets a query see -------*- C++ -*-===//

#ifndef NSACC_NSA_ANALYSIS_MASKANALYSIS_H
#define NSACC_NSA_ANALYSIS_MASKANALYSIS_H

#include "NSA/Analysis/AssertionNeed.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace nsacc::nsa {

class ScoringOpInterface;

/// The keys that one conjunction of comparisons lets the query at position i
/// see: `max(lower) <= j < min(upper)`, provided that every guard is >= 0.
/// Expressions are over the position i (d0) and symbols (MaskInfo::symbols);
/// guards only over symbols.
struct KeyInterval {
  llvm::SmallVector<mlir::AffineExpr, 2> lower, upper, guards;
  /// Whether every pair in the interval is visible. Otherwise the mask must be
  /// evaluated for each pair in it.
  bool exact = true;
};

/// A value that stays the same over the rows and keys of one (batch row, head).
struct MaskSymbol {
  enum class Kind { Head, BatchRow, Dim };
  Kind kind;
  std::string dim; ///< Kind::Dim: the dimension whose size it is

  bool operator==(const MaskSymbol &other) const = default;
};

/// The visible keys of a query: the union of `intervals`. An interval is wider
/// than the mask only if it isn't `exact`.
struct MaskInfo {
  llvm::SmallVector<KeyInterval, 2> intervals;
  llvm::SmallVector<MaskSymbol, 2> symbols; ///< s0, s1, …
  /// Whether the mask reads tables at i. Then it has to be evaluated for every
  /// pair if there are queries before the first key.
  bool readsAtPositions = false;

  /// Whether no pair has to be evaluated by itself.
  bool isExact() const;
};

/// Analyses a mask region with arguments (b, h, t, i, j); an empty region sees
/// everything. `queryDim` and `tokenDim` name the dimensions T and S in t = i -
/// (S - T). A comparison makes its interval inexact if it isn't affine in j
/// with integer coefficients and constant divisors, or if its integers may wrap
/// around. A pair for which the mask may have no value is in an inexact
/// interval.
MaskInfo analyzeMask(mlir::Region &mask, const ScalarPlaces &places,
                     llvm::StringRef queryDim, llvm::StringRef tokenDim);

/// Analyses the mask of an op; its queries and keys give the dimensions.
MaskInfo analyzeMask(ScoringOpInterface op);

/// A bound on the absolute value of `expr` and all its parts in runs whose
/// sizes are below 2^sizeBits. None if it exceeds 64 bits.
std::optional<int64_t> getMagnitude(mlir::AffineExpr expr, unsigned sizeBits);

/// The least (or greatest) value that `expr` takes for positions i in [first,
/// last], as an expression in which `first` or `last` replaces d0. Null if
/// `expr` isn't monotone in i.
mlir::AffineExpr boundOverRows(mlir::AffineExpr expr, mlir::AffineExpr first,
                               mlir::AffineExpr last, bool greatest);

/// The queries that may see a key: the positions `max(lower) <= i <
/// min(upper)`. Expressions are over the first key (d0), the last key (d1) and
/// the symbols of the mask.
struct QueryInterval {
  llvm::SmallVector<mlir::AffineExpr, 2> lower, upper;
  /// Whether no bound is left out because it can't be solved for i, there are
  /// no guards, and the mask's interval is exact.
  bool exact = true;
};

/// The queries to which an interval shows some key from the first to the last:
/// `lower(i) <= last` and `first < upper(i)`, solved for i. Each bound is
/// affine in i with constant divisors; a bound in which i occurs twice, or
/// under a remainder, isn't solved.
QueryInterval findQueriesOfAny(const KeyInterval &interval);
/// The queries to which an interval shows all keys from the first to the last:
/// `lower(i) <= first` and `last < upper(i)`, solved for i. If the result isn't
/// exact, some keys may be hidden from its queries.
QueryInterval findQueriesOfAll(const KeyInterval &interval);

/// "s0*2 <= j < d0 + 1": for remarks and tests.
std::string toString(const KeyInterval &interval, const MaskInfo &info);

/// "sees keys j < i + 1 or j < 4", for all intervals.
std::string toString(const MaskInfo &info);

} // namespace nsacc::nsa

#endif // NSACC_NSA_ANALYSIS_MASKANALYSIS_H
