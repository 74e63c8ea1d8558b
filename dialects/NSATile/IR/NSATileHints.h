//===- NSATileHints.h - What passes tell lowerings --------------*- C++ -*-===//
//
// Discardable attributes: a lowering that doesn't know them is right, too.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_NSATILE_IR_NSATILEHINTS_H
#define NSACC_NSATILE_IR_NSATILEHINTS_H

#include "llvm/ADT/StringRef.h"

namespace nsacc::nsatile {

/// On a `softmax_update` or `softmax_finalize`, a unit: where a score is +inf
/// or NaN, or an output's sum isn't finite, the row's results needn't be right,
/// as long as they aren't finite.
inline constexpr llvm::StringLiteral kAssumesFiniteAttrName =
    "nsatile.assumes_finite";

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_NSATILEHINTS_H
