//===- AST.cpp - The syntax of programs -----------------------------------===//

#include "AST.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
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

llvm::StringRef nsacc::frontend::ast::explainClause(llvm::StringRef word) {
  return llvm::StringSwitch<llvm::StringRef>(word)
      .Cases({"mask", "masked", "attn_mask", "mask_mod", "if", "when"},
             "a mask is written behind 'where', as in 'where j <= i'")
      .Cases({"causal", "is_causal"}, "a causal mask is written 'where j <= i'")
      .Cases({"window", "window_size", "sliding_window"},
             "a window is written 'where 0 <= i - j < window'")
      .Cases({"bias", "attn_bias", "alibi", "score_mod"},
             "a bias is added to the score, as in 'score s + bias[h, i, j]'")
      .Cases({"softcap", "logits_soft_cap"},
             "a cap is put on the score: 'score softcap(s, 50)'")
      .Cases({"softmax_scale", "sm_scale", "scaled", "temperature"},
             "a factor of the scores is written 'scale', as in 'scale 0.125'")
      .Cases({"softmax", "activation"},
             "another weight than softmax is written 'weight', as in 'weight "
             "silu(s)'")
      .Cases({"block_mask", "selection", "from", "over"},
             "a selection of blocks is written 'in', as in 'in topk(p, 16)'")
      .Cases({"dropout", "dropout_p"},
             "there is no dropout: programs compute forwards only")
      .Default("");
}

const Clause *CallExpr::find(Clause::Kind kind) const {
  const Clause *found = llvm::find_if(
      clauses, [&](const Clause &clause) { return clause.kind == kind; });
  return found == clauses.end() ? nullptr : found;
}
