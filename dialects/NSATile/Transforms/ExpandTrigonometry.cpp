//===- ExpandTrigonometry.cpp - Sine and cosine of all of f32 -------------===//

#include "FloatMath.h"
#include <limits>

using namespace mlir;
using namespace nsacc::nsatile;

namespace {

/// A magnitude as quadrant · π / 2 + rest, with |rest| <= π / 4.
struct Angle {
  Value quadrant; // its lowest two bits count
  Value rest;
};

} // namespace

/// Bits of 2 / π behind 32 zeros, in overlapping pairs of words.
static constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e,         0xa2f9836e4e441529, 0x4e441529fc2757d1,
    0xfc2757d1f534ddc0, 0xf534ddc0db629599, 0xdb6295993c439041,
    0x3c439041fe5163ab};

/// Pair number `index` of the `count` pairs of words from `first` on.
static Value lookUp(FloatMath &wide, Value index, int64_t first,
                    int64_t count) {
  Value result = wide.integer(kTwoOverPi[first]);
  for (int64_t each = 1; each < count; ++each) {
    Value isBehind =
        wide.compare(arith::CmpIPredicate::sge, index, wide.integer(each));
    result =
        wide.select(isBehind, wide.integer(kTwoOverPi[first + each]), result);
  }
  return result;
}

/// Multiplies x by the 96 bits of 2 / π that matter for x: greater bits give
/// multiples of 4, smaller ones are below 2^-60. (Payne and Hanek: Radian
/// reduction for trigonometric functions.)
static Angle reduce(FloatMath &m, Value magnitude) {
  FloatMath wide = m.inF64();
  Value bits = wide.toInteger<arith::ExtUIOp>(m.toBits(magnitude));
  Value exponent = wide.make<arith::ShRUIOp>(bits, wide.integer(23));
  Value mantissa = wide.make<arith::OrIOp>(
      wide.make<arith::AndIOp>(bits, wide.integer(0x7fffff)),
      wide.integer(0x800000));
  // Place where the bits that matter begin; numbers below 2^-7 don't need them.
  Value offset = wide.make<arith::MaxSIOp>(
      wide.make<arith::SubIOp>(exponent, wide.integer(120)), wide.integer(0));
  Value index = wide.make<arith::ShRUIOp>(offset, wide.integer(5));
  Value shift = wide.make<arith::AndIOp>(offset, wide.integer(31));
  Value high = lookUp(wide, index, 0, 5), low = lookUp(wide, index, 2, 5);
  Value joined = wide.make<arith::ShRUIOp>(
      low, wide.make<arith::SubIOp>(wide.integer(64), shift));
  // A shift by 64 bits is undefined.
  joined = wide.select(
      wide.compare(arith::CmpIPredicate::eq, shift, wide.integer(0)),
      wide.integer(0), joined);
  high = wide.make<arith::OrIOp>(wide.make<arith::ShLIOp>(high, shift), joined);
  low = wide.make<arith::ShRUIOp>(wide.make<arith::ShLIOp>(low, shift),
                                  wide.integer(32));
  // The product is in units of 2^-62, without multiples of 4.
  Value product = wide.make<arith::AddIOp>(
      wide.make<arith::MulIOp>(mantissa, high),
      wide.make<arith::ShRUIOp>(wide.make<arith::MulIOp>(mantissa, low),
                                wide.integer(32)));
  Value half = wide.integer(int64_t{1} << 61);
  Value quadrant = wide.make<arith::ShRUIOp>(
      wide.make<arith::AddIOp>(product, half), wide.integer(62));
  Value rest = wide.make<arith::SubIOp>(
      product, wide.make<arith::ShLIOp>(quadrant, wide.integer(62)));
  Value angle = m.make<arith::MulFOp>(m.toReal<arith::SIToFPOp>(rest),
                                      m.real(0x1.921fb54442d18p-62));
  Value isSmall = m.compare(arith::CmpFPredicate::OLT, magnitude, m.real(0.5));
  return {
      m.select(isSmall, m.integer(0), m.toInteger<arith::TruncIOp>(quadrant)),
      m.select(isSmall, magnitude, angle)};
}

/// Sine of an angle of 0 <= quadrant < 4; NaN where x isn't finite.
static Value getSine(FloatMath &m, Value x, Value quadrant, Value rest) {
  // r + r³ · p(r²) and 1 - r² / 2 + r⁴ · q(r²).
  static constexpr float p[] = {-0x1.555546p-3f, 0x1.11073cp-7f,
                                -0x1.9943f2p-13f};
  static constexpr float q[] = {0x1.55554ap-5f, -0x1.6c0c34p-10f,
                                0x1.99eb9cp-16f};
  Value square = m.make<arith::MulFOp>(rest, rest);
  Value sine = m.make<arith::MulFOp>(m.polynomial(square, p), square);
  sine = m.fma(sine, rest, rest);
  Value cosine = m.fma(square, m.real(-0.5), m.real(1.0));
  cosine = m.fma(m.make<arith::MulFOp>(square, square), m.polynomial(square, q),
                 cosine);
  auto hasBit = [&](int64_t bit) {
    return m.compare(arith::CmpIPredicate::ne,
                     m.make<arith::AndIOp>(quadrant, m.integer(bit)),
                     m.integer(0));
  };
  Value result = m.select(hasBit(1), cosine, sine);
  result = m.select(hasBit(2), m.make<arith::NegFOp>(result), result);
  Value infinity = m.real(std::numeric_limits<float>::infinity());
  return m.selectIf(arith::CmpFPredicate::OLT, m.make<math::AbsFOp>(x),
                    infinity, result, m.make<arith::SubFOp>(x, x));
}

Value nsacc::nsatile::expandSin(FloatMath &m, Value x) {
  Value magnitude = m.make<math::AbsFOp>(x);
  Angle angle = reduce(m, magnitude);
  Value sine = getSine(m, x, angle.quadrant, angle.rest);
  // The sine is odd, for zeros too.
  Value sign = m.make<arith::XOrIOp>(m.toBits(x), m.toBits(magnitude));
  return m.fromBits(m.make<arith::XOrIOp>(m.toBits(sine), sign));
}

Value nsacc::nsatile::expandCos(FloatMath &m, Value x) {
  Angle angle = reduce(m, m.make<math::AbsFOp>(x));
  Value quadrant = m.make<arith::AddIOp>(angle.quadrant, m.integer(1));
  return getSine(m, x, quadrant, angle.rest);
}
