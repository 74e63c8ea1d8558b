//===- Rounding.h - Arithmetic in f32 as simple programs do it --*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_ROUNDING_H
#define NSACC_LIB_INTERPRETER_ROUNDING_H

#include "nsacc/Tensor/Tensor.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <optional>
#include <utility>

namespace nsacc::interpreter {

/// Rounds computed values to f32, up or down at random, or doesn't round. The
/// direction depends only on the seed and the number: equal operands give equal
/// results, as they do on a machine.
class Rounding {
public:
  Rounding() = default;
  explicit Rounding(std::optional<uint64_t> seed)
      : active(seed), mixed((seed.value_or(0) + 1) * 0x9e3779b97f4a7c15) {}

  explicit operator bool() const { return active; }
  /// Rounding of other code: equal operands may give other results than they do
  /// here.
  Rounding elsewhere() const {
    Rounding other = *this;
    other.mixed = ~mixed * 0x9e3779b97f4a7c15;
    return other;
  }
  /// Rounding of code with a number; each number has a different rounding.
  Rounding of(uint64_t number) const {
    Rounding other = elsewhere();
    other.mixed ^= (number + 1) * 0xd6e8feb86659fd93;
    return other;
  }
  double operator()(double x) const { return active ? toF32(x) : x; }
  /// Rounds a probability or weight as an operand of a product with values of
  /// 16 bits: up or down at random, since a program may round it before it is
  /// scaled.
  double toOperand(double x, std::optional<DType> values) const {
    if (!active || !values)
      return (*this)(x);
    double near = roundTo(*values, x);
    if (near == x || !std::isfinite(near) || !isUp(llvm::bit_cast<uint64_t>(x)))
      return near;
    double unit = *values == DType::BF16 ? 0x1p-8 : 0x1p-11;
    double beyond = 1.01 * unit * std::fabs(near);
    return roundTo(*values, near + (x > near ? beyond : -beyond));
  }

  /// Rounds if it is known to be active. Without a branch: it couldn't be
  /// predicted, and vectors have none.
  double toF32(double x) const {
    auto [rounded, up] = cutDigits<23>(x);
    double size = std::fabs(x);
    // Exponentials below about 2^-120 may be 0 on a machine.
    rounded = size < (up ? 0x1p-114 : 0x1p-126) ? 0 : rounded;
    // Infinite beyond f32; NaN stays NaN.
    return size <= 0x1.fffffep127 ? rounded : rounded * HUGE_VAL;
  }

  /// A zero of either sign, if programs may compute either.
  double toZero(double x) const { return active ? (isUp(0) ? -0.0 : 0.0) : x; }
  /// Rounds to the 11 digits of f16 with any exponent. NaN and infinities stay.
  double toHalfDigits(double x) const {
    return std::isfinite(x) ? cutDigits<10>(x).first : x;
  }

private:
  /// Rounds to `digits` after the first one, up or down.
  template <unsigned digits> std::pair<double, bool> cutDigits(double x) const {
    constexpr uint64_t behind = (uint64_t(1) << (52 - digits)) - 1;
    uint64_t bits = llvm::bit_cast<uint64_t>(x);
    bool up = isUp(bits);
    return {llvm::bit_cast<double>((bits + (up ? behind : 0)) & ~behind), up};
  }

  /// Multiplies the halves of the number with each other: one instruction in
  /// vectors of any machine.
  bool isUp(uint64_t bits) const {
    uint64_t low = uint32_t(bits) ^ uint32_t(mixed);
    uint64_t high = (bits >> 32) ^ (mixed >> 32);
    return low * high & uint64_t(1) << 43;
  }

  bool active = false;
  uint64_t mixed = 0;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_ROUNDING_H
