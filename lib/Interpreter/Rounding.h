//===- Rounding.h - Arithmetic in f32 as a simple program does it -*- C++ -*-=//

#ifndef NSACC_LIB_INTERPRETER_ROUNDING_H
#define NSACC_LIB_INTERPRETER_ROUNDING_H

#include "nsacc/Runtime/Tensor.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <optional>

namespace nsacc::interpreter {

/// Rounds what is computed to f32, up or down at random, or leaves it alone.
/// The direction depends on the seed and the number alone: equal operands give
/// equal results, as they do on a machine.
class Rounding {
public:
  Rounding() = default;
  explicit Rounding(std::optional<uint64_t> seed)
      : active(seed), seed(seed.value_or(0)) {}

  explicit operator bool() const { return active; }
  double operator()(double x) const { return active ? round(x) : x; }
  /// A probability or weight as an operand of a product with values of 16 bits:
  /// up or down at random, since a program may round it before it is scaled.
  double toOperand(double x, std::optional<DType> values) const {
    if (!active || !values)
      return (*this)(x);
    double near = roundTo(*values, x);
    if (near == x || !std::isfinite(near) || isNearest(x))
      return near;
    double unit = *values == DType::BF16 ? 0x1p-8 : 0x1p-11;
    double beyond = 1.01 * unit * std::fabs(near);
    return roundTo(*values, near + (x > near ? beyond : -beyond));
  }

private:
  bool isNearest(double x) const {
    uint64_t bits = llvm::bit_cast<uint64_t>(x) ^ seed * 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return (bits ^ (bits >> 31)) & 1;
  }
  double round(double x) const {
    bool nearest = isNearest(x);
    // Exponentials below about 2^-120 may be 0 on a machine.
    if (std::fabs(x) < 0x1p-114 && !nearest)
      return 0;
    float near = static_cast<float>(x);
    if (!std::isfinite(near))
      return near;
    // The neighbour on x's side, without a branch: nothing could foresee it.
    uint32_t beyond = std::fabs(x) > std::fabs(near) ? 1 : -1;
    uint32_t moves = !nearest & (near != x);
    return llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(near) +
                                 beyond * moves);
  }

  bool active = false;
  uint64_t seed = 0;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_ROUNDING_H
