//===- Results.cpp - Results of random programs ---------------------------===//

#include "RandomProgram.h"
#include "llvm/ADT/STLExtras.h"

using namespace nsacc::differential;

Text RandomProgram::getGate(size_t index) {
  Text name =
      program.addInput("g" + number(index),
                       c.pick({"f32", "f32", ""}) + Text("[") +
                           program.queryRows + ", " + program.queryHeads + "]");
  return c.chance(20) ? "sigmoid(" + name + ")" : name;
}

void RandomProgram::combine() {
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
    if (llvm::all_of(branches, [](auto &branch) { return branch.averages; }))
      program.averages.push_back("r0");
    program.addResult(merged, dtype + type);
    if (c.chance(50))
      program.addResult("lse(" + merged + ")", "f32[" + program.queryRows +
                                                   ", " + program.queryHeads +
                                                   "]");
    return;
  }
  if (branches.size() == 1 && !c.chance(15)) {
    if (branches.front().averages)
      program.averages.push_back("r0");
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

/// Adds results that depend on the first one.
void RandomProgram::reuseResult(const Text &type) {
  Choices::Together together(c);
  if (!c.chance(10))
    return;
  Text first = program.bind(program.results.front().first + " * 1.0");
  Text twice = program.bind(first + " + " + first);
  Text last = program.bind(twice + " * " + getGate(9) + " - " + first);
  if (c.chance(50))
    program.addResult(twice, type);
  program.addResult(last, "f32" + type);
}

/// Returns an importance, its blocks, or the result of arithmetic on it.
void RandomProgram::addImportance(const Attention &gist) {
  Text kind = gist.softmax ? c.pick({"prob", "score"})
                           : c.pick({"activation", "score"});
  Text heads = c.pick({"", "", ", heads=none", ", heads=mean", ", heads=max"});
  Text importance = kind + "(" + gist.name + heads + ")";
  if (c.chance(15))
    importance = program.bind("0.5 * " + importance);
  if (c.chance(40)) {
    Text map = c.pick({"", ", map=sum", ", map=mean", ", map=max"});
    importance = "blocks(" + importance + ", " +
                 number(gist.keys.stride * (1 + c.below(4))) + map + ")";
  }
  Text name = heads == ", heads=none" ? program.queryHeads : program.keyHeads;
  program.addResult(importance, "f32[" + program.queryRows + ", " + name +
                                    ", P" + number(program.results.size()) +
                                    "]");
}

void RandomProgram::addImportances() {
  Choices::Together together(c);
  // Some programs return only importances.
  if (gists.empty() && c.chance(10))
    getGist();
  for (const Attention &gist : gists)
    if (c.chance(25))
      addImportance(gist);
}

void RandomProgram::addMoreResults() {
  Choices::Together together(c);
  Text rows = program.queryRows + ", ";
  reuseResult("[" + rows + program.queryHeads + ", DV]");
  for (const Attention &branch : branches)
    if (branch.softmax && c.chance(20))
      program.addResult("lse(" + branch.name + ")",
                        "f32[" + rows + program.queryHeads + "]");
  for (const Selection &selection : selections)
    if (c.chance(40))
      program.addResult("indices(" + selection.name + ")",
                        "i32[" + selection.rows + ", " + selection.heads +
                            ", " + number(selection.width) + "]");
  addImportances();
  for (const Attention &gist : gists)
    if (c.chance(8))
      program.addResult(gist.keys.keys,
                        Text(program.ragged ? "[ragged " : "[B, ") + "P" +
                            number(program.results.size()) + ", H, D]");
}
