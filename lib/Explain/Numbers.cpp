//===- Numbers.cpp - Numbers with units -----------------------------------===//

#include "Numbers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace nsacc;
using namespace nsacc::explain;
using llvm::formatv;

std::string explain::spellCount(double count, llvm::StringRef unit) {
  const char *prefixes[] = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
  size_t prefix = 0;
  for (; count >= 1000 && prefix + 1 < std::size(prefixes); ++prefix)
    count /= 1000;
  std::string text =
      prefix == 0 ? formatv("{0:f0}", count).str() : spellNumber(count);
  std::string unitText = (prefixes[prefix] + unit).str();
  return unitText.empty() ? text : text + " " + unitText;
}

std::string explain::spellPercent(double part, double whole) {
  return whole > 0 ? formatv("{0:f0} %", 100 * part / whole).str() : "0 %";
}

std::vector<Ceiling> explain::listCeilings(const ProgramExplanation &program) {
  std::vector<Ceiling> ceilings;
  auto add = [&](const char *name, double seconds) {
    if (seconds > 0)
      ceilings.push_back({name, seconds});
  };
  add("products", program.floors.products);
  add("exponentials", program.floors.exponentials);
  add("memory", program.floors.memory);
  llvm::sort(ceilings, [](const Ceiling &lhs, const Ceiling &rhs) {
    return lhs.seconds > rhs.seconds;
  });
  return ceilings;
}

std::string explain::describe(const Place &place) {
  if (place.line == 0)
    return "";
  return formatv("{0}:{1}:{2}", llvm::sys::path::filename(place.file),
                 place.line, place.column);
}

std::string explain::describeOp(const OpExplanation &op) {
  std::string place = describe(op.place);
  return op.name + " (" + op.kind + (place.empty() ? "" : " at " + place) + ")";
}

std::vector<std::pair<std::string, std::string>>
explain::groupFields(const OpExplanation &op) {
  std::vector<std::pair<std::string, std::string>> groups;
  std::vector<schedule::ProgramRole> programs;
  for (const FieldChoice &field : op.fields) {
    const schedule::FieldInfo &info = schedule::getInfo(field.field);
    size_t known = 0;
    while (known < groups.size() && (programs[known] != info.program ||
                                     groups[known].second != field.reason))
      ++known;
    if (known < groups.size()) {
      groups[known].first += (", " + info.name + "=" + field.value).str();
      continue;
    }
    groups.emplace_back(schedule::spellField(op.name, field.field, field.value),
                        field.reason);
    programs.push_back(info.program);
  }
  return groups;
}

llvm::StringRef explain::spellCertainty(tuning::Certainty certainty) {
  static constexpr llvm::StringLiteral prefixes[] = {"", "about ", "at most "};
  return prefixes[static_cast<size_t>(certainty)];
}

std::string explain::describeWork(const ProgramExplanation &program) {
  const tuning::Work &work = program.work;
  std::string text;
  if (work.operations > 0)
    text = spellCertainty(work.certainty).str() +
           spellCount(work.operations, "FLOP") + " of products over " +
           (spellCertainty(work.certainty) + spellCount(work.pairs, "")).str() +
           " visible pairs, ";
  return text + spellBytes(work.bytes) + " read or written once";
}

std::string explain::describeRates(const Explanation &explanation) {
  const tuning::Rates &rates = explanation.rates;
  std::string text = "products " + spellCount(rates.getProducts(), "FLOP/s") +
                     ", exponentials " +
                     spellCount(rates.getExponentials(), "/s") + ", memory " +
                     spellCount(rates.memoryBytes, "B/s");
  if (!explanation.device)
    return text + ": usual of such cores";
  return text + " (" +
         (explanation.device->isOfKnownProduct() ? "" : "as if of ") +
         explanation.device->getProduct().str() + ")";
}

std::string explain::describePrediction(const ProgramExplanation &program) {
  double seconds = program.predictedSeconds;
  if (seconds <= 0)
    return "no time of its own";
  std::string text = spellSeconds(seconds);
  if (program.work.operations > 0)
    text += ", " + spellCount(program.work.operations / seconds, "FLOP/s");
  return text + ", " + spellPercent(program.floors.getHighest(), seconds) +
         " of it the floor";
}

std::string explain::describeOps(const ProgramExplanation &program,
                                 const Explanation &explanation) {
  std::vector<std::string> ops;
  for (size_t op : program.ops)
    ops.push_back(describeOp(explanation.ops[op]) +
                  (llvm::is_contained(program.counted, op)
                       ? ""
                       : ", counted with a later one"));
  return llvm::join(ops, "; ");
}

std::string explain::describeRole(const ProgramExplanation &program) {
  if (program.of.empty() && program.role == ProgramExplanation::Role::Helper)
    return "prepares what others read; the model leaves its time out";
  std::string of = "'" + program.of + "'";
  switch (program.role) {
  case ProgramExplanation::Role::Main:
    return "";
  case ProgramExplanation::Role::Helper:
    return "prepares or finishes what " + of +
           " computes, where its time "
           "counts";
  case ProgramExplanation::Role::Exact:
    return "computes again those tiles of " + of +
           " whose results aren't finite: none, as a rule";
  }
  llvm_unreachable("unknown role");
}

bool explain::isIdle(const ProgramExplanation &program) {
  return llvm::is_contained(program.grid, 0);
}

std::string explain::describeLaunch(const ProgramExplanation &program,
                                    bool isGPU) {
  if (isIdle(program))
    return "none for these sizes";
  int64_t all = program.grid[0] * program.grid[1] * program.grid[2];
  std::string text =
      formatv("grid {0} x {1} x {2} = {3} {4}", program.grid[0],
              program.grid[1], program.grid[2], all,
              program.isPersistent || !isGPU ? "tiles" : "blocks");
  if (isGPU)
    text += formatv(" of {0} threads", program.threads);
  if (program.isPersistent)
    text += ", which persistent blocks take one after the other";
  if (program.launches > 1)
    text += formatv(", {0} times", program.launches);
  return text;
}

std::string explain::describeResources(const ProgramExplanation &program) {
  if (program.threads == 0)
    return "";
  std::string text;
  int64_t shared = program.sharedBytes;
  if (program.report) {
    const cuda::KernelReport &report = *program.report;
    shared += report.sharedBytes;
    text = formatv("{0} registers of a thread, ", report.registers);
    if (report.spillStoreBytes + report.spillLoadBytes > 0)
      text += formatv("{0} bytes spilled and {1} loaded again, ",
                      report.spillStoreBytes, report.spillLoadBytes);
    else
      text += "nothing spilled, ";
  }
  return text + spellBytes(static_cast<double>(shared)) +
         " of shared memory of a block";
}

std::string explain::describeOccupancy(const ProgramExplanation &program,
                                       const Explanation &explanation) {
  if (!program.occupancy)
    return "";
  const Occupancy &found = *program.occupancy;
  if (found.blocks == 0)
    return "no block has room on a multiprocessor: " + found.bound;
  return formatv("{0} block{1} of a multiprocessor at a time, {2} of {3} warps "
                 "({4}), bound by {5}{6}; {7} wave{8} on {9} multiprocessors",
                 found.blocks, found.blocks == 1 ? "" : "s", found.warps,
                 found.mostWarps, spellPercent(found.warps, found.mostWarps),
                 found.bound,
                 program.report ? ""
                                : ", as far as that is known without "
                                  "registers",
                 spellNumber(program.waves), program.waves == 1 ? "" : "s",
                 explanation.device->limits.multiprocessors);
}

/// " (13:10, 14:10)"; empty if there is only one, or if none is known.
static std::string listPlaces(llvm::ArrayRef<const Place *> places) {
  std::vector<std::string> texts;
  for (const Place *place : places)
    if (place->line > 0)
      texts.push_back(std::to_string(place->line) + ":" +
                      std::to_string(place->column));
  return places.size() < 2 || texts.empty()
             ? ""
             : " (" + llvm::join(texts, ", ") + ")";
}

static bool areEqualButPlaces(const Remark &lhs, const Remark &rhs) {
  return lhs.name == rhs.name && lhs.kind == rhs.kind && lhs.text == rhs.text &&
         lhs.pass == rhs.pass;
}

std::vector<std::pair<const Remark *, std::string>>
explain::groupRemarks(llvm::ArrayRef<Remark> remarks) {
  std::vector<std::vector<const Place *>> places;
  std::vector<std::pair<const Remark *, std::string>> groups;
  for (const Remark &remark : remarks) {
    auto group = llvm::find_if(groups, [&](const auto &each) {
      return areEqualButPlaces(*each.first, remark);
    });
    size_t index = group - groups.begin();
    if (group == groups.end()) {
      groups.emplace_back(&remark, "");
      places.emplace_back();
    }
    places[index].push_back(&remark.place);
  }
  for (auto [group, own] : llvm::zip_equal(groups, places))
    group.second = listPlaces(own);
  return groups;
}

std::string explain::describeTuned(const Explanation &explanation) {
  if (!explanation.tuned)
    return "not yet for such sizes: nsacc tune would";
  const TunedSchedule &tuned = *explanation.tuned;
  std::string text =
      formatv("{0:f4} ms of the whole kernel with {5} ({1:f4} to {2:f4}; {3}; "
              "{4})",
              tuned.milliseconds, tuned.low, tuned.high, tuned.policy,
              tuned.date, tuned.sizes);
  if (tuned.schedule.empty())
    return text + ", with the compiler's choice, " + describeOthers(tuned);
  return text + formatv(" with '{0}'; {1:f4} ms with the compiler's choice",
                        tuned.schedule, tuned.chosenMilliseconds)
                    .str();
}

std::string explain::describeRule(const Explanation &explanation) {
  if (!explanation.rule)
    return "";
  const TunedRule &rule = *explanation.rule;
  return formatv("{0}; here '{1}'. Of {2} shape{3} ({4}; {5}), at worst {6:f3} "
                 "times the time of their own fastest",
                 rule.describe(), explanation.ruled, rule.shapes.size(),
                 rule.shapes.size() == 1 ? "" : "s", rule.policy, rule.date,
                 rule.slowdown);
}

std::string explain::spellTiles(const Quantity &tiles, const TileMap &map) {
  if (!map.isSampled && tiles.getWhole())
    return std::to_string(*tiles.getWhole());
  return (map.isSampled ? "about " : "") + spellCount(tiles, "");
}

/// "1 batch row", "8 batch rows"
static std::string countThings(int64_t count, llvm::StringRef what) {
  return std::to_string(count) + " " + what.str() + (count == 1 ? "" : "s");
}

std::string explain::describeMap(const TileMap &map) {
  std::string text =
      formatv("{0} full, {1} partial and {2} empty tiles of {3} tokens and {4} "
              "keys",
              spellTiles(map.full, map), spellTiles(map.partial, map),
              spellTiles(map.empty, map), map.tileTokens, map.tileKeys);
  if (map.batch != 1 || map.keyHeads != 1)
    text += " in " + countThings(map.batch, "batch row") + " and " +
            countThings(map.keyHeads, "key head");
  if (map.block > 0)
    text += formatv(" in front of the selection, of which each query takes {0} "
                    "blocks of {1} keys at most",
                    map.top, map.block);
  if (map.isPerPair && map.empty == 0 && map.full == 0)
    text += "; the mask bounds no keys, so every pair is looked at";
  else if (map.isPerPair)
    text += "; the mask is looked at pair by pair in those that bounds don't "
            "settle";
  return text;
}

std::string explain::describeShown(const TileMap &map) {
  std::string rows = map.batch == 1 ? ""
                     : map.areRowsAlike
                         ? "any batch row"
                         : "batch row " + std::to_string(map.batchRow);
  std::string heads =
      map.keyHeads == 1   ? ""
      : map.areHeadsAlike ? "any key head"
      : map.firstHead == map.lastHead
          ? "head " + std::to_string(map.firstHead)
          : formatv("heads {0} to {1}", map.firstHead, map.lastHead).str();
  if (rows.empty() && heads.empty())
    return "";
  return " in " + rows + (rows.empty() || heads.empty() ? "" : " and ") + heads;
}

std::string explain::describeTarget(const Explanation &explanation) {
  const tuning::Rates &rates = explanation.rates;
  std::string text = explanation.target;
  if (!explanation.device)
    return text + formatv(" of this machine, {0} thread{1}",
                          static_cast<int64_t>(rates.units),
                          rates.units == 1 ? "" : "s")
                      .str();
  if (explanation.device->name != text)
    text += " (" + explanation.device->name + ")";
  return text + formatv(", {0} multiprocessors",
                        explanation.device->limits.multiprocessors)
                    .str();
}

std::string explain::describeBuffers(const Explanation &explanation) {
  double inputs = 0, results = 0;
  for (const Buffer &buffer : explanation.buffers)
    (buffer.isResult ? results : inputs) += static_cast<double>(buffer.bytes);
  return spellBytes(inputs) + " of inputs, " + spellBytes(results) +
         " of results, " +
         spellBytes(static_cast<double>(explanation.workspaceBytes)) +
         " of workspace";
}
