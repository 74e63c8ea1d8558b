//===- SemaWarnings.cpp - What is allowed, and most likely a mistake ------===//

#include "ScalarTrial.h"
#include "Sequence.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;

//===----------------------------------------------------------------------===//
// Names that nothing uses
//===----------------------------------------------------------------------===//

static StringRef describeNamed(Symbol::Kind kind) {
  switch (kind) {
  case Symbol::Kind::Param:
    return "parameter";
  case Symbol::Kind::Input:
    return "input";
  default:
    return "value";
  }
}

void KernelGen::checkUnused() {
  for (const auto &[name, symbol] : symbols) {
    if (symbol.isUsed || symbol.kind == Symbol::Kind::Dim ||
        name.starts_with("_"))
      continue;
    problems
        .warning(symbol.range,
                 describeNamed(symbol.kind) + " " + quote(name) + " isn't used")
        .note("remove it, or write '_" + name + "' if that is meant");
  }
}

//===----------------------------------------------------------------------===//
// Types of queries, keys and values
//===----------------------------------------------------------------------===//

void KernelGen::checkElementTypes(ArrayRef<Value> operands,
                                  ArrayRef<const ast::Expr *> exprs) {
  // What is computed has the type that its formula gives it.
  auto isInput = [](Value value) { return isa<BlockArgument>(value); };
  for (size_t i = 1; i < operands.size(); ++i) {
    Type first =
             cast<nsa::NamedTensorType>(operands[0].getType()).getElementType(),
         type =
             cast<nsa::NamedTensorType>(operands[i].getType()).getElementType();
    if (first == type || !isInput(operands[0]) || !isInput(operands[i]))
      continue;
    auto print = [](Type type) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return text;
    };
    problems
        .warning(exprs[i]->range, quote(source.getText(exprs[i]->range)) +
                                      " has elements of " + print(type) +
                                      " but " +
                                      quote(source.getText(exprs[0]->range)) +
                                      " of " + print(first))
        .note("each is rounded to its own type before they are multiplied; "
              "declare both alike");
  }
}

//===----------------------------------------------------------------------===//
// Scores and weights
//===----------------------------------------------------------------------===//

/// The number that a clause has wherever it is asked, if it is one.
static std::optional<double> getConstant(Region &clause) {
  if (clause.empty())
    return std::nullopt;
  auto value = dyn_cast_or_null<FloatAttr>(ScalarTrial(clause).evaluate());
  return value ? std::optional(value.getValueAsDouble()) : std::nullopt;
}

void KernelGen::checkScale(nsa::AttendOp attend, const ast::Clause *scale) {
  if (!scale)
    return;
  ScalarTrial trial(attend.getScale());
  constexpr int64_t sizes[] = {64, 256};
  auto small = dyn_cast_or_null<FloatAttr>(trial.evaluate(sizes[0]));
  auto large = dyn_cast_or_null<FloatAttr>(trial.evaluate(sizes[1]));
  if (!small || !large)
    return;
  double value = small.getValueAsDouble(), grown = large.getValueAsDouble();
  Range range = scale->value->range;
  StringRef leaveOut =
      "leave out 'scale' for D^-0.5; scores as they are have 'scale 1'";
  StringRef meaning =
      "a scale multiplies q · k, and is D^-0.5 without the clause";
  if (!std::isfinite(value) || !std::isfinite(grown))
    problems.warning(range, "this scale isn't finite, nor are the scores")
        .note(leaveOut);
  else if (value == 0)
    problems.warning(range, "scale 0 leaves nothing of q · k in the scores")
        .note(leaveOut);
  else if (value < 0)
    problems
        .warning(range, "with a negative scale, the keys that match a query "
                        "least weigh most")
        .note(meaning);
  else if (grown > value && value > 1)
    problems.warning(range, "this scale grows with a dimension's size")
        .note(meaning);
}

void KernelGen::checkConstants(nsa::AttendOp attend,
                               const ast::CallExpr *call) {
  using Kind = ast::Clause::Kind;
  if (std::optional<double> score = getConstant(attend.getScore());
      score && std::isinf(*score) && *score < 0)
    problems
        .warning(call->find(Kind::Score)->value->range,
                 "a score of -inf hides every key")
        .note("hide some with 'where', or with select(…, s, -inf)");
  if (getConstant(attend.getWeight()) == 0)
    problems
        .warning(call->find(Kind::Weight)->value->range,
                 "every weight is 0, and so is the output")
        .note("a weight is a function of the score, such as silu(s)");
  if (getConstant(attend.getNormalize()) == 0)
    problems
        .warning(call->find(Kind::Normalize)->value->range,
                 "the output is divided by 0")
        .note("'normalize sum' makes the weights add up to 1");
}
