//===- AST.cpp - The syntax of programs -----------------------------------===//

#include "AST.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace nsacc::frontend::ast;

llvm::StringRef nsacc::frontend::ast::getSpelling(Operator op) {
  switch (op) {
  case Operator::Negate:
  case Operator::Subtract:
    return "-";
  case Operator::Not:
    return "not";
  case Operator::Or:
    return "or";
  case Operator::And:
    return "and";
  case Operator::Less:
    return "<";
  case Operator::LessEqual:
    return "<=";
  case Operator::Greater:
    return ">";
  case Operator::GreaterEqual:
    return ">=";
  case Operator::Equal:
    return "==";
  case Operator::NotEqual:
    return "!=";
  case Operator::Add:
    return "+";
  case Operator::Multiply:
    return "*";
  case Operator::Divide:
    return "/";
  case Operator::FloorDiv:
    return "floordiv";
  case Operator::CeilDiv:
    return "ceildiv";
  case Operator::Mod:
    return "mod";
  }
  llvm_unreachable("unknown operator");
}

llvm::StringRef nsacc::frontend::ast::getSpelling(Clause::Kind kind) {
  switch (kind) {
  case Clause::Kind::In:
    return "in";
  case Clause::Kind::Where:
    return "where";
  case Clause::Kind::Score:
    return "score";
  case Clause::Kind::Scale:
    return "scale";
  case Clause::Kind::Weight:
    return "weight";
  case Clause::Kind::Normalize:
    return "normalize";
  case Clause::Kind::Sink:
    return "sink";
  case Clause::Kind::Keep:
    return "keep";
  case Clause::Kind::Plus:
    return "plus";
  case Clause::Kind::Count:
    return "count";
  case Clause::Kind::ShareTokens:
    return "share tokens";
  case Clause::Kind::ShareHeads:
    return "share heads";
  }
  llvm_unreachable("unknown clause");
}

const Clause *CallExpr::find(Clause::Kind kind) const {
  const Clause *found = llvm::find_if(
      clauses, [&](const Clause &clause) { return clause.kind == kind; });
  return found == clauses.end() ? nullptr : found;
}

bool nsacc::frontend::ast::anyPart(
    const Expr *expr, llvm::function_ref<bool(const Expr *)> isMeant) {
  if (isMeant(expr))
    return true;
  auto within = [&](const Expr *part) { return anyPart(part, isMeant); };
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(expr))
    return within(unary->operand);
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(expr))
    return within(binary->lhs) || within(binary->rhs);
  if (auto *comparison = llvm::dyn_cast<ComparisonExpr>(expr))
    return llvm::any_of(comparison->operands, within);
  if (auto *index = llvm::dyn_cast<IndexExpr>(expr))
    return llvm::any_of(index->indices, within);
  if (auto *call = llvm::dyn_cast<CallExpr>(expr))
    return llvm::any_of(call->arguments, [&](const Argument &argument) {
      return within(argument.value);
    });
  return false;
}

bool nsacc::frontend::ast::mentions(
    const Expr *expr, llvm::function_ref<bool(llvm::StringRef)> isMeant) {
  return anyPart(expr, [&](const Expr *part) {
    auto *name = llvm::dyn_cast<NameExpr>(part);
    return name && isMeant(name->name);
  });
}
