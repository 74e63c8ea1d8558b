//===- Spellings.cpp - How other languages say it -------------------------===//

#include "Spellings.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using Kind = nsacc::frontend::Token::Kind;

StringRef nsacc::frontend::explainClause(StringRef word) {
  return StringSwitch<StringRef>(word)
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

StringRef nsacc::frontend::explainFunction(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Case("softmax", "attend applies the softmax; prob(attend(…)) gives its "
                       "weights")
      .Cases({"attention", "sdpa", "scaled_dot_product_attention",
              "flash_attention", "flash_attn_func", "flex_attention"},
             "attention is written attend(q, k, v)")
      .Cases({"matmul", "bmm", "einsum", "dot"},
             "attend multiplies queries by keys and weights by values; there "
             "are no other products of tensors")
      .Cases({"where", "if_else"},
             "select(condition, x, y) chooses between numbers")
      .Cases({"mean", "avg_pool", "mean_pool"},
             "means of keys are written pool(k, 64)")
      .Cases({"arange", "range"}, "positions are i and j in clauses")
      .Cases({"sequence_length", "len", "size", "shape"},
             "sizes are the names of dimensions, such as T")
      .Default("");
}

StringRef nsacc::frontend::explainName(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Case("True", "write 'true'")
      .Case("False", "write 'false'")
      .Cases({"None", "null", "nullptr"},
             "there is no empty value: leave out the clause or the argument")
      .Cases({"infinity", "INFINITY"}, "write 'inf'")
      .Case("lambda", "there are no functions of one's own: write the formula "
                      "where it is used")
      .Default("");
}

StringRef nsacc::frontend::explainStatement(StringRef word) {
  return StringSwitch<StringRef>(word)
      .Cases({"let", "var", "const", "auto", "val"},
             "a value gets its name without a word in front: 'name = "
             "expression;'")
      .Cases({"if", "else", "while", "for"},
             "there are no branches and loops: select(condition, x, y) chooses "
             "between numbers, and arithmetic holds for all elements")
      .Cases({"def", "fn", "function"},
             "there are no functions of one's own: write the formula where it "
             "is used")
      .Default("");
}

StringRef nsacc::frontend::explainOperator(Kind kind) {
  switch (kind) {
  case Kind::StarStar:
  case Kind::Caret:
    return "powers are written pow(a, b)";
  case Kind::Question:
    return "c ? x : y is written select(c, x, y)";
  case Kind::At:
    return "attend multiplies queries by keys and weights by values; there are "
           "no other products of tensors";
  case Kind::Dot:
    return "values have no members: functions stand in front, as in exp(x)";
  case Kind::ShiftLeft:
    return "a << 3 is written a * 8";
  case Kind::ShiftRight:
    return "a >> 3 is written a floordiv 8";
  default:
    return "";
  }
}
