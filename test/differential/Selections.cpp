//===- Selections.cpp - Random selections of blocks -----------------------===//

#include "RandomProgram.h"

using namespace nsacc::differential;

Selection RandomProgram::makeHandedIn(const std::optional<Alike> &alike) {
  Choices::Together together(c);
  Selection selection;
  selection.heads = c.chance(30) ? program.queryHeads : program.keyHeads;
  if (alike)
    selection.heads = alike->heads;
  if (c.chance(15))
    selection.heads = "1";
  selection.width = c.pick<int64_t>({1, 2, 3, 5, 16});
  selection.rows = program.queryRows;
  selection.block =
      alike ? alike->block : c.pick<int64_t>({16, 8, 4, 32, 64, 5});
  if (c.chance(30) || (alike && alike->tokens > 0)) {
    selection.tokens = c.pick<int64_t>({4, 16, 64, 2, 7, 128});
    if (alike && alike->tokens > 0)
      selection.tokens = alike->tokens * c.pick<int64_t>({1, 2, 3});
  }
  Text index = "idx" + number(selections.size() + derived.size());
  Text type = c.pick({"i32", "i64"});
  if (c.chance(20)) {
    makePackedLists(selection, index, type);
    return selection;
  }
  int64_t tokens = selection.tokens;
  if (tokens > 0) {
    Text count = "R" + number(derived.size());
    derived.push_back(
        {count, program.ragged,
         [=](int64_t queries) { return (queries + tokens - 1) / tokens; },
         /*ofQueries=*/true});
    selection.rows = (program.ragged ? "ragged " : "B, ") + count;
  }
  Text group = tokens > 0 ? ", tokens=" + number(tokens) : Text();
  Text lists = "[" + selection.rows + ", " + selection.heads;
  type += lists + ", " + number(selection.width) + "]";
  if (c.chance(20)) {
    program.addInput("n" + index, c.pick({"i32", "i64"}) + lists + "]");
    group += ", count=n" + index;
  }
  // The values of indices are only known if they are used directly.
  if (c.chance(10)) {
    program.addIntegers(index, type, -1, 3);
    index = program.bind("min(" + index + ", 0)");
  } else {
    program.addInput(index, type);
  }
  selection.name =
      program.bind("selection(" + index + ", " + number(selection.block) +
                   group + program.getOf() + ")");
  return selection;
}

void RandomProgram::makePackedLists(Selection &selection, const Text &index,
                                    const Text &type) {
  Text batch = program.ragged ? "ragged " : "B, ";
  Text offsets = "Z" + number(derived.size());
  int64_t tokens = std::max<int64_t>(selection.tokens, 1);
  selection.tokens = tokens;
  derived.push_back(
      {offsets, program.ragged,
       [=](int64_t queries) { return (queries + tokens - 1) / tokens + 1; },
       /*ofQueries=*/true});
  Text entries = "E" + number(derived.size());
  int64_t most = c.pick<int64_t>({2, 1, 5});
  derived.push_back(
      {entries, program.ragged,
       [=](int64_t queries) { return most * (queries + tokens - 1) / tokens; },
       /*ofQueries=*/true});
  selection.rows = batch + offsets;
  auto declare = [&](const Text &name, const Text &dtype, const Text &dim) {
    bool headsFirst = !program.ragged && selection.heads == "1";
    program.addInput(
        name, dtype + "[" + batch +
                  (headsFirst ? "1, " + dim : dim + ", " + selection.heads) +
                  "]");
  };
  declare(index, type, entries);
  declare("ptr" + index, c.pick({"i32", "i64"}), offsets);
  selection.name =
      program.bind("selection(" + index + ", " + number(selection.block) +
                   ", tokens=" + number(tokens) + ", offsets=ptr" + index +
                   ", top=" + number(selection.width) + program.getOf() + ")");
}

Selection RandomProgram::makeUnion(const Selection &first) {
  Choices::Together together(c);
  Selection other = makeHandedIn(Alike{first.block, first.heads, first.tokens});
  Selection whole = first;
  if (whole.heads == "1")
    whole.heads = other.heads;
  if (first.tokens > 0 && other.tokens == 0) {
    whole.rows = other.rows;
    whole.tokens = 0;
  }
  whole.width = first.width + other.width;
  whole.name = program.bind("union(" + first.name + ", " + other.name + ")");
  return whole;
}

Attention RandomProgram::getGist() {
  if (!gists.empty() && c.chance(60))
    return gists[c.below(gists.size())];
  gists.push_back(makeAttention(makePooled(), "", c.chance(30)));
  return gists.back();
}

/// Adds importances of blocks; chooses the blocks' size.
Text RandomProgram::makeBlocks(const Attention &gist, const Text &heads,
                               int64_t &block) {
  Text kind = gist.softmax ? c.pick({"prob", "score"})
                           : c.pick({"activation", "score"});
  Text importance = kind + "(" + gist.name + heads + ")";
  if (c.chance(5))
    importance =
        "0.5 * " + importance + " + " + kind + "(" + gist.name + heads + ")";
  const KeyText &keys = gist.keys;
  block = keys.stride * c.pick<int64_t>({1, 2, 4, 3});
  if (c.chance(5))
    block += 1;
  bool areBlocks = keys.len == keys.stride && !keys.declared;
  if (areBlocks && c.chance(50)) {
    block = keys.len;
    return importance;
  }
  Text map = c.pick({"", ", map=sum", ", map=mean", ", map=max"});
  return "blocks(" + importance + ", " + number(block) + map + ")";
}

Text RandomProgram::makeTopKClauses(Selection &selection, int64_t top) {
  Text text;
  selection.width = top;
  if (c.chance(40)) {
    bool plus = c.chance(40);
    int64_t first = c.below(3), last = c.below(3);
    if (!plus && first + last > top)
      first = 0, last = 1;
    Text separator = plus ? " plus " : " keep ";
    if (first)
      text += separator + "first " + number(first), separator = ", ";
    if (last)
      text += separator + "last " + number(last);
    if (plus)
      selection.width += first + last;
  }
  if (c.chance(14)) {
    Text count = "count" + number(selections.size());
    Text type = "i32[" + program.queryRows + ", " + selection.heads + "]";
    text += " count ";
    if (c.chance(50))
      text += "min(" + program.addIntegers(count, type, 0, top + 3) + ", " +
              number(top) + ")";
    else
      text += program.addInput(count, type);
  }
  if (c.chance(15))
    text += c.pick({" where i - end(j) < 40", " where j mod 2 == 0",
                    " where end(j) <= i", " where h == 0 or j < 2"});
  Text by = c.pick({"", " by mean", " by max", " by first", " by last"});
  if (c.chance(8))
    text += " share tokens " + number(1 + c.below(5)) + by;
  if (getNumHeads(selection.heads) % 2 == 0 && c.chance(8))
    text += " share heads 2" + by;
  return text;
}

Selection RandomProgram::makeSelection() {
  Choices::Together together(c);
  Selection selection;
  selection.rows = program.queryRows;
  int64_t &block = selection.block, top = c.pick<int64_t>({2, 1, 3, 5, 16});
  Text importance;
  if (c.chance(8)) {
    selection.heads = program.keyHeads;
    block = c.pick<int64_t>({16, 8, 5});
    Text count = "N" + number(derived.size());
    derived.push_back({count, /*packed=*/false, [size = block](int64_t n) {
                         return (n + size - 1) / size;
                       }});
    Text scores = program.addInput(
        "scores_" + count, "f32[" + program.queryRows + ", H, " + count + "]");
    scores = program.maybeCompute(scores, 50, {"_ * 0.5", "_ + _"});
    importance = "blocks(" + scores + ", " + number(block) + ", map=identity" +
                 program.getOf() + ")";
  } else {
    Attention gist = getGist();
    Text heads =
        c.pick({"", "", ", heads=none", ", heads=mean", ", heads=max"});
    bool perHead = heads == ", heads=none";
    selection.heads = perHead ? program.queryHeads : program.keyHeads;
    importance = makeBlocks(gist, heads, block);
  }
  Text clauses = makeTopKClauses(selection, top);
  selection.name =
      program.bind("topk(" + importance + ", " + number(top) + ")" + clauses);
  return selection;
}
