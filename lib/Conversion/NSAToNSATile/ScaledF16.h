//===- ScaledF16.h - Results in f16 with a scale a row ----------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_SCALEDF16_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_SCALEDF16_H

#include "ScalarTiler.h"

namespace nsacc {

/// An attention's result in memory for other programs, if all values made of it
/// are rounded to bf16 (NSA/Analysis/Rounding.h). It is kept in f16, and scaled
/// so that a row's greatest element is 2^14. Elements have 11 bits, 3 more than
/// the result has, unless they are below 2^-28 of the greatest. A result in f16
/// would leave no bit to spare.
struct ScaledF16 {
  mlir::Value elements; ///< f16, rows and columns
  mlir::Value scale;    ///< f32, one for each row
};

/// Type of the scales as a tensor: a number for each row.
nsa::NamedTensorType getScaleType(nsa::NamedTensorType output);
/// Elements that aren't finite stay so, and don't change their row's scale.
ScaledF16 packScaledF16(TileMath &math, mlir::Value rows);
Tile unpackScaledF16(TileMath &math, Tile elements, Tile scale);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_SCALEDF16_H
