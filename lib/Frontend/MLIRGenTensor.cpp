//===- MLIRGenTensor.cpp - Expressions over tensors -----------------------===//

#include "KernelGen.h"
#include "Spellings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

static constexpr StringRef tensorFunctions[] = {
    "activation", "attend", "blocks", "indices",   "lse",  "merge", "pool",
    "pooled",     "prob",   "score",  "selection", "topk", "union"};

bool nsacc::frontend::isTensorFunction(StringRef name) {
  return llvm::is_contained(tensorFunctions, name);
}

Bound KernelGen::generate(const ast::Expr *expr) {
  if (!expr)
    return {};
  if (isElementwise(expr))
    return generateElementwise(expr);
  if (const auto *name = llvm::dyn_cast<ast::NameExpr>(expr))
    return generateName(name);
  return generateCall(llvm::cast<ast::CallExpr>(expr));
}

Bound KernelGen::generateName(const ast::NameExpr *expr) {
  auto found = symbols.find(expr->name);
  if (found != symbols.end() && found->second.kind != Symbol::Kind::Dim) {
    found->second.isUsed = true;
    return found->second.bound;
  }
  if (found != symbols.end()) {
    problems
        .error(expr->range,
               "expected a tensor, found dimension " + quote(expr->name))
        .note("dimensions are numbers in clauses and in arithmetic with "
              "tensors");
    return {};
  }
  Problem &problem =
      problems.error(expr->range, "unknown name " + quote(expr->name));
  SmallVector<StringRef> known(llvm::make_first_range(symbols));
  StringRef spelling = explainName(expr->name);
  if (!spelling.empty())
    problem.note(spelling);
  else
    problem.suggest(expr->name, known);
  if (!problem.notes.empty())
    return {};
  if (isFixedName(expr->name))
    problem.note("it has a meaning in clauses of attend and topk only");
  else if (isTensorFunction(expr->name))
    problem.note("it is a function: call it with arguments");
  else
    problem.note("declare it as an input, or define it in a statement above");
  return {};
}

Bound KernelGen::generateCall(const ast::CallExpr *expr) {
  using Generate = Bound (KernelGen::*)(const ast::CallExpr *);
  StringRef name = expr->callee.text;
  Generate generate = llvm::StringSwitch<Generate>(name)
                          .Case("attend", &KernelGen::generateAttend)
                          .Case("blocks", &KernelGen::generateBlocks)
                          .Case("indices", &KernelGen::generateIndices)
                          .Case("lse", &KernelGen::generateLse)
                          .Case("merge", &KernelGen::generateMerge)
                          .Case("pool", &KernelGen::generatePool)
                          .Case("pooled", &KernelGen::generatePooled)
                          .Cases({"activation", "prob", "score"},
                                 &KernelGen::generateImportance)
                          .Case("selection", &KernelGen::generateSelection)
                          .Case("topk", &KernelGen::generateTopK)
                          .Case("union", &KernelGen::generateUnion)
                          .Default(nullptr);
  if (generate)
    return (this->*generate)(expr);

  if (reportCalled(problems, symbols, expr))
    return {};
  Problem &problem =
      problems.error(expr->callee.range, "unknown function " + quote(name));
  SmallVector<StringRef> known(std::begin(tensorFunctions),
                               std::end(tensorFunctions));
  known.append(getScalarFunctions().begin(), getScalarFunctions().end());
  StringRef spelling = explainFunction(name);
  if (!spelling.empty())
    problem.note(spelling);
  else
    problem.suggest(name, known);
  if (problem.notes.empty())
    problem.note("functions of tensors are " +
                 llvm::join(ArrayRef(tensorFunctions), ", "));
  return {};
}

Value KernelGen::generateTensor(const ast::Expr *expr, const Twine &what) {
  return asTensor(generate(expr), expr->range, what);
}

Value KernelGen::asTensor(const Bound &bound, Range range, const Twine &what) {
  if (bound.isUnknown())
    return {};
  if (bound.isTensor() && !bound.scoresOnly)
    return bound.value;
  Problem &problem = problems.error(
      range, what + " must be a tensor, found " +
                 (bound.scoresOnly ? "an attention without values"
                                   : describe(bound.kind)));
  if (bound.scoresOnly)
    problem.note("attend(q, k) has scores only, for prob, score, activation "
                 "and lse; write attend(q, k, v) for an output");
  else if (bound.kind == Bound::Kind::Selection)
    problem.note("indices(x) gives the chosen blocks as a tensor");
  else if (bound.kind == Bound::Kind::Importance)
    problem.note("an importance goes into blocks, topk, arithmetic with other "
                 "importances, or a result");
  else
    problem.note("write the name of an input or of a value that a statement "
                 "above defines");
  return {};
}

Value KernelGen::returnImportance(const Bound &bound, Range range) {
  if (!bound.importance || *bound.importance == nsa::ImportanceKind::Score)
    return bound.value;
  Location loc = getLoc(range);
  auto map =
      nsa::MapOp::create(builder, loc, bound.value.getType(), bound.value);
  OpBuilder::InsertionGuard guard(builder);
  Block &body = map.getBody().emplaceBlock();
  Value entry = body.addArgument(getF32(), loc);
  builder.setInsertionPointToStart(&body);
  auto makeReal = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  };
  Value absent =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, entry,
                            makeReal(-std::numeric_limits<float>::infinity()));
  Value result =
      arith::SelectOp::create(builder, loc, absent, makeReal(0), entry);
  nsa::YieldOp::create(builder, loc, result);
  return map.getResult();
}
