//===- NSATileHints.h - What passes tell lowerings --------------*- C++ -*-===//
//
// Discardable attributes: a lowering that doesn't know them is right, too.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_NSATILE_IR_NSATILEHINTS_H
#define NSACC_NSATILE_IR_NSATILEHINTS_H

#include "llvm/ADT/StringRef.h"

namespace nsacc::nsatile {

/// On a `softmax_update` or `softmax_finalize`, a unit: where a score is +inf or
/// NaN, or an output's sum isn't finite, the row's results needn't be right, as
/// long as they aren't finite.
inline constexpr llvm::StringLiteral kAssumesFiniteAttrName =
    "nsatile.assumes_finite";

/// On a `dot_async` or `acquire` of consumers, a string: warpgroups start
/// products in turn. "take" waits for the turn before the product starts, "pass"
/// gives it to the next warpgroup behind it, "take and pass" does both. All
/// warpgroups come by as often.
inline constexpr llvm::StringLiteral kTurnAttrName = "nsatile.turn";
inline constexpr llvm::StringLiteral kTakeTurn = "take", kPassTurn = "pass",
                                     kTakeAndPassTurn = "take and pass";

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_NSATILEHINTS_H
