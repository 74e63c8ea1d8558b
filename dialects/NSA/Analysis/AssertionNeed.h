//===- AssertionNeed.h - Scalar code that may have no value -----*- C++ -*-===//

#ifndef NSA_ANALYSIS_ASSERTIONNEED_H
#define NSA_ANALYSIS_ASSERTIONNEED_H

#include "NSA/IR/NSAOps.h"

namespace nsacc::nsa {

/// Meanings of the arguments of a region of scalar code: indices of rows and
/// keys, each with the dimension that bounds it (null: none).
struct ScalarPlaces {
  mlir::Value batchRow, head, token, position, key;
  mlir::Attribute batchDim, headDim, tokenDim, positionDim, keyDim;

  /// The places of a region of `op` whose arguments are `leading` values, then
  /// b, h, t, i and perhaps j.
  static ScalarPlaces get(ScoringOpInterface op, mlir::Region &region,
                          unsigned leading);
  /// The places of the mask of `op`.
  static ScalarPlaces get(TopKOp op);
};

/// Whether an op of scalar code needs an assertion that it has a value.
enum class AssertionNeed {
  Never,
  AtNegativePositions, ///< only for queries before the first key
  Always
};

/// Whether index `operand` of a table's dimension may be out of range.
AssertionNeed getIndexNeed(mlir::Value operand, mlir::Attribute dim,
                           const ScalarPlaces &places);

/// Whether the divisor of an integer division may be 0.
bool mayDivideByZero(mlir::Operation *op);

/// The need of a table read or an integer division; Never for other ops.
AssertionNeed getAssertionNeed(mlir::Operation *op, const ScalarPlaces &places);

/// The greatest need of the ops that compute `value`.
AssertionNeed getAssertionNeedWithin(mlir::Value value,
                                     const ScalarPlaces &places);

} // namespace nsacc::nsa

#endif // NSA_ANALYSIS_ASSERTIONNEED_H
