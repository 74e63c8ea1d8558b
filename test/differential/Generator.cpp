//===- Generator.cpp - Random programs ------------------------------------===//

#include "Generator.h"
#include "Numbers.h"
#include "RandomProgram.h"

using namespace nsacc;
using namespace nsacc::differential;

//===----------------------------------------------------------------------===//
// Sizes, schedule, inputs
//===----------------------------------------------------------------------===//

void RandomProgram::chooseSizes() {
  Choices::Together together(c);
  result.dtype = c.pick({"f32", "f32", "f32", "bf16", "f16"});
  program.ragged = c.chance(20);
  bool self = c.chance(program.ragged ? 50 : 10);
  if (self)
    program.keyTokens = "T";
  Text prefix = program.ragged ? "ragged " : "B, ";
  program.queryRows = prefix + "T";
  program.keyRows = prefix + program.keyTokens;

  program.computesKeys = c.chance(10);
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

void RandomProgram::chooseSchedule() {
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
  // Compiling takes most of the time, in particular for tiles with many pairs.
  while (schedule.tokens * schedule.keys > 1024)
    schedule.tokens /= 2;
  if (schedule.order == "key_major" || c.chance(30))
    schedule.splits = c.pick<int64_t>({1, 2, 3, 7});
  if (c.chance(40))
    schedule.method = "threshold";
  if (c.chance(25))
    schedule.program = "own";
  result.schedule = schedule;
}

void RandomProgram::declareInputs() {
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
// The whole program
//===----------------------------------------------------------------------===//

Case RandomProgram::run() {
  chooseSizes();
  declareInputs();
  branches.push_back(makeBranch());
  while (branches.size() < 3 && c.chance(18))
    branches.push_back(makeBranch());
  combine();
  addMoreResults();
  addMaps(program);
  putHeadsFirst(program);
  chooseSchedule();
  result.program = program.getText();
  if (result.schedule && result.program.find("topk(") == std::string::npos)
    result.schedule->method = Schedule().method;
  result.ranges = program.ranges;
  result.averages = program.averages;
  std::vector<int64_t> borders = {16, 32, 64};
  if (result.schedule)
    borders.push_back(result.schedule->keys);
  makeRuns(c, program.ragged, program.keyTokens, borders, derived, result);
  writeNumbers(c, result);
  return std::move(result);
}

Case nsacc::differential::generate(Choices &choices) {
  return RandomProgram(choices).run();
}
