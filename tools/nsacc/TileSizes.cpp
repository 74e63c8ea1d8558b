//===- TileSizes.cpp - Phases that depend on sizes ------------------------===//

#include "TileSizes.h"
#include "Dimensions.h"
#include "NSA/Transforms/Passes.h"
#include "ProgramFlags.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Schedule/QueryCount.h"
#include "nsacc/Signature/Signature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

llvm::Expected<PhaseOptions> nsacc::findTileSizes(mlir::ModuleOp module,
                                                  const Settings &dims) {
  PhaseOptions options;
  std::vector<std::string> missing;
  for (auto kernel : module.getOps<nsa::KernelOp>()) {
    auto known = readDimensions(dims, getSignature(kernel));
    if (!known)
      return known.takeError();
    std::optional<QueryCount> count = QueryCount::get(kernel);
    if (count && options.queries == Queries::Any)
      options.queries = count->find(known->sizes, known->batchRows);
    for (llvm::StringRef name : nsa::getSpecializedDims(kernel)) {
      auto found = known->sizes.find(name);
      bool isKnown = found != known->sizes.end();
      std::string size = name.str();
      if (isKnown)
        size += "=" + std::to_string(found->second);
      std::vector<std::string> &list = isKnown ? options.sizes : missing;
      if (!llvm::is_contained(list, size))
        list.push_back(size);
    }
  }
  if (missing.empty())
    return options;
  return makeError("nothing tells the size of " + quoteList(missing) +
                       ", which code over tiles depends on",
                   "add --dims " + llvm::join(missing, "=…,") + "=…");
}

/// The schedule that each kernel is compiled with.
static llvm::Expected<schedule::Settings>
fitSchedules(Program &program, const Settings &dims, llvm::StringRef schedule,
             const std::optional<gpu::Device> &device) {
  CompileOptions options;
  options.target = device ? Target::GPU : Target::CPU;
  options.device = device;
  options.schedule = schedule.str();
  auto compiled = CompiledProgram::create(program.getModule(), options);
  if (!compiled)
    return compiled.takeError();
  // The flag was checked when it was read.
  auto fitting = llvm::cantFail(schedule::Settings::parse(schedule));
  for (auto kernel : program.getModule().getOps<nsa::KernelOp>()) {
    auto known = readDimensions(dims, getSignature(kernel));
    if (!known)
      return known.takeError();
    auto own = (*compiled)->fitSchedule(kernel.getSymName(), known->sizes);
    if (!own)
      return own.takeError();
    fitting.addOf(kernel.getSymName(), *own);
  }
  return fitting;
}

ExitCode nsacc::compilePhases(Program &program,
                              llvm::ArrayRef<std::string> dims,
                              llvm::StringRef schedule, Phase phase,
                              const std::optional<gpu::Device> &device) {
  if (phase <= Phase::NSA)
    return program.runPhases(phase);
  auto given = parseSettings("--dims", dims);
  if (!given)
    return reportError(given.takeError(), ExitCode::Usage);
  auto options = findTileSizes(program.getModule(), *given);
  if (!options)
    return reportError(options.takeError());
  if (ExitCode status = program.runPhases(Phase::NSA);
      status != ExitCode::Success)
    return status;
  auto fitting = fitSchedules(program, *given, schedule, device);
  if (!fitting)
    return program.report(fitting.takeError());
  options->schedule = std::move(*fitting);
  options->device = device;
  return program.runPhases(phase, *options);
}

void nsacc::addTileSizesFlag(CLI::App &command, std::vector<std::string> &dims,
                             const std::string &more) {
  addRepeatedFlag(command, "--dims", dims,
                  "tile: sizes of heads and channels; other sizes stay open "
                  "in code, but tiles are chosen for them" +
                      more)
      ->type_name("NAME=SIZE,...")
      ->group("Compiler");
}
