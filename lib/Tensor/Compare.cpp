//===- Compare.cpp - Summaries of tensors, and differences ----------------===//

#include "nsacc/Tensor/Compare.h"
#include "llvm/Support/xxhash.h"
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

using namespace nsacc;

static llvm::ArrayRef<uint8_t> getBytes(const Tensor &contiguous) {
  return {static_cast<const uint8_t *>(contiguous.getData()),
          size_t(contiguous.getNumElements() * getSize(contiguous.getDType()))};
}

Summary nsacc::summarize(const Tensor &tensor) {
  Summary summary;
  Tensor contiguous = tensor.toContiguous();
  summary.checksum = llvm::xxh3_64bits(getBytes(contiguous));
  summary.elements = tensor.getNumElements();
  double sum = 0;
  double min = std::numeric_limits<double>::infinity(), max = -min;
  for (double value : contiguous.toReals()) {
    if (!std::isfinite(value)) {
      ++(std::isnan(value) ? summary.nans : summary.infinities);
      continue;
    }
    sum += value;
    min = std::min(min, value);
    max = std::max(max, value);
  }
  int64_t finite = summary.elements - summary.nans - summary.infinities;
  if (finite > 0) {
    summary.min = min;
    summary.max = max;
    summary.mean = sum / finite;
  }
  return summary;
}

bool nsacc::haveSameBits(const Tensor &left, const Tensor &right) {
  return left.getDType() == right.getDType() &&
         left.getShape() == right.getShape() &&
         getBytes(left.toContiguous()) == getBytes(right.toContiguous());
}

double Difference::getRelativeRms() const {
  if (rms == 0)
    return 0;
  return rms / referenceRms;
}

Difference nsacc::compare(const Tensor &result, const Tensor &reference) {
  assert(result.getShape() == reference.getShape() && "one shape");
  Difference difference;
  std::vector<double> values = result.toReals();
  std::vector<double> expected = reference.toReals();
  difference.elements = values.size();
  double squares = 0, referenceSquares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    // Values that the result's type can't hold are infinite in it.
    if (std::isinf(roundTo(result.getDType(), expected[i])))
      expected[i] = roundTo(result.getDType(), expected[i]);
    if (values[i] == expected[i] ||
        (std::isnan(values[i]) && std::isnan(expected[i]))) {
      if (std::isfinite(expected[i]))
        referenceSquares += expected[i] * expected[i];
      continue;
    }
    ++difference.differing;
    if (!std::isfinite(values[i]) || !std::isfinite(expected[i])) {
      ++difference.nonFinite;
      continue;
    }
    double error = std::fabs(values[i] - expected[i]);
    difference.maxAbs = std::max(difference.maxAbs, error);
    squares += error * error;
    referenceSquares += expected[i] * expected[i];
  }
  int64_t finite = difference.elements - difference.nonFinite;
  if (finite > 0) {
    difference.rms = std::sqrt(squares / finite);
    difference.referenceRms = std::sqrt(referenceSquares / finite);
  }
  return difference;
}
