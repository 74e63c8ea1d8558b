//===- Compare.h - Summaries of tensors, and differences --------*- C++ -*-===//

#ifndef NSACC_TENSOR_COMPARE_H
#define NSACC_TENSOR_COMPARE_H

#include "nsacc/Tensor/Tensor.h"

namespace nsacc {

/// A tensor's content, in a few numbers.
struct Summary {
  int64_t elements = 0, nans = 0, infinities = 0;
  /// Over finite elements; 0 if there are none.
  double min = 0, max = 0, mean = 0;
  /// XXH3 of the elements' bytes in row-major order.
  uint64_t checksum = 0;
};

Summary summarize(const Tensor &tensor);

/// Whether dtype, shape and every bit agree.
bool haveSameBits(const Tensor &left, const Tensor &right);

/// Differences between `result` and `reference`, element by element.
struct Difference {
  int64_t elements = 0;
  int64_t differing = 0;
  /// Elements that are NaN or infinite in one tensor and not the same in the
  /// other.
  int64_t nonFinite = 0;
  /// Over elements that are finite in both.
  double maxAbs = 0;
  double rms = 0, referenceRms = 0;

  /// Root mean square of the difference over that of the reference; 0 if
  /// nothing differs.
  double getRelativeRms() const;
};

/// The tensors must have the same shape.
Difference compare(const Tensor &result, const Tensor &reference);

} // namespace nsacc

#endif // NSACC_TENSOR_COMPARE_H
