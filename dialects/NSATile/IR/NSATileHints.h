//===- NSATileHints.h - Hints of passes for lowerings -----------*- C++ -*-===//
//
// Discardable attributes: a lowering that ignores them is right, too.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_NSATILE_IR_NSATILEHINTS_H
#define NSACC_NSATILE_IR_NSATILEHINTS_H

#include "llvm/ADT/StringRef.h"

namespace nsacc::nsatile {

/// A unit on a `softmax_update` or `softmax_finalize`. If a score is +inf or
/// NaN, an output's sum isn't finite, or the maximum is large, the row's
/// results needn't be right, as long as they aren't finite.
inline constexpr llvm::StringLiteral kAssumesFiniteAttrName =
    "nsatile.assumes_finite";

/// Least size of a large maximum of scores, positive or negative: its product
/// with log2(e), rounded, is off by more than 1/4.
inline constexpr float kLargeMaximum = 0x1p22f;

/// A string on a `softmax_update`: the order of its instructions on a GPU, as
/// in the schedule's field `softmax` but `auto`. `rows` where it is missing.
inline constexpr llvm::StringLiteral kOrderAttrName = "nsatile.order";

/// A unit on a select that keeps finite numbers and replaces the others. If
/// another program repairs rows with other numbers, the select may be replaced
/// by the numbers themselves.
inline constexpr llvm::StringLiteral kOnlyFiniteAttrName =
    "nsatile.only_finite";

/// Strings on a program: the ops of the kernel that it computes in tiles of
/// their schedules, by their names in settings.
inline constexpr llvm::StringLiteral kOpsAttrName = "nsatile.ops";

/// A unit on a program: its inputs come from products of 16-bit operands alone.
/// Its own products have to have 16-bit operands, too.
inline constexpr llvm::StringLiteral kOfRoundedAttrName = "nsatile.of_rounded";

/// A unit on a load of a vector of f32 that a loop's code on products reads: it
/// goes through shared memory, as operands do, so that it can be loaded ahead.
/// Otherwise each thread loads the elements that it needs when it needs them.
inline constexpr llvm::StringLiteral kAheadAttrName = "nsatile.ahead";

/// Attributes that `nsatile-schedule-pipeline` leaves for
/// `nsatile-expand-pipeline`. On a loop: the number of its steps that overlap,
/// an i64 (1: products of one step only), and a unit if warpgroups start their
/// products in turn (ping-pong). On ops of its body: an i64, the stage of a
/// product, of the wait for its operand and of the operand's release; and a
/// unit on code that runs when the products of stage 1 have ended. On an
/// `accumulate`, stage 1 asks `nsatile-defer-products` for the sum a step late.
inline constexpr llvm::StringLiteral kStagesAttrName = "nsatile.stages",
                                     kPingPongAttrName = "nsatile.ping_pong",
                                     kStageAttrName = "nsatile.stage",
                                     kLateAttrName = "nsatile.late";

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_NSATILEHINTS_H
