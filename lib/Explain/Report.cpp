//===- Report.cpp - Lines of reports --------------------------------------===//

#include "Report.h"
#include "Numbers.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;
using namespace nsacc::explain;

namespace {
/// Lines whose text isn't empty.
struct Rows {
  std::vector<Row> rows;

  void add(llvm::StringRef heading, std::string text) {
    if (!text.empty())
      rows.push_back({heading, std::move(text)});
  }
};
} // namespace

std::vector<Row> explain::listRows(const Explanation &all) {
  Rows found;
  found.add("sizes",
            all.sizes + (all.queries.empty() ? "" : ": " + all.queries));
  found.add("schedule",
            all.schedule.empty() ? "the compiler's choice" : all.schedule);
  found.add("memory", describeBuffers(all));
  found.add("no launch", all.refusal);
  found.add("rates", describeRates(all));
  found.add("floor", all.floor.describe());
  found.add("predicted", spellSeconds(all.predictedSeconds) + " by the model");
  found.add("why", describeGap(all));
  found.add("measured", describeTuned(all));
  found.add("rule", describeRule(all));
  found.add("registers", all.noRegisters);
  for (const std::string &loss : all.losses)
    found.add("slow", loss);
  return std::move(found.rows);
}

static std::string describeFloors(const ProgramExplanation &program) {
  std::vector<std::string> floors;
  for (const Ceiling &each : listCeilings(program))
    floors.push_back(std::string(each.name) + " " + spellSeconds(each.seconds) +
                     (floors.empty() ? " (binds)" : ""));
  return floors.empty() ? ""
                        : spellCertainty(program.work.certainty).str() +
                              llvm::join(floors, ", ");
}

std::vector<Row> explain::listRows(const ProgramExplanation &program,
                                   const Explanation &all) {
  Rows found;
  if (program.role == ProgramExplanation::Role::Main) {
    found.add("computes", describeOps(program, all));
    found.add("useful work", describeWork(program));
    found.add("floors", describeFloors(program));
    if (program.cacheSeconds > 0)
      found.add("L2 cache", spellBytes(program.cacheBytes) +
                                " loaded by these tiles, " +
                                spellSeconds(program.cacheSeconds));
    found.add("predicted", describePrediction(program));
  } else {
    found.add("role", describeRole(program));
  }
  found.add("launch", describeLaunch(program, all.device.has_value()));
  found.add("resources", describeResources(program));
  found.add("occupancy", describeOccupancy(program, all));
  return std::move(found.rows);
}
