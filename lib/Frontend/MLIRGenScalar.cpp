//===- MLIRGenScalar.cpp - Operators of scalar expressions ----------------===//

#include "ScalarGen.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using ast::Operator;
using llvm::Twine;

ScalarGen::ScalarGen(const Source &source, Problems &problems,
                     const Symbols &symbols, const ScalarScope &scope,
                     OpBuilder &builder)
    : source(source), problems(problems), symbols(symbols), scope(scope),
      builder(builder), file(builder.getStringAttr(source.getName())) {}

std::optional<Scalar> ScalarGen::generate(const ast::Expr *expr) {
  if (!expr)
    return std::nullopt;
  if (!clause)
    clause = expr;
  auto leaf = scope.leaves.find(expr);
  if (leaf != scope.leaves.end())
    return leaf->second;
  switch (expr->kind) {
  case ast::Expr::Kind::Integer:
    return Constant::ofInt(llvm::cast<ast::IntegerExpr>(expr)->value);
  case ast::Expr::Kind::Real:
    return Constant::ofLiteral(llvm::cast<ast::RealExpr>(expr)->value);
  case ast::Expr::Kind::Bool:
    return Constant::ofBool(llvm::cast<ast::BoolExpr>(expr)->value);
  case ast::Expr::Kind::Name:
    return generateName(llvm::cast<ast::NameExpr>(expr));
  case ast::Expr::Kind::Unary:
    return generateUnary(llvm::cast<ast::UnaryExpr>(expr));
  case ast::Expr::Kind::Binary:
    return generateBinary(llvm::cast<ast::BinaryExpr>(expr));
  case ast::Expr::Kind::Comparison:
    return generateComparison(llvm::cast<ast::ComparisonExpr>(expr));
  case ast::Expr::Kind::Call:
    return generateCall(llvm::cast<ast::CallExpr>(expr));
  case ast::Expr::Kind::Index:
    return generateIndex(llvm::cast<ast::IndexExpr>(expr));
  }
  llvm_unreachable("unknown expression");
}

Value ScalarGen::generate(const ast::Expr *expr, ScalarType type,
                          const Twine &what) {
  Result scalar = generate(expr);
  if (!scalar)
    return {};
  if (scalar->type == type)
    return materialize(*scalar, expr->range);
  if (type == ScalarType::Real && scalar->type == ScalarType::Int)
    return materialize(toReal(*scalar, expr->range), expr->range);
  Problem &problem =
      problems.error(expr->range, what + " must be " + describe(type) +
                                      ", found " + describe(scalar->type));
  if (type == ScalarType::Bool)
    problem.note("compare it with something, as in 'j <= i' or 'doc[i] != 0'");
  else if (scalar->type == ScalarType::Bool)
    problem.note("write select(condition, a, b) to choose between numbers");
  else if (type == ScalarType::Int)
    problem.note("int(x) cuts off the fraction of a real number");
  return {};
}

//===----------------------------------------------------------------------===//
// Values and conversions
//===----------------------------------------------------------------------===//

Value ScalarGen::emitInt(int64_t value, Location loc) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// A number that f32 can't hold is a constant of fp64, which each target rounds
/// to its reals.
Value ScalarGen::emitReal(double value, Location loc) {
  float rounded = static_cast<float>(value);
  if (rounded == value || std::isnan(value))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(rounded));
  Value exact =
      arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(value));
  return arith::TruncFOp::create(builder, loc, builder.getF32Type(), exact);
}

Value ScalarGen::materialize(const Scalar &scalar, Range range) {
  if (!scalar.constant)
    return scalar.value;
  Location loc = getLoc(range);
  switch (scalar.type) {
  case ScalarType::Int:
    return emitInt(scalar.constant->integer, loc);
  case ScalarType::Bool:
    return arith::ConstantOp::create(
        builder, loc, builder.getBoolAttr(scalar.constant->boolean));
  case ScalarType::DType:
    problems.error(range, "expected a value, found an element type")
        .note("element types stand in the types of inputs and results only");
    return {};
  case ScalarType::Real:
    break;
  }
  double value = scalar.constant->real;
  if (!std::isinf(value) && std::isinf(static_cast<float>(value))) {
    problems
        .error(range, "this number is too large for f32: " +
                          toString(*scalar.constant))
        .note("real numbers are computed in f32, up to 3.4e38; infinity is "
              "written 'inf'");
    return {};
  }
  return emitReal(
      scalar.constant->isLiteral ? static_cast<float>(value) : value, loc);
}

Scalar ScalarGen::toReal(const Scalar &scalar, Range range) {
  if (scalar.type == ScalarType::Real)
    return scalar;
  if (scalar.constant)
    return Constant::ofReal(scalar.constant->asReal());
  Location loc = getLoc(range);
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                          scalar.value);
  Value real =
      arith::SIToFPOp::create(builder, loc, builder.getF32Type(), wide);
  return Scalar(ScalarType::Real, real);
}

bool ScalarGen::expectNumber(const Scalar &scalar, Range range, StringRef op) {
  if (scalar.isNumber())
    return true;
  problems
      .error(range,
             quote(op) + " takes numbers, found " + describe(scalar.type))
      .note(scalar.type == ScalarType::Bool
                ? "combine conditions with 'and', 'or' and 'not'; "
                  "select(condition, a, b) chooses between numbers"
                : "element types stand in the types of inputs and results "
                  "only");
  return false;
}

std::optional<Scalar> ScalarGen::reportFolded(const Folded &folded, Range range,
                                              StringRef domain) {
  if (folded.value)
    return Scalar(*folded.value);
  Problem &problem = problems.error(range, folded.error);
  if (folded.error == "division by zero")
    problem.note("the divisor is known to be 0 when the program is compiled");
  else
    problem.note("this expression is computed when the program is compiled" +
                 (domain.empty() ? "" : "; " + domain.str()));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

std::optional<Scalar> ScalarGen::generateUnary(const ast::UnaryExpr *expr) {
  Result operand = generate(expr->operand);
  if (!operand)
    return std::nullopt;
  if (expr->op == Operator::Not) {
    if (operand->type != ScalarType::Bool) {
      problems
          .error(expr->operand->range,
                 "'not' takes a condition, found " + describe(operand->type))
          .note("'not' binds looser than comparisons: not a < b is "
                "not (a < b)");
      return std::nullopt;
    }
  } else if (!expectNumber(*operand, expr->operand->range, "-")) {
    return std::nullopt;
  }
  if (operand->constant)
    return reportFolded(foldUnary(expr->op, *operand->constant), expr->range);

  Location loc = getLoc(expr->range);
  if (expr->op == Operator::Not) {
    Value yes =
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    Value result = arith::XOrIOp::create(builder, loc, operand->value, yes);
    return Scalar(ScalarType::Bool, result);
  }
  if (operand->type == ScalarType::Real) {
    Value result = arith::NegFOp::create(builder, loc, operand->value);
    return Scalar(ScalarType::Real, result);
  }
  Value result =
      arith::SubIOp::create(builder, loc, emitInt(0, loc), operand->value);
  return Scalar(ScalarType::Int, result);
}

std::optional<Scalar> ScalarGen::generateLogic(const ast::BinaryExpr *expr,
                                               const Scalar &lhs,
                                               const Scalar &rhs) {
  for (auto [operand, scalar] :
       {std::pair(expr->lhs, &lhs), std::pair(expr->rhs, &rhs)})
    if (scalar->type != ScalarType::Bool) {
      problems
          .error(operand->range, quote(getSpelling(expr->op)) +
                                     " takes conditions, found " +
                                     describe(scalar->type))
          .note("compare it with something, as in 'j <= i'");
      return std::nullopt;
    }
  if (lhs.constant && rhs.constant)
    return reportFolded(foldBinary(expr->op, *lhs.constant, *rhs.constant),
                        expr->range);
  Location loc = getLoc(expr->range);
  Value left = materialize(lhs, expr->lhs->range);
  Value right = materialize(rhs, expr->rhs->range);
  Value result =
      expr->op == Operator::And
          ? arith::AndIOp::create(builder, loc, left, right).getResult()
          : arith::OrIOp::create(builder, loc, left, right).getResult();
  return Scalar(ScalarType::Bool, result);
}

static bool isIntegerDivision(Operator op) {
  return op == Operator::FloorDiv || op == Operator::CeilDiv ||
         op == Operator::Mod;
}

std::optional<Scalar> ScalarGen::generateBinary(const ast::BinaryExpr *expr) {
  Result lhs = generate(expr->lhs), rhs = generate(expr->rhs);
  if (!lhs || !rhs)
    return std::nullopt;
  Operator op = expr->op;
  if (op == Operator::And || op == Operator::Or)
    return generateLogic(expr, *lhs, *rhs);
  StringRef spelling = getSpelling(op);
  if (!expectNumber(*lhs, expr->lhs->range, spelling) ||
      !expectNumber(*rhs, expr->rhs->range, spelling))
    return std::nullopt;

  bool real = op == Operator::Divide || lhs->type == ScalarType::Real ||
              rhs->type == ScalarType::Real;
  if (real && isIntegerDivision(op)) {
    Range range =
        (lhs->type == ScalarType::Real ? expr->lhs : expr->rhs)->range;
    problems
        .error(range, quote(spelling) + " takes integers, found a real number")
        .note("write floor(a / b) to divide real numbers, or int(x) to cut "
              "off a fraction");
    return std::nullopt;
  }
  if (real) {
    lhs = toReal(*lhs, expr->lhs->range);
    rhs = toReal(*rhs, expr->rhs->range);
  }
  if (lhs->constant && rhs->constant)
    return reportFolded(foldBinary(op, *lhs->constant, *rhs->constant),
                        expr->range);
  bool zero = rhs->constant && rhs->constant->asReal() == 0;
  if (zero && (op == Operator::Divide || isIntegerDivision(op)))
    return reportFolded(std::string("division by zero"), expr->rhs->range);

  Value left = materialize(*lhs, expr->lhs->range);
  Value right = materialize(*rhs, expr->rhs->range);
  if (!left || !right)
    return std::nullopt;
  Value result = emitArithmetic(op, real, left, right, getLoc(expr->range));
  return Scalar(real ? ScalarType::Real : ScalarType::Int, result);
}

/// arith.remsi has the sign of the dividend; `mod` has the divisor's sign.
Value ScalarGen::emitMod(Value lhs, Value rhs, Location loc) {
  Value quotient = arith::FloorDivSIOp::create(builder, loc, lhs, rhs);
  Value whole = arith::MulIOp::create(builder, loc, quotient, rhs);
  Value rest = arith::SubIOp::create(builder, loc, lhs, whole);
  if (matchPattern(rhs, m_Constant()))
    return rest;
  // If the divisor became a constant 0, folding would drop the division and its
  // error.
  Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       rhs, emitInt(0, loc));
  return arith::SelectOp::create(builder, loc, isZero, quotient, rest);
}

Value ScalarGen::emitArithmetic(Operator op, bool real, Value lhs, Value rhs,
                                Location loc) {
  switch (op) {
  case Operator::Add:
    if (real)
      return arith::AddFOp::create(builder, loc, lhs, rhs);
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  case Operator::Subtract:
    if (real)
      return arith::SubFOp::create(builder, loc, lhs, rhs);
    return arith::SubIOp::create(builder, loc, lhs, rhs);
  case Operator::Multiply:
    if (real)
      return arith::MulFOp::create(builder, loc, lhs, rhs);
    return arith::MulIOp::create(builder, loc, lhs, rhs);
  case Operator::Divide:
    return arith::DivFOp::create(builder, loc, lhs, rhs);
  case Operator::FloorDiv:
    return arith::FloorDivSIOp::create(builder, loc, lhs, rhs);
  case Operator::CeilDiv:
    return arith::CeilDivSIOp::create(builder, loc, lhs, rhs);
  case Operator::Mod:
    return emitMod(lhs, rhs, loc);
  default:
    llvm_unreachable("not arithmetic");
  }
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

std::optional<Scalar>
ScalarGen::generateComparison(const ast::ComparisonExpr *expr) {
  SmallVector<Scalar> operands;
  for (const ast::Expr *operand : expr->operands)
    if (Result scalar = generate(operand))
      operands.push_back(*scalar);
  if (operands.size() != expr->operands.size())
    return std::nullopt;

  Result all;
  bool isWarned = false;
  for (auto [index, op] : llvm::enumerate(expr->ops)) {
    const ast::Expr *lhs = expr->operands[index],
                    *rhs = expr->operands[index + 1];
    Range range = join(lhs->range, rhs->range);
    isWarned = isWarned || checkWindows(lhs, rhs) || checkRows(lhs, rhs) ||
               checkDistance(lhs, rhs) || checkPast(op, lhs, rhs);
    Result one = compare(op, expr->opRanges[index], operands[index],
                         operands[index + 1], range);
    if (!one)
      return std::nullopt;
    if (!all) {
      all = one;
    } else if (all->constant && one->constant) {
      all = Constant::ofBool(all->constant->boolean && one->constant->boolean);
    } else {
      Value both = arith::AndIOp::create(builder, getLoc(expr->range),
                                         materialize(*all, expr->range),
                                         materialize(*one, range));
      all = Scalar(ScalarType::Bool, both);
    }
  }
  return all;
}

static arith::CmpIPredicate getIntPredicate(Operator op) {
  switch (op) {
  case Operator::Less:
    return arith::CmpIPredicate::slt;
  case Operator::LessEqual:
    return arith::CmpIPredicate::sle;
  case Operator::Greater:
    return arith::CmpIPredicate::sgt;
  case Operator::GreaterEqual:
    return arith::CmpIPredicate::sge;
  case Operator::Equal:
    return arith::CmpIPredicate::eq;
  default:
    return arith::CmpIPredicate::ne;
  }
}

/// A comparison with NaN is false, except `!=`.
static arith::CmpFPredicate getRealPredicate(Operator op) {
  switch (op) {
  case Operator::Less:
    return arith::CmpFPredicate::OLT;
  case Operator::LessEqual:
    return arith::CmpFPredicate::OLE;
  case Operator::Greater:
    return arith::CmpFPredicate::OGT;
  case Operator::GreaterEqual:
    return arith::CmpFPredicate::OGE;
  case Operator::Equal:
    return arith::CmpFPredicate::OEQ;
  default:
    return arith::CmpFPredicate::UNE;
  }
}

std::optional<Scalar> ScalarGen::compare(Operator op, Range opRange, Scalar lhs,
                                         Scalar rhs, Range range) {
  bool conditions =
      lhs.type == ScalarType::Bool && rhs.type == ScalarType::Bool;
  bool equality = op == Operator::Equal || op == Operator::NotEqual;
  if (!(lhs.isNumber() && rhs.isNumber()) && !(conditions && equality)) {
    problems
        .error(opRange, quote(getSpelling(op)) + " can't compare " +
                            describe(lhs.type) + " with " + describe(rhs.type))
        .note(conditions ? "compare conditions with '==' or '!='"
                         : "compare numbers with numbers; combine conditions "
                           "with 'and' and 'or'");
    return std::nullopt;
  }
  bool real = lhs.type == ScalarType::Real || rhs.type == ScalarType::Real;
  if (real) {
    lhs = toReal(lhs, range);
    rhs = toReal(rhs, range);
  }
  if (lhs.constant && rhs.constant)
    return reportFolded(foldBinary(op, *lhs.constant, *rhs.constant), range);
  Value left = materialize(lhs, range), right = materialize(rhs, range);
  if (!left || !right)
    return std::nullopt;
  Location loc = getLoc(range);
  Value result = real ? arith::CmpFOp::create(builder, loc,
                                              getRealPredicate(op), left, right)
                            .getResult()
                      : arith::CmpIOp::create(builder, loc, getIntPredicate(op),
                                              left, right)
                            .getResult();
  return Scalar(ScalarType::Bool, result);
}
