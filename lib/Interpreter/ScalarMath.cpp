//===- ScalarMath.cpp - Operations of the math dialect in scalar code -----===//

#include "ScalarOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace nsacc::interpreter;

using Maker = StepFunction (*)(unsigned, llvm::ArrayRef<unsigned>);

/// `function` must capture nothing.
template <typename Signature, typename F> static Maker make(F) {
  static_assert(std::is_empty_v<F>);
  return [](unsigned result, llvm::ArrayRef<unsigned> operands) {
    return Elementwise<Signature>::make(F(), result, operands);
  };
}

template <typename F> static Maker unary(F f) {
  return make<double(double)>(f);
}

template <typename F> static Maker binary(F f) {
  return make<double(double, double)>(f);
}

template <typename F> static Maker test(F f) {
  return make<int64_t(double)>(f);
}

static double roundToEven(double x) {
  double magnitude = std::fabs(x);
  double down = std::floor(magnitude), part = magnitude - down;
  bool up = part > 0.5 || (part == 0.5 && std::fmod(down, 2) == 1);
  return std::copysign(up ? down + 1 : down, x);
}

static double integerPower(double base, int64_t exponent) {
  return std::pow(base, static_cast<double>(exponent));
}

static const llvm::StringMap<Maker> &getMakers() {
  static const llvm::StringMap<Maker> makers = {
      {"math.absf", unary([](double x) { return std::fabs(x); })},
      {"math.acos", unary([](double x) { return std::acos(x); })},
      {"math.asin", unary([](double x) { return std::asin(x); })},
      {"math.atan", unary([](double x) { return std::atan(x); })},
      {"math.cbrt", unary([](double x) { return std::cbrt(x); })},
      {"math.ceil", unary([](double x) { return std::ceil(x); })},
      {"math.cos", unary([](double x) { return std::cos(x); })},
      {"math.cosh", unary([](double x) { return std::cosh(x); })},
      {"math.erf", unary([](double x) { return std::erf(x); })},
      {"math.erfc", unary([](double x) { return std::erfc(x); })},
      {"math.exp", unary([](double x) { return std::exp(x); })},
      {"math.exp2", unary([](double x) { return std::exp2(x); })},
      {"math.expm1", unary([](double x) { return std::expm1(x); })},
      {"math.floor", unary([](double x) { return std::floor(x); })},
      {"math.log", unary([](double x) { return std::log(x); })},
      {"math.log10", unary([](double x) { return std::log10(x); })},
      {"math.log1p", unary([](double x) { return std::log1p(x); })},
      {"math.log2", unary([](double x) { return std::log2(x); })},
      {"math.round", unary([](double x) { return std::round(x); })},
      {"math.roundeven", unary([](double x) { return roundToEven(x); })},
      {"math.rsqrt", unary([](double x) { return 1 / std::sqrt(x); })},
      {"math.sin", unary([](double x) { return std::sin(x); })},
      {"math.sinh", unary([](double x) { return std::sinh(x); })},
      {"math.sqrt", unary([](double x) { return std::sqrt(x); })},
      {"math.tan", unary([](double x) { return std::tan(x); })},
      {"math.tanh", unary([](double x) { return std::tanh(x); })},
      {"math.trunc", unary([](double x) { return std::trunc(x); })},
      {"math.atan2",
       binary([](double y, double x) { return std::atan2(y, x); })},
      {"math.copysign",
       binary([](double x, double y) { return std::copysign(x, y); })},
      {"math.powf", binary([](double x, double y) { return std::pow(x, y); })},
      {"math.fpowi", make<double(double, int64_t)>([](double x, int64_t n) {
         return integerPower(x, n);
       })},
      {"math.fma",
       make<double(double, double, double)>(
           [](double x, double y, double z) { return std::fma(x, y, z); })},
      {"math.absi", make<int64_t(int64_t)>([](int64_t x) {
         return static_cast<int64_t>(x < 0 ? 0 - static_cast<uint64_t>(x) : x);
       })},
      {"math.isfinite",
       test([](double x) -> int64_t { return std::isfinite(x); })},
      {"math.isinf", test([](double x) -> int64_t { return std::isinf(x); })},
      {"math.isnan", test([](double x) -> int64_t { return std::isnan(x); })},
      {"math.isnormal",
       test([](double x) -> int64_t { return std::isnormal(x); })},
  };
  return makers;
}

StepFunction
nsacc::interpreter::makeMathStep(mlir::Operation *op, unsigned result,
                                 llvm::ArrayRef<unsigned> operands) {
  auto maker = getMakers().find(op->getName().getStringRef());
  if (maker == getMakers().end())
    return nullptr;
  return maker->second(result, operands);
}
