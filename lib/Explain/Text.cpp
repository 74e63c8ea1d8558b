//===- Text.cpp - An explanation as a report ------------------------------===//

#include "Numbers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;
using namespace nsacc::explain;

/// Prints a line, with a column for its heading.
static void printLine(llvm::raw_ostream &os, llvm::StringRef heading,
                      llvm::StringRef text) {
  if (!text.empty())
    os << "  " << llvm::left_justify(heading, 12) << text << '\n';
}

static void printHead(const Explanation &all, llvm::raw_ostream &os) {
  os << "kernel " << all.signature << '\n';
  printLine(os, "for", describeTarget(all));
  printLine(os, "sizes",
            all.sizes + (all.queries.empty() ? "" : ": " + all.queries));
  printLine(os, "schedule",
            all.schedule.empty() ? "the compiler's choice" : all.schedule);
  printLine(os, "memory", describeBuffers(all));
  printLine(os, "no launch", all.refusal);
  printLine(os, "rates", describeRates(all));
  printLine(os, "floor", all.floor.describe());
  printLine(os, "predicted",
            spellSeconds(all.predictedSeconds) + " by the model");
  printLine(os, "why", describeGap(all));
  printLine(os, "measured", describeTuned(all));
  printLine(os, "rule", describeRule(all));
  printLine(os, "registers", all.noRegisters);
  for (const std::string &loss : all.losses)
    printLine(os, "slow", loss);
}

static void printWork(const ProgramExplanation &program, const Explanation &all,
                      llvm::raw_ostream &os) {
  printLine(os, "computes", describeOps(program, all));
  printLine(os, "useful work", describeWork(program));
  std::vector<std::string> floors;
  for (const Ceiling &each : listCeilings(program))
    floors.push_back(std::string(each.name) + " " + spellSeconds(each.seconds) +
                     (floors.empty() ? " (binds)" : ""));
  if (!floors.empty())
    floors.front().insert(0, spellCertainty(program.work.certainty));
  printLine(os, "floors", llvm::join(floors, ", "));
  if (program.cacheSeconds > 0)
    printLine(os, "L2 cache",
              spellBytes(program.cacheBytes) + " loaded by these tiles, " +
                  spellSeconds(program.cacheSeconds));
  printLine(os, "predicted", describePrediction(program));
}

static void printRemarks(llvm::ArrayRef<Remark> remarks,
                         llvm::raw_ostream &os) {
  for (const auto &[remark, places] : groupRemarks(remarks))
    printLine(os, "remark",
              remark->name + " " + remark->kind + places + ": " + remark->text +
                  " [" + remark->pass + "]");
}

static void printProgram(const Explanation &all, size_t index,
                         llvm::raw_ostream &os) {
  const ProgramExplanation &program = all.programs[index];
  os << llvm::formatv("\nprogram {0} of {1}: {2}\n", index + 1,
                      all.programs.size(), program.name);
  if (program.role == ProgramExplanation::Role::Main)
    printWork(program, all, os);
  else
    printLine(os, "role", describeRole(program));
  printLine(os, "launch", describeLaunch(program, all.device.has_value()));
  printLine(os, "resources", describeResources(program));
  printLine(os, "occupancy", describeOccupancy(program, all));
  printRemarks(program.remarks, os);
}

static void printOp(const OpExplanation &op, llvm::raw_ostream &os) {
  os << "\nop " << describeOp(op) << '\n';
  printLine(os, "mask", op.mask);
  if (op.map)
    printLine(os, "tiles", describeMap(*op.map));
  for (const auto &[fields, reason] : groupFields(op))
    os << "    " << fields << '\n' << "      " << reason << '\n';
}

void explain::printText(const Explanation &explanation, llvm::raw_ostream &os) {
  printHead(explanation, os);
  printRemarks(explanation.remarks, os);
  for (size_t program = 0; program < explanation.programs.size(); ++program)
    printProgram(explanation, program, os);
  for (const OpExplanation &op : explanation.ops)
    printOp(op, os);
}
