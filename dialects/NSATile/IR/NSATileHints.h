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
/// as long as they aren't finite. Nor where the maximum is large.
inline constexpr llvm::StringLiteral kAssumesFiniteAttrName =
    "nsatile.assumes_finite";

/// A maximum of scores is large from here on, or from its negative downwards:
/// its product with log2(e), rounded, is off by more than 1/4.
inline constexpr float kLargeMaximum = 0x1p22f;

/// On a select, a unit: of numbers that are finite, with others in the place of
/// those that aren't. Where another program repairs such rows, it may be the
/// numbers themselves.
inline constexpr llvm::StringLiteral kOnlyFiniteAttrName =
    "nsatile.only_finite";

/// On a program, strings: the ops of the kernel that it computes in tiles of
/// their schedules, by the names that settings have for them.
inline constexpr llvm::StringLiteral kOpsAttrName = "nsatile.ops";

/// On a program, a unit: what it loads came of products of 16-bit operands
/// alone, as what it computes itself has to.
inline constexpr llvm::StringLiteral kOfRoundedAttrName = "nsatile.of_rounded";

/// What `nsatile-schedule-pipeline` tells `nsatile-expand-pipeline`. On a loop:
/// how many of its steps overlap, an i64 (1: products of one step only), and
/// whether warpgroups start their products in turn (ping-pong), a unit. On ops
/// of its body: the stage of a product, of what brings its operand and of what
/// gives that back, an i64; and a unit on code that runs when the products of
/// stage 1 have ended.
inline constexpr llvm::StringLiteral kStagesAttrName = "nsatile.stages",
                                     kPingPongAttrName = "nsatile.ping_pong",
                                     kStageAttrName = "nsatile.stage",
                                     kLateAttrName = "nsatile.late";

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_NSATILEHINTS_H
