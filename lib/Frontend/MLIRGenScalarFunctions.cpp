//===- MLIRGenScalarFunctions.cpp - Functions of scalars ------------------===//

#include "ScalarGen.h"
#include "Spellings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

ArrayRef<StringRef> nsacc::frontend::getScalarFunctions() {
  static const StringRef names[] = {
      "abs",     "cos",  "erf",  "exp",     "exp2", "float", "floor", "gelu",
      "int",     "log",  "log2", "max",     "min",  "pow",   "relu",  "select",
      "sigmoid", "silu", "sin",  "softcap", "sqrt", "tanh"};
  return names;
}

bool nsacc::frontend::isScalarFunction(StringRef name) {
  return llvm::is_contained(getScalarFunctions(), name);
}

bool nsacc::frontend::reportCalled(Problems &problems, const Symbols &symbols,
                                   const ast::CallExpr *call) {
  StringRef name = call->callee.text;
  auto found = symbols.find(name);
  if (found == symbols.end())
    return false;
  const Symbol &symbol = found->second;
  symbol.isUsed = true;
  bool isDim = symbol.kind == Symbol::Kind::Dim;
  if (!isDim && symbol.bound.isUnknown())
    return true;
  bool isTable = symbol.kind == Symbol::Kind::Input;
  problems
      .error(call->callee.range, quote(name) + " is no function but " +
                                     (isDim     ? StringRef("a dimension")
                                      : isTable ? StringRef("an input")
                                                : describe(symbol.bound.kind)))
      .note(isTable
                ? "indices stand in square brackets, as in '" + name + "[b, i]'"
                : Twine("insert an operator in front of '('"))
      .note(symbol.range, quote(name) + " is defined here");
  return true;
}

/// The domain of a function of constants, if it isn't every number.
static StringRef describeDomain(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"log", "log2"}, "a logarithm takes numbers above 0")
      .Case("sqrt", "a root takes numbers from 0")
      .Case("pow", "negative numbers have powers with whole exponents only")
      .Default("");
}

namespace {
struct Arity {
  unsigned least, most;
};
} // namespace

static Arity getArity(StringRef name) {
  if (name == "min" || name == "max")
    return {2, ~0u};
  if (name == "pow" || name == "softcap")
    return {2, 2};
  if (name == "select")
    return {3, 3};
  return {1, 1};
}

bool ScalarGen::checkArguments(const ast::CallExpr *expr) {
  StringRef name = expr->callee.text;
  for (const ast::Argument &argument : expr->arguments)
    if (argument.label) {
      problems
          .error(argument.label->range, quote(name) + " has no named arguments")
          .note("write the value alone");
      return false;
    }
  Arity arity = getArity(name);
  size_t found = expr->arguments.size();
  if (found >= arity.least && found <= arity.most)
    return true;
  problems
      .error(expr->range, quote(name) + " takes " + Twine(arity.least) +
                              (arity.most > arity.least ? " or more" : "") +
                              (arity.most == 1 ? " argument" : " arguments") +
                              ", found " + Twine(found))
      .note(name == "select"    ? "write select(condition, a, b)"
            : name == "softcap" ? "write softcap(x, cap)"
            : name == "pow"     ? "write pow(base, exponent)"
            : arity.least == 2  ? "write " + name.str() + "(a, b)"
                                : "write " + name.str() + "(x)");
  return false;
}

std::optional<Scalar> ScalarGen::generateCall(const ast::CallExpr *expr) {
  StringRef name = expr->callee.text;
  if (name == "start" || name == "end")
    return generateExtent(expr);
  if (!isScalarFunction(name)) {
    if (reportCalled(problems, symbols, expr))
      return std::nullopt;
    Problem &problem =
        problems.error(expr->callee.range,
                       "unknown function " + quote(name) + " " + scope.place);
    SmallVector<StringRef> known(getScalarFunctions());
    if (scope.keys)
      known.append({"start", "end"});
    if (name == "softmax" && scope.softmax)
      problem.note("write 'weight softmax', or leave 'weight' out");
    else if (isTensorFunction(name))
      problem.note(quote(name) +
                   " computes a tensor: give it a statement of "
                   "its own" +
                   (scope.tables ? "; clauses read inputs only, so that one "
                                   "kernel computes it and another reads it"
                                 : ""));
    else if (StringRef spelling = explainFunction(name); !spelling.empty())
      problem.note(spelling);
    else
      problem.suggest(name, known);
    if (problem.notes.empty())
      problem.note("functions of numbers are " + llvm::join(known, ", "));
    return std::nullopt;
  }
  if (!checkArguments(expr))
    return std::nullopt;

  SmallVector<Scalar> arguments;
  for (const ast::Argument &argument : expr->arguments)
    if (Result scalar = generate(argument.value))
      arguments.push_back(*scalar);
  if (arguments.size() != expr->arguments.size())
    return std::nullopt;
  if (name == "select")
    return generateSelect(expr, arguments);
  for (auto [index, scalar] : llvm::enumerate(arguments))
    if (!expectNumber(scalar, expr->arguments[index].value->range, name))
      return std::nullopt;
  if (name == "int" || name == "float")
    return generateConversion(expr, arguments.front());

  bool takesInts = name == "min" || name == "max" || name == "abs";
  bool real = !takesInts || llvm::any_of(arguments, [](const Scalar &scalar) {
    return scalar.type == ScalarType::Real;
  });
  SmallVector<Constant> constants;
  for (auto [index, scalar] : llvm::enumerate(arguments)) {
    if (real)
      scalar = toReal(scalar, expr->arguments[index].value->range);
    if (scalar.constant)
      constants.push_back(*scalar.constant);
  }
  if (constants.size() == arguments.size()) {
    if ((name == "log" || name == "log2") && constants.front().asReal() == 0)
      problems.warning(expr->range, kLogarithmOfZero)
          .note("write '-inf' if that is meant; keys are hidden with 'where'");
    return reportFolded(foldFunction(name, constants), expr->range,
                        describeDomain(name));
  }
  if (name == "softcap" && arguments[1].constant &&
      !checkCap(*arguments[1].constant, expr->arguments[1].value->range))
    return std::nullopt;

  if (name == "softcap" && arguments[0].constant) {
    auto getText = [&](unsigned index) {
      return source.getText(expr->arguments[index].value->range);
    };
    problems.warning(expr->range, "the cap comes second: this caps a constant")
        .note("write 'softcap(" + getText(1) + ", " + getText(0) + ")'");
  }

  SmallVector<Value> values;
  for (auto [index, scalar] : llvm::enumerate(arguments))
    values.push_back(materialize(scalar, expr->arguments[index].value->range));
  if (llvm::is_contained(values, Value()))
    return std::nullopt;
  Location loc = getLoc(expr->range);
  if (real)
    return Scalar(ScalarType::Real, emitFunction(name, values, loc));
  return Scalar(ScalarType::Int, emitIntFunction(name, values, loc));
}

bool ScalarGen::checkCap(const Constant &cap, Range range) {
  if (cap.real != 0)
    return true;
  problems
      .error(range, "the cap of 'softcap' is 0, and softcap(x, c) is "
                    "c * tanh(x / c)")
      .note("where there is no cap, write the score without softcap; a large "
            "cap, such as 1e4, changes next to nothing");
  return false;
}

std::optional<Scalar> ScalarGen::generateSelect(const ast::CallExpr *expr,
                                                ArrayRef<Scalar> arguments) {
  auto getRange = [&](unsigned index) {
    return expr->arguments[index].value->range;
  };
  if (arguments[0].type != ScalarType::Bool) {
    problems
        .error(getRange(0), "'select' needs a condition first, found " +
                                describe(arguments[0].type))
        .note("write select(condition, a, b)");
    return std::nullopt;
  }
  Scalar then = arguments[1], otherwise = arguments[2];
  if (then.isNumber() && otherwise.isNumber() && then.type != otherwise.type) {
    then = toReal(then, getRange(1));
    otherwise = toReal(otherwise, getRange(2));
  }
  if (then.type != otherwise.type) {
    problems
        .error(getRange(2), "'select' chooses between values of one type, "
                            "found " +
                                describe(then.type) + " and " +
                                describe(otherwise.type))
        .note("give two numbers or two conditions");
    return std::nullopt;
  }
  if (arguments[0].constant)
    return arguments[0].constant->boolean ? then : otherwise;
  Value left = materialize(then, getRange(1));
  Value right = materialize(otherwise, getRange(2));
  if (!left || !right)
    return std::nullopt;
  Value result = arith::SelectOp::create(builder, getLoc(expr->range),
                                         arguments[0].value, left, right);
  return Scalar(then.type, result);
}

std::optional<Scalar> ScalarGen::generateConversion(const ast::CallExpr *expr,
                                                    const Scalar &argument) {
  if (expr->callee.text == "float")
    return toReal(argument, expr->range);
  if (argument.type == ScalarType::Int)
    return argument;
  if (argument.constant)
    return reportFolded(foldTruncate(argument.constant->real), expr->range);
  Location loc = getLoc(expr->range);
  Value wide = arith::FPToSIOp::create(builder, loc, builder.getI64Type(),
                                       argument.value);
  Value result =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), wide);
  return Scalar(ScalarType::Int, result);
}

Value ScalarGen::emitIntFunction(StringRef name, ArrayRef<Value> arguments,
                                 Location loc) {
  Value result = arguments.front();
  if (name == "abs") {
    Value negated =
        arith::SubIOp::create(builder, loc, emitInt(0, loc), result);
    return arith::MaxSIOp::create(builder, loc, result, negated);
  }
  for (Value other : arguments.drop_front())
    result =
        name == "min"
            ? arith::MinSIOp::create(builder, loc, result, other).getResult()
            : arith::MaxSIOp::create(builder, loc, result, other).getResult();
  return result;
}

template <typename Op>
static Value emitUnary(OpBuilder &builder, Location loc, Value x) {
  return Op::create(builder, loc, x);
}

/// Functions that are one op of the math dialect.
static Value emitMath(OpBuilder &builder, Location loc, StringRef name,
                      Value x) {
  using Emit = Value (*)(OpBuilder &, Location, Value);
  Emit emit = llvm::StringSwitch<Emit>(name)
                  .Case("abs", emitUnary<math::AbsFOp>)
                  .Case("cos", emitUnary<math::CosOp>)
                  .Case("erf", emitUnary<math::ErfOp>)
                  .Case("exp", emitUnary<math::ExpOp>)
                  .Case("exp2", emitUnary<math::Exp2Op>)
                  .Case("floor", emitUnary<math::FloorOp>)
                  .Case("log", emitUnary<math::LogOp>)
                  .Case("log2", emitUnary<math::Log2Op>)
                  .Case("sin", emitUnary<math::SinOp>)
                  .Case("sqrt", emitUnary<math::SqrtOp>)
                  .Case("tanh", emitUnary<math::TanhOp>)
                  .Default(nullptr);
  return emit ? emit(builder, loc, x) : Value();
}

Value ScalarGen::emitFunction(StringRef name, ArrayRef<Value> arguments,
                              Location loc) {
  Value x = arguments.front();
  if (name == "min" || name == "max") {
    for (Value other : arguments.drop_front())
      x = name == "min"
              ? arith::MinimumFOp::create(builder, loc, x, other).getResult()
              : arith::MaximumFOp::create(builder, loc, x, other).getResult();
    return x;
  }
  if (name == "pow")
    return math::PowFOp::create(builder, loc, x, arguments[1]);
  if (name == "softcap") {
    Value ratio = arith::DivFOp::create(builder, loc, x, arguments[1]);
    Value tanh = math::TanhOp::create(builder, loc, ratio);
    return arith::MulFOp::create(builder, loc, arguments[1], tanh);
  }
  if (name == "relu")
    return arith::MaximumFOp::create(builder, loc, x, emitReal(0, loc));
  if (name == "sigmoid" || name == "silu") {
    Value negated = arith::NegFOp::create(builder, loc, x);
    Value exp = math::ExpOp::create(builder, loc, negated);
    Value one = emitReal(1, loc);
    Value divisor = arith::AddFOp::create(builder, loc, one, exp);
    return arith::DivFOp::create(builder, loc, name == "silu" ? x : one,
                                 divisor);
  }
  if (name == "gelu") {
    Value scaled =
        arith::MulFOp::create(builder, loc, x, emitReal(M_SQRT1_2, loc));
    Value erf = math::ErfOp::create(builder, loc, scaled);
    Value sum = arith::AddFOp::create(builder, loc, erf, emitReal(1, loc));
    Value half = arith::MulFOp::create(builder, loc, x, emitReal(0.5, loc));
    return arith::MulFOp::create(builder, loc, half, sum);
  }
  Value result = emitMath(builder, loc, name, x);
  assert(result && "not a function of reals");
  return result;
}
