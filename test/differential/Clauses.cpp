//===- Clauses.cpp - Random clauses of attentions -------------------------===//

#include "ProgramText.h"

using namespace nsacc::differential;

static Text pickWidth(Choices &c) {
  return number(c.pick<int64_t>({1, 3, 16, 33, 64, 500}));
}

//===----------------------------------------------------------------------===//
// where
//===----------------------------------------------------------------------===//

/// The document of a key, or of a query position.
static Text getDocument(ProgramText &program, const Text &position) {
  if (program.ragged)
    return program.addIntegers("doc", "i32[" + program.keyRows + "]", 0, 2) +
           "[" + position + "]";
  return program.addIntegers("doc", "i32[" + program.keyRows + "]", 0, 2) +
         "[b, " + position + "]";
}

static Text makePredicate(ProgramText &program, const KeyText &keys) {
  Choices &c = program.choices;
  // A table can be read at a query's position only if it isn't negative. The
  // index of a pooled key has another scale than tokens, but is allowed, too.
  Text last = keys.pooled ? c.pick({"end(j)", "end(j)", "j"}) : Text("j");
  Text causal = last + " <= i";
  switch (c.below(18)) {
  case 0:
  case 1:
    return causal;
  case 2:
    return "0 <= i - " + last + " < " + pickWidth(c);
  case 3: {
    Text width = pickWidth(c);
    return causal + " and (i - j < " + width + " or j < " +
           number(1 + c.below(5)) + ")";
  }
  case 4:
    return keys.pooled ? "start(j) <= i"
                       : causal + " and " + getDocument(program, "i") +
                             " == " + getDocument(program, "j");
  case 5:
    return keys.pooled ? "end(j) - 1 <= i"
                       : causal + " and " + getDocument(program, "j") +
                             " != " + number(c.below(3));
  case 6:
    return causal + " or j < " +
           program.addIntegers("prefix", program.ragged ? "i32" : "i32[B]", 0,
                               20) +
           (program.ragged ? "" : "[b]");
  case 7:
    return causal + " and (i - j) mod " + number(1 + c.below(6)) + " == 0";
  case 8: {
    Text size = number(1 + c.below(20));
    return "j floordiv " + size + " == i floordiv " + size;
  }
  case 9:
    return causal + " and " +
           program.addInput("on", "bool[" + program.queryHeads + "]") + "[h]";
  case 10:
    return "i - j < " + number(1 + c.below(9)) + " * (h + 1)";
  case 11:
    return "h mod 2 == 0 and " + causal + " or i - j < " + pickWidth(c) +
           " and " + causal;
  case 12:
    return "i * j mod 7 < 3";
  case 13:
    return "j < " + program.keyTokens + " - " + number(c.below(20));
  case 14:
    return "b < 1 and " + causal;
  case 15:
    return makeWrappingMask(program, keys);
  case 16:
    return c.pick({"i == ", "t == ", "i floordiv 4 == "}) + last;
  default:
    return makeBool(program, keys, 2);
  }
}

Text nsacc::differential::makeMask(ProgramText &program, const KeyText &keys) {
  Choices &c = program.choices;
  Choices::Together together(c);
  if (!c.chance(85))
    return "";
  Text mask = makePredicate(program, keys);
  if (c.chance(15)) {
    Text word = c.pick({" and ", " or "});
    mask = "(" + mask + ")" + word + "(" + makePredicate(program, keys) + ")";
  }
  if (c.chance(4))
    mask = "not (" + mask + ")";
  // A switch that is off: the mask is removed at compile time.
  if (c.chance(2))
    mask = "(" + mask + ") and " + c.pick({"false", "i < i", "2 < 1"});
  return " where " + mask;
}

//===----------------------------------------------------------------------===//
// scale, score
//===----------------------------------------------------------------------===//

Text nsacc::differential::makeScale(ProgramText &program) {
  Choices &c = program.choices;
  Choices::Together together(c);
  if (!c.chance(20))
    return "";
  switch (c.below(4)) {
  case 0:
    return " scale 1 / D";
  case 1:
    return " scale 0.125";
  case 2:
    return " scale 1.5 / sqrt(D)";
  default:
    return " scale abs(" + program.addInput("temperature", "f32") +
           ") / sqrt(D)";
  }
}

Text nsacc::differential::makeScore(ProgramText &program, const KeyText &keys) {
  Choices &c = program.choices;
  Choices::Together together(c);
  if (!c.chance(45))
    return "";
  Text slope = "f32[" + program.queryHeads + "]";
  switch (c.below(10)) {
  case 0:
    return " score softcap(s, " + number(1 + c.below(50)) + ")";
  case 1:
    return " score s + " + program.addInput("slope", slope) +
           "[h] * (j - i) / 8";
  case 2:
    return " score s + " +
           program.addInput("bias", "f32[" + program.queryHeads + ", 16]") +
           "[h, min(max(i - j, 0), 15)]";
  case 3: {
    Text condition = makeBool(program, keys, 1);
    return " score select(" + condition + ", s, s / 2 - 1)";
  }
  case 4: {
    Text condition = makeBool(program, keys, 1);
    return " score select(" + condition + ", s, -inf)";
  }
  case 5:
    return " score min(s, 1) + max(s, 0.5) * 0.25";
  case 6:
    return " score s * " +
           program.addInput("row_scale", "f32[" + program.queryRows + "]") +
           (program.ragged ? "[t]" : "[b, t]");
  case 7:
    return " score select(i - j < 4, s, s - log(1 + abs(i - j)))";
  default:
    return " score " + makeReal(program, keys, 2, "s");
  }
}

//===----------------------------------------------------------------------===//
// weight, sink
//===----------------------------------------------------------------------===//

Text nsacc::differential::makeSink(ProgramText &program) {
  Choices &c = program.choices;
  Choices::Together together(c);
  if (!c.chance(15))
    return "";
  switch (c.below(3)) {
  case 0:
    return " sink " +
           program.addInput("logit", "f32[" + program.queryHeads + "]") + "[h]";
  case 1:
    return " sink 0.5";
  default:
    return " sink select(i mod 2 == 0, 1.5, -inf)";
  }
}

Text nsacc::differential::makeWeight(ProgramText &program,
                                     const KeyText &keys) {
  Choices &c = program.choices;
  Text weight;
  switch (c.below(8)) {
  case 0:
    weight = "sigmoid(s)";
    break;
  case 1:
    weight = "silu(s)";
    break;
  case 2:
    weight = "silu(s) / D";
    break;
  case 3:
    weight = "relu(s) * relu(s)";
    break;
  case 4:
    weight = "gelu(s)";
    break;
  case 5:
    weight = "exp(min(s, 4))";
    break;
  case 6:
    weight = "select(s > 0, s, 0.1 * s)";
    break;
  default:
    weight = makeReal(program, keys, 2, "s");
  }
  Text normalize =
      c.pick({"", "", " normalize visible", " normalize abs(sum) + 1",
              " normalize max(visible, 4) * 2"});
  return " weight " + weight + normalize;
}
