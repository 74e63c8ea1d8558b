//===- Attentions.cpp - Random keys and attentions ------------------------===//

#include "RandomProgram.h"

using namespace nsacc::differential;

KeyText RandomProgram::getTokens() {
  KeyText keys;
  uint32_t percent = program.computesKeys ? 60 : 0;
  keys.keys =
      program.maybeCompute("k", percent, {"_ - 0.25", "tanh(_)", "_ + _"});
  keys.values = program.maybeCompute("v", percent, {"_ * 2.0", "abs(_)"});
  keys.averages = keys.values == "v";
  return keys;
}

/// An input of queries, or the output of an earlier attention, which has the
/// values' features.
Text RandomProgram::getQuery(KeyText &keys) {
  if (!keys.pooled && !branches.empty() && c.chance(8)) {
    keys.keys = "v";
    return branches[c.below(branches.size())].name;
  }
  return program.maybeCompute("q", 6, {"_ * 0.5", "tanh(_)", "_ + _ * _"});
}

Text RandomProgram::makePool(const Text &input, const Text &clauses) {
  return program.bind("pool(" + input + ", " + clauses + ")");
}

KeyText RandomProgram::makePooled() {
  Choices::Together together(c);
  KeyText keys = {.keys = "", .values = "", .pooled = true};
  keys.stride = c.pick<int64_t>({4, 8, 16, 2, 5, 1, 32});
  keys.len = keys.stride * c.pick<int64_t>({1, 1, 2, 3});
  Text extent = number(keys.len) + ", " + number(keys.stride);
  if (c.chance(8)) {
    int64_t memory = c.below(3);
    keys.declared = true;
    int64_t stride = keys.stride;
    Text count = "M" + number(derived.size());
    derived.push_back({count, program.ragged,
                       [=](int64_t n) { return memory + n / stride; }});
    Text rows = (program.ragged ? "ragged " : "B, ") + count;
    Text suffix = ", " + extent + ", memory=" + number(memory) +
                  ", of=" + program.keyTokens + ")";
    Text k = program.addInput("kp_" + count, "[" + rows + ", H, D]");
    Text v = program.addInput("vp_" + count, "[" + rows + ", H, DV]");
    keys.keys = program.bind("pooled(" + k + suffix);
    keys.values = program.bind("pooled(" + v + suffix);
    return keys;
  }
  Text clauses = extent;
  if (c.chance(40))
    clauses += c.pick({", tail=drop", ", tail=average", ", tail=zeros_right",
                       ", tail=zeros_left"});
  Text by = c.pick({"", "", ", by=max", ", by=w"});
  if (by == ", by=w") {
    Text name = "w" + number(keys.len);
    Text heads = c.chance(50) ? "H, " : "";
    by = ", by=" +
         program.maybeCompute(
             program.addInput(name, "f32[" + heads + number(keys.len) + "]"),
             20, {"_ * 0.5", "abs(_)"});
  }
  KeyText tokens = getTokens();
  keys.keys = makePool(tokens.keys, clauses + by);
  Text byOfValues = c.chance(50) ? by : "";
  keys.values = makePool(tokens.values, clauses + byOfValues);
  keys.averages = tokens.averages && byOfValues.empty() &&
                  clauses.find("zeros") == Text::npos;
  return keys;
}

//===----------------------------------------------------------------------===//
// Attentions
//===----------------------------------------------------------------------===//

Attention RandomProgram::makeAttention(const KeyText &keys,
                                       const Text &selection, bool hasValues) {
  Choices::Together together(c);
  Attention attention = {.name = "", .keys = keys};
  Text query = getQuery(attention.keys);
  const KeyText &from = attention.keys;
  attention.hasValues = hasValues;
  attention.softmax = !c.chance(25);
  Text text = "attend(" + query + ", " + from.keys;
  text += hasValues ? ", " + from.values + ")" : ")";
  if (!selection.empty())
    text += " in " + selection;
  text += makeMask(program, keys);
  text += makeScale(program);
  Text score = makeScore(program, keys);
  text += score;
  Text last = attention.softmax ? makeSink(program) : makeWeight(program, keys);
  text += last;
  attention.averages = score.empty() && last.empty() && from.averages;
  attention.name = program.bind(text);
  return attention;
}

Attention RandomProgram::makeBranch() {
  Choices::Together together(c);
  switch (c.below(6)) {
  case 0:
  case 1:
    return makeAttention(getTokens(), "", /*hasValues=*/true);
  case 2: {
    Attention attention = makeAttention(makePooled(), "", /*hasValues=*/true);
    gists.push_back(attention);
    return attention;
  }
  case 3:
    selections.push_back(makeHandedIn());
    break;
  default:
    selections.push_back(makeSelection());
  }
  if (c.chance(15))
    selections.push_back(makeUnion(selections.back()));
  return makeAttention(getTokens(), selections.back().name,
                       /*hasValues=*/true);
}
