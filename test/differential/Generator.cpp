//===- Generator.cpp - Random programs ------------------------------------===//

#include "Generator.h"
#include "ProgramText.h"
#include "Runs.h"

using namespace nsacc;
using namespace nsacc::differential;

namespace {

struct Attention {
  Text name;
  KeyText keys;
  bool softmax = true, hasValues = true;
};

struct Selection {
  Text name, heads;
  int64_t width = 0;
};

class Generator {
public:
  explicit Generator(Choices &choices) : c(choices), program(choices) {}

  Case run();

private:
  void chooseSizes();
  void chooseSchedule();
  void declareInputs();

  KeyText getTokens();
  KeyText makePooled();
  Text makePool(const Text &input, const Text &clauses);
  Attention makeAttention(const KeyText &keys, const Text &selection,
                          bool hasValues);
  Attention makeBranch();
  Attention getGist();
  Selection makeSelection();
  Selection makeHandedIn();
  Text makeBlocks(const Attention &gist, const Text &heads, int64_t &block);
  Text makeTopKClauses(Selection &selection, int64_t top);
  int64_t getNumHeads(const Text &name) { return result.sizes.at(name); }

  void combine();
  Text getGate(size_t index);
  void addMoreResults();

  Choices &c;
  ProgramText program;
  Case result;
  std::vector<Attention> branches;
  std::vector<Selection> selections;
  std::vector<Attention> gists;
  std::vector<DerivedSize> derived;
};

} // namespace

//===----------------------------------------------------------------------===//
// Sizes, schedule, inputs
//===----------------------------------------------------------------------===//

void Generator::chooseSizes() {
  Choices::Together together(c);
  result.dtype = c.pick({"f32", "f32", "f32", "bf16", "f16"});
  program.ragged = c.chance(20);
  bool self = c.chance(program.ragged ? 50 : 10);
  if (self)
    program.keyTokens = "T";
  Text prefix = program.ragged ? "ragged " : "B, ";
  program.queryRows = prefix + "T";
  program.keyRows = prefix + program.keyTokens;

  int64_t keyHeads = c.pick<int64_t>({1, 2, 2, 3});
  int64_t group = c.pick<int64_t>({1, 2, 4, 3, 5, 7, 16});
  if (group == 1 && c.chance(50))
    program.queryHeads = "H";
  result.sizes["H"] = keyHeads;
  result.sizes[program.queryHeads] = keyHeads * group;
  auto width = [&] {
    return c.chance(15) ? c.pick<int64_t>({96, 128, 192, 256, 1, 3})
                        : c.pick<int64_t>({8, 16, 24, 40, 64});
  };
  result.sizes["D"] = width();
  result.sizes["DV"] = width();
}

void Generator::chooseSchedule() {
  Choices::Together together(c);
  if (!c.chance(75))
    return;
  Schedule schedule;
  schedule.order = c.pick({"query_major", "union", "key_major"});
  schedule.tokens = c.pick<int64_t>({1, 2, 3, 4, 8, 16, 32});
  schedule.keys = c.pick<int64_t>({16, 32, 64, 8, 24, 128});
  int64_t group = result.sizes[program.queryHeads] / result.sizes["H"];
  schedule.tokens =
      std::max<int64_t>(1, std::min<int64_t>(schedule.tokens, 96 / group));
  if (schedule.order == "key_major")
    schedule.splits = c.pick<int64_t>({1, 2, 3});
  result.schedule = schedule;
}

void Generator::declareInputs() {
  Choices::Together together(c);
  auto dtype = [&] {
    return c.chance(6) ? c.pick({"f32", "bf16", "f16"}) : "";
  };
  program.addInput("q", dtype() + Text("[") + program.queryRows + ", " +
                            program.queryHeads + ", D]");
  program.addInput("k", dtype() + Text("[") + program.keyRows + ", " +
                            program.keyHeads + ", D]");
  program.addInput("v", dtype() + Text("[") + program.keyRows + ", " +
                            program.keyHeads + ", DV]");
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

KeyText Generator::getTokens() { return {.keys = "k", .values = "v"}; }

Text Generator::makePool(const Text &input, const Text &clauses) {
  return program.bind("pool(" + input + ", " + clauses + ")");
}

KeyText Generator::makePooled() {
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
         program.addInput(name, "f32[" + heads + number(keys.len) + "]");
  }
  keys.keys = makePool("k", clauses + by);
  keys.values = makePool("v", clauses + (c.chance(50) ? by : ""));
  return keys;
}

//===----------------------------------------------------------------------===//
// Attentions
//===----------------------------------------------------------------------===//

Attention Generator::makeAttention(const KeyText &keys, const Text &selection,
                                   bool hasValues) {
  Choices::Together together(c);
  Attention attention = {.name = "", .keys = keys};
  attention.hasValues = hasValues;
  attention.softmax = !c.chance(25);
  Text text = "attend(q, " + keys.keys;
  text += hasValues ? ", " + keys.values + ")" : ")";
  if (!selection.empty())
    text += " in " + selection;
  text += makeMask(program, keys);
  text += makeScale(program);
  text += makeScore(program, keys);
  text += attention.softmax ? makeSink(program) : makeWeight(program, keys);
  attention.name = program.bind(text);
  return attention;
}

Attention Generator::makeBranch() {
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
  return makeAttention(getTokens(), selections.back().name,
                       /*hasValues=*/true);
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

Selection Generator::makeHandedIn() {
  Choices::Together together(c);
  Selection selection;
  selection.heads = c.chance(30) ? program.queryHeads : program.keyHeads;
  selection.width = c.pick<int64_t>({1, 2, 3, 5, 16});
  int64_t block = c.pick<int64_t>({16, 8, 4, 32, 64, 5});
  Text index = "idx" + number(selections.size());
  program.addInput(index, c.pick({"i32", "i64"}) + Text("[") +
                              program.queryRows + ", " + selection.heads +
                              ", " + number(selection.width) + "]");
  selection.name =
      program.bind("selection(" + index + ", " + number(block) + ")");
  return selection;
}

Attention Generator::getGist() {
  if (!gists.empty() && c.chance(60))
    return gists[c.below(gists.size())];
  gists.push_back(makeAttention(makePooled(), "", c.chance(30)));
  return gists.back();
}

/// Importance of blocks; chooses their size.
Text Generator::makeBlocks(const Attention &gist, const Text &heads,
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

Text Generator::makeTopKClauses(Selection &selection, int64_t top) {
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
  if (c.chance(10))
    text += " count " + program.addInput("count" + number(selections.size()),
                                         "i32[" + program.queryRows + ", " +
                                             selection.heads + "]");
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

Selection Generator::makeSelection() {
  Choices::Together together(c);
  Selection selection;
  int64_t block = 0, top = c.pick<int64_t>({2, 1, 3, 5, 16});
  Text importance;
  if (c.chance(6)) {
    selection.heads = program.keyHeads;
    block = c.pick<int64_t>({16, 8, 5});
    Text count = "N" + number(derived.size());
    derived.push_back({count, /*packed=*/false,
                       [=](int64_t n) { return (n + block - 1) / block; }});
    Text scores = program.addInput(
        "scores_" + count, "f32[" + program.queryRows + ", H, " + count + "]");
    importance = "blocks(" + scores + ", " + number(block) + ", map=identity)";
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

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Text Generator::getGate(size_t index) {
  Text name =
      program.addInput("g" + number(index),
                       c.pick({"f32", "f32", ""}) + Text("[") +
                           program.queryRows + ", " + program.queryHeads + "]");
  return c.chance(20) ? "sigmoid(" + name + ")" : name;
}

void Generator::combine() {
  Choices::Together together(c);
  Text type = "[" + program.queryRows + ", " + program.queryHeads + ", DV]";
  Text dtype = c.chance(30) ? "f32" : "";
  bool allSoftmax = true;
  for (const Attention &branch : branches)
    allSoftmax &= branch.softmax;
  if (branches.size() > 1 && allSoftmax && c.chance(35)) {
    Text text;
    for (const Attention &branch : branches)
      text += (text.empty() ? "merge(" : ", ") + branch.name;
    Text merged = program.bind(text + ")");
    program.addResult(merged, dtype + type);
    if (c.chance(50))
      program.addResult("lse(" + merged + ")", "f32[" + program.queryRows +
                                                   ", " + program.queryHeads +
                                                   "]");
    return;
  }
  if (branches.size() == 1 && !c.chance(15)) {
    program.addResult(branches.front().name, dtype + type);
    return;
  }
  Text sum;
  for (size_t n = 0; n < branches.size(); ++n)
    sum += (n ? " + " : "") + getGate(n) + " * " + branches[n].name;
  if (c.chance(10))
    sum = c.pick({"tanh(", "2.0 * (", "relu("}) + sum + ")";
  program.addResult(sum, dtype + type);
}

void Generator::addMoreResults() {
  Choices::Together together(c);
  Text rows = program.queryRows + ", ";
  for (const Attention &branch : branches)
    if (branch.softmax && c.chance(20))
      program.addResult("lse(" + branch.name + ")",
                        "f32[" + rows + program.queryHeads + "]");
  for (const Selection &selection : selections)
    if (c.chance(40))
      program.addResult("indices(" + selection.name + ")",
                        "i32[" + rows + selection.heads + ", " +
                            number(selection.width) + "]");
  for (const Attention &gist : gists) {
    if (!c.chance(8))
      continue;
    Text kind = gist.softmax ? c.pick({"prob", "score"})
                             : c.pick({"activation", "score"});
    program.addResult(kind + "(" + gist.name + ")",
                      "f32[" + rows + "H, P" + number(program.results.size()) +
                          "]");
  }
  for (const Attention &gist : gists)
    if (c.chance(8))
      program.addResult(gist.keys.keys,
                        Text(program.ragged ? "[ragged " : "[B, ") + "P" +
                            number(program.results.size()) + ", H, D]");
}

Case Generator::run() {
  chooseSizes();
  declareInputs();
  branches.push_back(makeBranch());
  while (branches.size() < 3 && c.chance(30))
    branches.push_back(makeBranch());
  combine();
  addMoreResults();
  chooseSchedule();
  result.program = program.getText();
  result.ranges = program.ranges;
  std::vector<int64_t> borders = {16, 32, 64};
  if (result.schedule)
    borders.push_back(result.schedule->keys);
  makeRuns(c, program.ragged, program.keyTokens, borders, derived, result);
  return std::move(result);
}

Case nsacc::differential::generate(Choices &choices) {
  return Generator(choices).run();
}
