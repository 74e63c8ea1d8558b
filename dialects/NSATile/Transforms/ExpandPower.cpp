//===- ExpandPower.cpp - Powers of f32 ------------------------------------===//

#include "FloatMath.h"
#include <limits>

using namespace mlir;
using namespace nsacc::nsatile;

/// Logarithm to base 2 of an f64 that isn't negative, within 2^-42.
static Value getLog2(FloatMath &wide, FloatMath &m, Value x) {
  // log2 f = s · p(s²) with s = (f - 1) / (f + 1).
  static constexpr double p[] = {0x1.71547652b82fep+1, 0x1.ec709dc3a03fdp-1,
                                 0x1.2776c50ef9bfep-1, 0x1.a61762a7aded9p-2,
                                 0x1.484b13d7c02a9p-2, 0x1.0c9a84994022dp-2,
                                 0x1.c68f568d31760p-3, 0x1.89f3b1694cffep-3};
  // x = 2^n · f, sqrt(1 / 2) <= f < sqrt(2).
  Value bits = wide.toBits(x);
  Value exponent = wide.make<arith::ShRSIOp>(
      wide.make<arith::SubIOp>(bits, wide.integer(0x3fe6a09e667f3bcd)),
      wide.integer(52));
  Value fraction = wide.fromBits(wide.make<arith::SubIOp>(
      bits, wide.make<arith::ShLIOp>(exponent, wide.integer(52))));
  // A division of f32 and one step of Newton's.
  Value divisor = wide.make<arith::AddFOp>(fraction, wide.real(1.0));
  Value inverse = wide.toReal<arith::ExtFOp>(
      m.make<arith::DivFOp>(m.real(1.0), m.toReal<arith::TruncFOp>(divisor)));
  Value miss =
      wide.fma(wide.make<arith::NegFOp>(divisor), inverse, wide.real(1.0));
  inverse = wide.fma(inverse, miss, inverse);
  Value s = wide.make<arith::MulFOp>(
      wide.make<arith::SubFOp>(fraction, wide.real(1.0)), inverse);
  Value square = wide.make<arith::MulFOp>(s, s);
  Value log = wide.fma(wide.polynomial(square, p), s,
                       wide.toReal<arith::SIToFPOp>(exponent));
  Value infinity = wide.real(std::numeric_limits<double>::infinity());
  log = wide.selectIf(arith::CmpFPredicate::OEQ, x, wide.real(0.0),
                      wide.make<arith::NegFOp>(infinity), log);
  return wide.selectIf(arith::CmpFPredicate::OEQ, x, infinity, infinity, log);
}

/// 2^x in f32; 0 below the least normal number.
static Value getExp2(FloatMath &wide, FloatMath &m, Value x) {
  Value rounder = wide.real(0x1.8p52);
  Value shifted = wide.make<arith::AddFOp>(x, rounder);
  Value rest = m.toReal<arith::TruncFOp>(
      wide.make<arith::SubFOp>(x, wide.make<arith::SubFOp>(shifted, rounder)));
  Value power = m.fma(m.polynomial(rest, kExp2Coefficients), rest, m.real(1.0));
  Value exponent = m.make<arith::ShLIOp>(
      m.toInteger<arith::TruncIOp>(wide.toBits(shifted)), m.integer(23));
  power = m.fromBits(m.make<arith::AddIOp>(m.toBits(power), exponent));
  Value isSmall = wide.compare(arith::CmpFPredicate::OLT, x, wide.real(-126.0));
  Value isLarge = wide.compare(arith::CmpFPredicate::OGE, x, wide.real(128.0));
  power = m.select(isSmall, m.real(0.0), power);
  return m.select(isLarge, m.real(std::numeric_limits<float>::infinity()),
                  power);
}

/// 2^(y · log2 |x|), with the exponent computed in f64, and C's rules for
/// signs, zeros, infinities and NaN.
Value nsacc::nsatile::expandPow(FloatMath &m, Value x, Value y) {
  using Predicate = arith::CmpFPredicate;
  FloatMath wide = m.inF64();
  Value zero = m.real(0.0), one = m.real(1.0);
  Value infinity = m.real(std::numeric_limits<float>::infinity());
  Value nan = m.real(std::numeric_limits<float>::quiet_NaN());
  Value magnitude = m.make<math::AbsFOp>(x);
  Value log = getLog2(wide, m, wide.toReal<arith::ExtFOp>(magnitude));
  Value result = getExp2(
      wide, m, wide.make<arith::MulFOp>(wide.toReal<arith::ExtFOp>(y), log));
  result = m.selectIf(Predicate::OEQ, magnitude, one, one, result);

  auto isWhole = [&](Value value) {
    return m.compare(Predicate::OEQ, m.make<math::FloorOp>(value), value);
  };
  Value yIsWhole = isWhole(y);
  Value isEven = isWhole(m.make<arith::MulFOp>(y, m.real(0.5)));
  Value sign = m.make<arith::XOrIOp>(m.toBits(x), m.toBits(magnitude));
  Value turned = m.fromBits(m.make<arith::XOrIOp>(m.toBits(result), sign));
  result = m.select(yIsWhole, m.select(isEven, result, turned), result);

  // Negative numbers have only whole powers.
  Value isNegative =
      m.make<arith::AndIOp>(m.compare(Predicate::OLT, x, zero),
                            m.compare(Predicate::OLT, magnitude, infinity));
  result = m.select(isNegative, m.select(yIsWhole, result, nan), result);
  result = m.selectIf(Predicate::UNO, x, y, nan, result);
  Value isOne = m.make<arith::OrIOp>(m.compare(Predicate::OEQ, x, one),
                                     m.compare(Predicate::OEQ, y, zero));
  return m.select(isOne, one, result);
}
