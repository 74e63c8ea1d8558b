//===- Spellings.cpp - Spellings of other languages -----------------------===//

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
      .Cases({"AND", "And"}, "write 'and'")
      .Cases({"OR", "Or", "xor"}, "write 'or'; of two conditions, a != b holds "
                                  "for just one")
      .Cases({"NOT", "Not"}, "write 'not'")
      .Cases({"is", "eq"}, "equality is written '=='")
      .Cases({"le", "lt", "ge", "gt"}, "write '<=', '<', '>=' or '>'")
      .Cases({"div", "DIV"}, "write 'floordiv'")
      .Default("");
}

StringRef nsacc::frontend::explainFunction(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Case("softmax", "attend applies the softmax; prob(attend(…)) gives its "
                       "weights")
      .Cases({"attention", "sdpa", "scaled_dot_product_attention",
              "flash_attention", "flash_attn_func", "flex_attention"},
             "attention is written attend(q, k, v)")
      .Cases({"matmul", "bmm", "einsum", "dot", "mm"},
             "attend multiplies queries by keys and weights by values; there "
             "are no other products of tensors")
      .Cases({"where", "if_else", "cond", "masked_fill"},
             "select(condition, x, y) chooses between numbers")
      .Cases({"topp", "top_p", "nucleus", "min_p", "threshold"},
             "blocks above a threshold are written topk(select(p > 0.01, p, "
             "-inf), 64): what is -inf isn't selected, and 64 is the most that "
             "a row may have")
      .Cases({"mean", "avg_pool", "mean_pool"},
             "means of keys are written pool(k, 64)")
      .Cases({"max_pool", "amax"},
             "maxima of keys are written pool(k, 64, by=max)")
      .Cases({"sum", "cumsum", "argmax", "argsort", "sort", "prod", "any",
              "all", "std", "var"},
             "arithmetic is elementwise: only pool, attend, blocks and topk "
             "reduce or order anything")
      .Cases({"logsumexp", "log_sum_exp"},
             "lse(attend(q, k, v)) is the log-sum-exp of an attention")
      .Cases({"arange", "range", "program_id", "iota"},
             "positions are i and j in clauses")
      .Cases({"sequence_length", "len", "size", "shape", "numel"},
             "sizes are the names of dimensions, such as T")
      .Cases({"mask", "causal", "causal_mask", "tril", "triu", "sliding_window",
              "window", "block_mask"},
             "a mask is a condition behind 'where': 'where j <= i' is causal, "
             "'where 0 <= i - j < window' a window")
      .Cases({"transpose", "permute", "swapaxes", "movedim", "rearrange"},
             "tensors keep their order of dimensions: heads in front of the "
             "tokens are declared as [B, heads H, T, D]")
      .Cases({"reshape", "view", "flatten", "squeeze", "unsqueeze", "expand",
              "repeat", "repeat_interleave", "broadcast_to"},
             "shapes stay as they are declared: a key head serves its group of "
             "query heads, and dimensions that an operand lacks are repeated")
      .Cases({"cat", "concat", "concatenate", "stack", "split", "chunk",
              "gather", "index_select", "pad"},
             "tensors are neither joined nor cut: hand them in as they are "
             "needed; merge(a, b) is one softmax over the keys of both")
      .Cases({"zeros", "ones", "full", "empty", "zeros_like", "ones_like"},
             "a number stands for a tensor of it: 0 * x has the dimensions "
             "of x")
      .Cases({"float32", "float16", "bfloat16", "half", "bf16", "f16", "f32",
              "cast", "astype", "to", "type_as", "contiguous"},
             "real numbers are computed in f32, and a result is rounded to the "
             "type that it is declared with")
      .Cases({"clamp", "clip"}, "write min(max(x, low), high)")
      .Cases({"maximum", "fmax"}, "write max(a, b)")
      .Cases({"minimum", "fmin"}, "write min(a, b)")
      .Cases({"rsqrt"}, "write 1 / sqrt(x)")
      .Cases({"square"}, "write x * x")
      .Cases({"ln", "log1p"}, "log(x) is the natural logarithm")
      .Case("log10", "write log(x) / log(10)")
      .Cases({"sign", "sgn"}, "write select(x > 0, 1, select(x < 0, -1, 0))")
      .Case("round", "write floor(x + 0.5)")
      .Case("ceil", "write -floor(-x); of integers ceildiv rounds up")
      .Cases({"floor_div", "floordiv", "floor_divide", "div", "cdiv"},
             "quotients of integers are written a floordiv b and a ceildiv b")
      .Cases({"remainder", "fmod", "modulo"}, "write a mod b")
      .Cases({"isnan", "isinf", "isfinite"},
             "compare: x != x holds for NaN, abs(x) == inf for infinities")
      .Case("swish", "write silu(x)")
      .Case("elu", "write select(x > 0, x, exp(x) - 1)")
      .Case("leaky_relu", "write max(x, 0.01 * x)")
      .Case("softplus", "write log(1 + exp(x))")
      .Cases({"norm", "rms_norm", "layer_norm", "normalize_l2"},
             "normalize queries and keys before the kernel")
      .Cases({"rope", "apply_rotary_emb", "rotary_embedding"},
             "rotate q and k before the kernel")
      .Case("dropout", "there is no dropout: programs compute forwards only")
      .Default("");
}

StringRef nsacc::frontend::explainType(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"float", "float32", "fp32", "single"}, "write 'f32'")
      .Cases({"half", "float16", "fp16"}, "write 'f16'")
      .Cases({"bfloat16", "bfloat", "bp16"}, "write 'bf16'")
      .Cases({"int", "int32", "i32_t", "int32_t"}, "write 'i32'")
      .Cases({"long", "int64", "int64_t"}, "write 'i64'")
      .Cases({"boolean", "uint8", "mask", "i1"}, "masks are 'bool'")
      .Cases({"double", "float64", "f64"},
             "real numbers are computed in f32: hand in f32")
      .Default("");
}

StringRef nsacc::frontend::explainMember(StringRef name) {
  StringRef known = explainFunction(name);
  if (!known.empty())
    return known;
  return StringSwitch<StringRef>(name)
      .Cases({"T", "mT", "H"}, explainFunction("transpose"))
      .Cases({"float", "int", "bool", "double", "dtype", "long"},
             explainFunction("to"))
      .Case("inf", "infinity is written 'inf'")
      .Case("pi", "write 3.141592653589793")
      .Case("item", "an input that is one number is declared without "
                    "dimensions, as in x: f32, and read by its name")
      .Default("");
}

StringRef nsacc::frontend::explainName(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Case("True", "write 'true'")
      .Case("False", "write 'false'")
      .Cases({"None", "null", "nullptr"},
             "there is no empty value: leave out the clause or the argument")
      .Cases({"infinity", "INFINITY", "Inf", "INF"}, "write 'inf'")
      .Cases({"NaN", "nan", "NAN"}, "NaN is no constant of a program")
      .Cases({"q_idx", "q_pos", "query_idx", "offs_m"},
             "the position of a query is 'i' in clauses, its row 't'")
      .Cases({"k_idx", "kv_idx", "key_idx", "kv_pos", "offs_n"},
             "the index of a key is 'j' in clauses")
      .Cases({"head_idx", "h_idx", "head"}, "the head is 'h' in clauses")
      .Cases({"batch_idx", "b_idx"}, "the row of the batch is 'b' in clauses")
      .Cases({"scores", "logits", "qk"}, "the scaled score is 's', in 'score' "
                                         "and 'weight'")
      .Case("lambda", "there are no functions of one's own: write the formula "
                      "where it is used")
      .Default("");
}

StringRef nsacc::frontend::explainStatement(StringRef word) {
  return StringSwitch<StringRef>(word)
      .Cases({"let", "var", "const", "auto", "val", "float", "int", "bool",
              "double", "half", "f32", "f16", "bf16", "i32", "i64", "tensor"},
             "a value gets its name without a word in front: 'name = "
             "expression;'")
      .Default("");
}

StringRef nsacc::frontend::explainBlock(StringRef word) {
  return StringSwitch<StringRef>(word)
      .Cases({"if", "else", "elif", "switch", "match"},
             "there are no branches: select(condition, x, y) chooses between "
             "numbers, and what a parameter switches is written into the mask, "
             "as in 'where not causal or j <= i'")
      .Cases({"for", "while", "loop"},
             "there are no loops: arithmetic and clauses hold for all elements "
             "and pairs at once")
      .Cases({"def", "fn", "func", "function", "lambda", "class", "struct"},
             "there are no functions of one's own: write the formula where it "
             "is used")
      .Case("kernel", "a kernel doesn't stand within another one, nor call it: "
                      "end the one around it first, or write the formulas "
                      "where they are used")
      .Cases({"print", "assert", "raise", "pass", "break", "continue"},
             "a kernel only computes values: a statement is 'name = "
             "expression;' or 'return expression;'")
      .Default(explainImport(word));
}

StringRef nsacc::frontend::explainImport(StringRef word) {
  return StringSwitch<StringRef>(word)
      .Cases({"import", "from", "include", "using", "use"},
             "there are no modules: attend, topk and all other functions are "
             "known everywhere; remove the line")
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
