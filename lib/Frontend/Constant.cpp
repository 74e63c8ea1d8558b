//===- Constant.cpp - Compile-time values and their arithmetic ------------===//

#include "Constant.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>

using namespace nsacc::frontend;
using ast::Operator;
using llvm::AddOverflow;
using llvm::ArrayRef;
using llvm::format;
using llvm::MulOverflow;
using llvm::raw_string_ostream;
using llvm::StringRef;
using llvm::StringSwitch;
using llvm::SubOverflow;

StringRef nsacc::frontend::describe(ScalarType type) {
  switch (type) {
  case ScalarType::Int:
    return "an integer";
  case ScalarType::Real:
    return "a real number";
  case ScalarType::Bool:
    return "a condition";
  case ScalarType::DType:
    return "an element type";
  }
  llvm_unreachable("unknown type");
}

std::string nsacc::frontend::toString(const Constant &constant) {
  std::string text;
  raw_string_ostream os(text);
  switch (constant.type) {
  case ScalarType::Int:
    os << constant.integer;
    break;
  case ScalarType::Real:
    os << format("%g", constant.real);
    // 3 is an integer, 3.0 is not.
    if (text.find_first_not_of("-0123456789") == std::string::npos)
      os << ".0";
    break;
  case ScalarType::Bool:
    os << (constant.boolean ? "true" : "false");
    break;
  case ScalarType::DType:
    os << constant.dtype;
    break;
  }
  return text;
}

static Folded tooLarge() {
  return std::string("the result doesn't fit into a 64-bit integer");
}

static Folded toReal(double value) {
  if (std::isnan(value))
    return std::string("the result isn't a number");
  return Constant::ofReal(value);
}

Folded nsacc::frontend::foldUnary(Operator op, const Constant &operand) {
  if (op == Operator::Not)
    return Constant::ofBool(!operand.boolean);
  if (operand.type == ScalarType::Real) {
    Constant negated = operand;
    negated.real = -negated.real;
    return negated;
  }
  int64_t result;
  return SubOverflow<int64_t>(0, operand.integer, result)
             ? tooLarge()
             : Folded(Constant::ofInt(result));
}

/// Computes floordiv, ceildiv and mod. Divisors are positive or negative, not
/// 0.
static Folded foldDivision(Operator op, int64_t lhs, int64_t rhs) {
  if (rhs == 0)
    return std::string("division by zero");
  if (rhs == -1) {
    if (op == Operator::Mod)
      return Constant::ofInt(0);
    return foldUnary(Operator::Negate, Constant::ofInt(lhs));
  }
  int64_t quotient = lhs / rhs, remainder = lhs % rhs;
  bool inexact = remainder != 0, negative = (lhs < 0) != (rhs < 0);
  if (op == Operator::FloorDiv)
    return Constant::ofInt(quotient - (inexact && negative));
  if (op == Operator::CeilDiv)
    return Constant::ofInt(quotient + (inexact && !negative));
  return Constant::ofInt(remainder + (inexact && negative ? rhs : 0));
}

static Folded foldInt(Operator op, int64_t lhs, int64_t rhs) {
  int64_t result;
  switch (op) {
  case Operator::Add:
    return AddOverflow(lhs, rhs, result) ? tooLarge()
                                         : Folded(Constant::ofInt(result));
  case Operator::Subtract:
    return SubOverflow(lhs, rhs, result) ? tooLarge()
                                         : Folded(Constant::ofInt(result));
  case Operator::Multiply:
    return MulOverflow(lhs, rhs, result) ? tooLarge()
                                         : Folded(Constant::ofInt(result));
  default:
    return foldDivision(op, lhs, rhs);
  }
}

static Folded foldReal(Operator op, double lhs, double rhs) {
  switch (op) {
  case Operator::Add:
    return toReal(lhs + rhs);
  case Operator::Subtract:
    return toReal(lhs - rhs);
  case Operator::Multiply:
    return toReal(lhs * rhs);
  default:
    return rhs == 0 ? Folded(std::string("division by zero"))
                    : toReal(lhs / rhs);
  }
}

template <typename Number>
static bool compare(Operator op, Number lhs, Number rhs) {
  switch (op) {
  case Operator::Less:
    return lhs < rhs;
  case Operator::LessEqual:
    return lhs <= rhs;
  case Operator::Greater:
    return lhs > rhs;
  case Operator::GreaterEqual:
    return lhs >= rhs;
  case Operator::Equal:
    return lhs == rhs;
  default:
    return lhs != rhs;
  }
}

static bool isComparison(Operator op) {
  return op >= Operator::Less && op <= Operator::NotEqual;
}

Folded nsacc::frontend::foldBinary(Operator op, const Constant &lhs,
                                   const Constant &rhs) {
  if (lhs.type == ScalarType::Bool) {
    if (op == Operator::And)
      return Constant::ofBool(lhs.boolean && rhs.boolean);
    if (op == Operator::Or)
      return Constant::ofBool(lhs.boolean || rhs.boolean);
    return Constant::ofBool(compare(op, lhs.boolean, rhs.boolean));
  }
  if (lhs.type == ScalarType::Int) {
    if (isComparison(op))
      return Constant::ofBool(compare(op, lhs.integer, rhs.integer));
    return foldInt(op, lhs.integer, rhs.integer);
  }
  if (isComparison(op))
    return Constant::ofBool(compare(op, lhs.real, rhs.real));
  return foldReal(op, lhs.real, rhs.real);
}

static double apply(StringRef name, double x) {
  using Function = double (*)(double);
  auto function =
      StringSwitch<Function>(name)
          .Case("exp", [](double x) { return std::exp(x); })
          .Case("exp2", [](double x) { return std::exp2(x); })
          .Case("log", [](double x) { return std::log(x); })
          .Case("log2", [](double x) { return std::log2(x); })
          .Case("sqrt", [](double x) { return std::sqrt(x); })
          .Case("tanh", [](double x) { return std::tanh(x); })
          .Case("sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); })
          .Case("silu", [](double x) { return x / (1 + std::exp(-x)); })
          .Case("relu", [](double x) { return x < 0 ? 0 : x; })
          .Case("gelu",
                [](double x) { return x / 2 * (1 + std::erf(x * M_SQRT1_2)); })
          .Case("erf", [](double x) { return std::erf(x); })
          .Case("sin", [](double x) { return std::sin(x); })
          .Case("cos", [](double x) { return std::cos(x); })
          .Case("floor", [](double x) { return std::floor(x); })
          .Case("abs", [](double x) { return std::fabs(x); })
          .Default(nullptr);
  assert(function && "not a function of one real");
  return function(x);
}

static Folded foldExtremum(bool isMin, ArrayRef<Constant> arguments) {
  Operator better = isMin ? Operator::Less : Operator::Greater;
  Constant best = arguments.front();
  for (const Constant &other : arguments.drop_front())
    if (foldBinary(better, other, best).value->boolean)
      best = other;
  return best;
}

Folded nsacc::frontend::foldFunction(StringRef name,
                                     ArrayRef<Constant> arguments) {
  if (name == "min" || name == "max")
    return foldExtremum(name == "min", arguments);
  const Constant &first = arguments.front();
  if (name == "abs" && first.type == ScalarType::Int)
    return first.integer < 0 ? foldUnary(Operator::Negate, first)
                             : Folded(first);
  if (name == "pow")
    return toReal(std::pow(first.real, arguments[1].real));
  if (name == "softcap") {
    double cap = arguments[1].real;
    return cap == 0 ? Folded(std::string("division by zero"))
                    : toReal(cap * std::tanh(first.real / cap));
  }
  return toReal(apply(name, first.real));
}

Folded nsacc::frontend::foldTruncate(double value) {
  double truncated = std::trunc(value);
  // 2^63 is the first double above every int64.
  constexpr double limit = 9223372036854775808.0;
  if (!(truncated >= -limit && truncated < limit))
    return tooLarge();
  return Constant::ofInt(static_cast<int64_t>(truncated));
}
