//===- ExpandMath.cpp - Mathematical functions as polynomials -------------===//

#include "FloatMath.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEEXPANDMATH
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

namespace {

/// Adding this constant rounds to an integer and puts it into the lowest bits.
constexpr float kRounder = 0x1.8p23f;

/// `power` · 2^n, for n in the lowest bits of `shifted` and power · 2^n a
/// normal number; 0 for x below `least`, infinity above `greatest`, NaN for
/// NaN.
Value scale(FloatMath &m, Value x, Value power, Value shifted, float least,
            float greatest) {
  Value exponent = m.make<arith::ShLIOp>(m.toBits(shifted), m.integer(23));
  Value result = m.fromBits(m.make<arith::AddIOp>(m.toBits(power), exponent));
  result = m.selectIf(arith::CmpFPredicate::OLT, x, m.real(least), m.real(0.0f),
                      result);
  Value infinity = m.real(std::numeric_limits<float>::infinity());
  result = m.selectIf(arith::CmpFPredicate::OGT, x, m.real(greatest), infinity,
                      result);
  return m.selectIf(arith::CmpFPredicate::UNO, x, x, x, result);
}

/// exp x = 2^n · exp r with |r| <= ln(2) / 2.
Value expandExp(FloatMath &m, Value x) {
  // 1 + r + r² · q(r): q minimizes the greatest relative error (Remez).
  static constexpr float q[] = {0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558f8p-5f,
                                0x1.123b02p-7f, 0x1.6a2256p-10f};
  // ln 2 in two parts, the first with few bits.
  constexpr float ln2High = 0.693359375f, ln2Low = -0x1.bd0106p-13f;
  Value shifted = m.fma(x, m.real(0x1.715476p0f), m.real(kRounder));
  Value n = m.make<arith::SubFOp>(shifted, m.real(kRounder));
  Value r = m.fma(n, m.real(-ln2High), x);
  r = m.fma(n, m.real(-ln2Low), r);
  Value square = m.make<arith::MulFOp>(r, r);
  Value power = m.fma(m.polynomial(r, q), square, r);
  power = m.make<arith::AddFOp>(power, m.real(1.0f));
  return scale(m, x, power, shifted, /*least=*/-0x1.5d589ep6f,
               /*greatest=*/0x1.62e42ep6f);
}

/// exp2 x = 2^n · exp2 r with |r| <= 1 / 2.
Value expandExp2(FloatMath &m, Value x) {
  Value shifted = m.make<arith::AddFOp>(x, m.real(kRounder));
  Value n = m.make<arith::SubFOp>(shifted, m.real(kRounder));
  Value r = m.make<arith::SubFOp>(x, n);
  Value power = m.fma(m.polynomial(r, kExp2Coefficients), r, m.real(1.0f));
  return scale(m, x, power, shifted, /*least=*/-126.0f,
               /*greatest=*/0x1.fffffep6f);
}

/// `small` for magnitudes below 1, `large` for others, with the sign of x.
Value choose(FloatMath &m, Value x, Value magnitude, Value small, Value large) {
  Value value = m.selectIf(arith::CmpFPredicate::OLT, magnitude, m.real(1.0f),
                           small, large);
  return m.make<math::CopySignOp>(value, x);
}

/// x + x · p(x²) for |x| < 1, beyond it 1 - exp(q(|x|)).
Value expandErf(FloatMath &m, Value x) {
  static constexpr float p[] = {
      0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90ep-6f,
      0x1.5405b2p-8f, -0x1.a3f7p-11f,  0x1.496a32p-14f};
  // The logarithm of 1 - erf: the greater 1 - erf is, the more exact.
  static constexpr float q[] = {
      0x1.8b3f3ep-13f, -0x1.212c2cp0f,  -0x1.4434fp-1f,  -0x1.bc18dp-4f,
      0x1.9d0bd6p-6f,  -0x1.1398fcp-8f, 0x1.ceeaf4p-12f, -0x1.6c0698p-16f};
  Value magnitude = m.make<math::AbsFOp>(x);
  Value square = m.make<arith::MulFOp>(x, x);
  Value small = m.fma(m.polynomial(square, p), magnitude, magnitude);
  // From 4 on it is 1.
  Value bounded = m.selectIf(arith::CmpFPredicate::OGT, magnitude, m.real(4.0f),
                             m.real(4.0f), magnitude);
  Value rest = expandExp(m, m.polynomial(bounded, q));
  Value large = m.make<arith::SubFOp>(m.real(1.0f), rest);
  return choose(m, x, magnitude, small, large);
}

/// x + x³ · p(x²) for |x| < 1, beyond it 1 - 2 / (exp(2 |x|) + 1).
Value expandTanh(FloatMath &m, Value x) {
  static constexpr float p[] = {
      -0x1.55553cp-2f, 0x1.110be2p-3f, -0x1.b96222p-5f, 0x1.600992p-6f,
      -0x1.0460c6p-7f, 0x1.2da4fap-9f, -0x1.77dd38p-12f};
  Value magnitude = m.make<math::AbsFOp>(x);
  Value square = m.make<arith::MulFOp>(x, x);
  Value small = m.make<arith::MulFOp>(m.polynomial(square, p), square);
  small = m.fma(small, magnitude, magnitude);
  Value exp = expandExp(m, m.make<arith::AddFOp>(magnitude, magnitude));
  Value rest = m.make<arith::DivFOp>(m.real(2.0f),
                                     m.make<arith::AddFOp>(exp, m.real(1.0f)));
  Value large = m.make<arith::SubFOp>(m.real(1.0f), rest);
  return choose(m, x, magnitude, small, large);
}

template <typename OpTy, Value (*expand)(FloatMath &, Value)>
struct Expand : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32() || isa<TensorType>(type))
      return failure();
    FloatMath math(rewriter, op.getLoc(), type);
    rewriter.replaceOp(op, expand(math, op.getOperand()));
    return success();
  }
};

/// A small whole number that equals `exponent` everywhere; 0 if there is none.
int64_t getSmallPower(Value exponent) {
  APFloat power(0.0f);
  if (!matchPattern(exponent, m_ConstantFloat(&power)))
    return 0;
  for (int64_t each : {1, 2, 3, 4})
    if (power.convertToDouble() == each)
      return each;
  return 0;
}

/// pow x 3 -> x · x · x; other powers by expandPow
struct ExpandPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32() || isa<TensorType>(type))
      return failure();
    FloatMath m(rewriter, op.getLoc(), type);
    Value result = op.getLhs();
    int64_t power = getSmallPower(op.getRhs());
    for (int64_t count = 1; count < power; ++count)
      result = m.make<arith::MulFOp>(result, op.getLhs());
    rewriter.replaceOp(op,
                       power ? result : expandPow(m, op.getLhs(), op.getRhs()));
    return success();
  }
};

/// log x -> log(2^24 x) - log 2^24 where x is subnormal: the approximation
/// reads an exponent from the bits of x.
template <typename OpTy> void scaleSubnormals(OpTy op, double unit) {
  Type type = op.getType();
  if (!getElementTypeOrSelf(type).isF32() || isa<TensorType>(type))
    return;
  OpBuilder builder(op);
  FloatMath m(builder, op.getLoc(), type);
  Value x = op.getOperand();
  Value isSubnormal = m.compare(arith::CmpFPredicate::OLT, x, m.real(0x1p-126));
  Value scaled = m.make<arith::MulFOp>(x, m.real(0x1p24));
  op->setOperand(0, m.select(isSubnormal, scaled, x));
  builder.setInsertionPointAfter(op);
  Value shift = m.select(isSubnormal, m.real(-24 * unit), m.real(0));
  Value shifted = m.make<arith::AddFOp>(op.getResult(), shift);
  op.getResult().replaceAllUsesExcept(shifted, shifted.getDefiningOp());
}

struct ExpandMath : nsacc::nsatile::impl::NSATileExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case(
              [](math::LogOp log) { scaleSubnormals(log, llvm::numbers::ln2); })
          .Case([](math::Log2Op log) { scaleSubnormals(log, 1); });
    });
    RewritePatternSet patterns(&getContext());
    patterns
        .add<Expand<math::ExpOp, expandExp>, Expand<math::Exp2Op, expandExp2>,
             Expand<math::ErfOp, expandErf>, Expand<math::TanhOp, expandTanh>,
             Expand<math::SinOp, expandSin>, Expand<math::CosOp, expandCos>,
             ExpandPower>(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == "math.log" || name == "math.log2";
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
