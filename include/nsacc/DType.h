//===- DType.h - Element types of tensors in memory -------------*- C++ -*-===//

#ifndef NSACC_DTYPE_H
#define NSACC_DTYPE_H

#include "nsacc-c/dtype.h"
#include <optional>

namespace nsacc {

/// Element types, with the numbers of C. Bool takes one byte.
enum class DType : nsacc_dtype {
  Bool = NSACC_DTYPE_BOOL,
  I32 = NSACC_DTYPE_I32,
  I64 = NSACC_DTYPE_I64,
  F16 = NSACC_DTYPE_F16,
  BF16 = NSACC_DTYPE_BF16,
  F32 = NSACC_DTYPE_F32,
  F64 = NSACC_DTYPE_F64
};

constexpr nsacc_dtype toNumber(DType dtype) {
  return static_cast<nsacc_dtype>(dtype);
}

/// None if C code passed a value that isn't an element type.
constexpr std::optional<DType> toDType(nsacc_dtype dtype) {
  if (dtype < NSACC_DTYPE_BOOL || dtype > NSACC_DTYPE_F64)
    return std::nullopt;
  return static_cast<DType>(dtype);
}

} // namespace nsacc

#endif // NSACC_DTYPE_H
