//===- SemaConstants.cpp - Compile-time values in kernels -----------------===//

#include "KernelGen.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

std::optional<Constant> KernelGen::evaluate(const ast::Expr *expr) {
  ScalarScope scope;
  scope.place = "in a compile-time constant";
  ScalarGen scalars(source, problems, symbols, scope, builder);
  std::optional<Scalar> scalar = scalars.generate(expr);
  return scalar ? scalar->constant : std::nullopt;
}

/// Whether it is a literal -1, which means "the rest" in other libraries.
static bool isMinusOne(const ast::Expr *expr) {
  const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr);
  return unary && llvm::isa<ast::IntegerExpr>(unary->operand);
}

std::optional<int64_t> KernelGen::evaluateInt(const ast::Expr *expr,
                                              const Twine &what, int64_t least,
                                              StringRef ofFraction) {
  std::optional<Constant> constant = evaluate(expr);
  if (!constant)
    return std::nullopt;
  if (constant->type != ScalarType::Int) {
    Problem &problem = problems.error(
        expr->range, what + " must be an integer, found " +
                         describe(constant->type) + ", " + toString(*constant));
    // A quotient is most likely to be a whole one.
    bool isFraction = constant->type == ScalarType::Real &&
                      constant->real < 1 && !llvm::isa<ast::BinaryExpr>(expr);
    problem.note(isFraction && !ofFraction.empty() ? ofFraction
                 : constant->type == ScalarType::Real
                     ? "divide integers with floordiv or ceildiv; int(x) cuts "
                       "off a fraction"
                     : "write an integer, such as 16");
    explainParams(problem, expr);
    return std::nullopt;
  }
  // Products of these give positions, which must fit into 64 bits.
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  int64_t value = constant->integer;
  if (value >= least && value <= most)
    return value;
  Problem &problem =
      problems.error(expr->range, what + " must be at " +
                                      (value < least ? "least " + Twine(least)
                                                     : "most " + Twine(most)) +
                                      ", found " + Twine(value));
  if (value == -1 && isMinusOne(expr))
    problem.note("-1 doesn't stand for a size that is left open, nor for all "
                 "or the last: write how many; what the inputs tell has a "
                 "name, such as N, in their types");
  else if (llvm::isa<ast::IntegerExpr>(expr) || value > most)
    problem.note("write " +
                 Twine(value < least ? std::max<int64_t>(least, 1) : most) +
                 (value < least ? " or more" : " or less"));
  explainParams(problem, expr);
  if (problem.notes.empty())
    problem.note("the value is computed when the program is compiled");
  return std::nullopt;
}

std::optional<unsigned> KernelGen::evaluateChoice(const ast::Expr *expr,
                                                  const Twine &what,
                                                  ArrayRef<StringRef> choices) {
  const auto *name = llvm::dyn_cast<ast::NameExpr>(expr);
  const StringRef *found =
      name ? llvm::find(choices, name->name) : choices.end();
  if (found != choices.end())
    return found - choices.begin();
  Problem &problem = problems.error(
      expr->range, what + " must be one of " + llvm::join(choices, ", ") +
                       ", found " + quote(source.getText(expr->range)));
  if (name)
    problem.suggest(name->name, choices);
  if (problem.notes.empty())
    problem.note("write, for example, " + choices.front());
  return std::nullopt;
}

void KernelGen::explainParams(Problem &problem, const ast::Expr *expr) {
  if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr))
    return explainParams(problem, unary->operand);
  if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
    explainParams(problem, binary->lhs);
    return explainParams(problem, binary->rhs);
  }
  const auto *name = llvm::dyn_cast<ast::NameExpr>(expr);
  if (!name)
    return;
  auto found = symbols.find(name->name);
  if (found == symbols.end() || found->second.kind != Symbol::Kind::Param)
    return;
  constexpr unsigned most = 4;
  if (problem.notes.size() < most)
    problem.note(found->second.range,
                 "parameter " + quote(name->name) + " is " +
                     toString(found->second.bound.constant) +
                     (options.params.contains(name->name)
                          ? ", as given; give another value"
                          : " by default; give another value"));
}
