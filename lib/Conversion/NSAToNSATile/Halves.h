//===- Halves.h - Values of bf16 results as halves --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_HALVES_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_HALVES_H

#include "ScalarTiler.h"

namespace nsacc {

/// What an attention leaves in memory for other programs, where all that is
/// made of it is rounded to bf16 (NSA/Analysis/Rounding.h), is kept in f16, so
/// scaled that a row's greatest is 2^14: 11 bits of an element, 3 more than its
/// result has, but for those below 2^-28 of the greatest. Those of f16 values
/// would have no bit to spare.
struct Halves {
  mlir::Value elements; ///< f16, rows and columns
  mlir::Value scale;    ///< f32, of each row
};

/// That of the scales as a tensor: a number for each row.
nsa::NamedTensorType getScaleType(nsa::NamedTensorType output);
/// What isn't finite stays so, and has no part in its row's scale.
Halves packHalves(TileMath &math, mlir::Value rows);
Tile unpackHalves(TileMath &math, Tile elements, Tile scale);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_HALVES_H
