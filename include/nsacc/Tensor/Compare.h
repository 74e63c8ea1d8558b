//===- Compare.h - Summaries of tensors, and differences --------*- C++ -*-===//

#ifndef NSACC_TENSOR_COMPARE_H
#define NSACC_TENSOR_COMPARE_H

#include "nsacc/Tensor/Tensor.h"

namespace nsacc {

/// What a tensor holds, in a few numbers.
struct Summary {
  int64_t elements = 0, nans = 0, infinities = 0;
  /// Over finite elements; 0 without any.
  double min = 0, max = 0, mean = 0;
  /// XXH3 of the elements' bytes in row-major order.
  uint64_t checksum = 0;
};

Summary summarize(const Tensor &tensor);

/// Whether dtype, shape and every bit agree.
bool haveSameBits(const Tensor &left, const Tensor &right);

/// How far `result` lies from `reference`, element by element.
struct Difference {
  int64_t elements = 0;
  int64_t differing = 0;
  /// One is NaN or infinite where the other isn't the same.
  int64_t nonFinite = 0;
  /// Over elements where both are finite.
  double maxAbs = 0;
  double rms = 0, referenceRms = 0;

  /// rms over the reference's; 0 where nothing differs.
  double getRelativeRms() const;
};

/// The tensors have one shape.
Difference compare(const Tensor &result, const Tensor &reference);

} // namespace nsacc

#endif // NSACC_TENSOR_COMPARE_H
