//===- Reduction.h - Reductions of importance -------------------*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_REDUCTION_H
#define NSACC_LIB_INTERPRETER_REDUCTION_H

#include "Rounding.h"
#include "Values.h"
#include <cmath>

namespace nsacc::interpreter {

enum class Reduce { Sum, Mean, Max };

/// Reduces present entries; absent if there is none. NaN if any entry is NaN.
class Reduction {
public:
  explicit Reduction(Reduce kind, Rounding rounding = {})
      : kind(kind), rounding(rounding) {}

  void add(double entry, double factor = 1) {
    if (entry == absent)
      return;
    double x = rounding(entry * factor);
    if (count++ == 0)
      value = x;
    else if (kind != Reduce::Max)
      value = rounding(value + x);
    else if (!std::isnan(value) && !(x <= value))
      value = x;
  }

  double get() const {
    if (count == 0)
      return absent;
    double x = kind == Reduce::Mean ? rounding(value / count) : value;
    return x == 0 ? rounding.toZero(x) : x;
  }

private:
  Reduce kind;
  Rounding rounding;
  int64_t count = 0;
  double value = 0;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_REDUCTION_H
