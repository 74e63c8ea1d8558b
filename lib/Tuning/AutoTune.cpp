//===- AutoTune.cpp - Schedules that are found when they are needed -------===//

#include "nsacc/Tuning/Tuner.h"

using namespace nsacc;
using namespace nsacc::tuning;

/// How much less time the model has to see in another schedule than in the
/// compiler's choice, whose rules were measured.
static constexpr double kLeastGain = 0.92;
/// Candidates of a grid that are compiled to see whether they fit.
static constexpr size_t kMostTried = 8;

/// Tiles that have no room, or spill, are none that the model may take.
static bool isGood(const CompiledProgram &program, llvm::StringRef kernel,
                   const DimSizes &sizes, const Candidate &candidate) {
  auto code = program.compileFor(kernel, sizes, candidate.schedule);
  bool isGood = code && code->losses.empty();
  llvm::consumeError(code.takeError());
  return isGood;
}

llvm::Expected<std::string>
tuning::chooseByModel(const CompiledProgram &program, llvm::StringRef kernel,
                      const DimSizes &sizes, double agreement) {
  std::string best;
  auto use = [&](nsa::KernelOp op, const schedule::Goal &goal,
                 const schedule::Settings &given) -> llvm::Error {
    ModelOptions options = {agreement};
    auto current = makeCandidate(op, goal, given, "", sizes, options);
    if (!current)
      return current.takeError();
    auto groups = listGroups(op, goal, given, "", sizes, options);
    if (!groups)
      return groups.takeError();
    for (Grid grid : {Grid::Programs, Grid::Tiles})
      for (const Group &group : *groups) {
        std::vector<Candidate> found =
            listCandidates(op, goal, given, best, group, grid, sizes, options);
        llvm::erase_if(found, [&](const Candidate &each) {
          return each.predicted > kLeastGain * current->predicted;
        });
        found.resize(std::min(found.size(), kMostTried));
        auto fits = llvm::find_if(found, [&](const Candidate &each) {
          return isGood(program, kernel, sizes, each);
        });
        if (fits == found.end())
          continue;
        *current = std::move(*fits);
        best = current->schedule;
      }
    return llvm::Error::success();
  };
  if (llvm::Error error = program.withKernel(kernel, sizes, use))
    return std::move(error);
  return best;
}

static llvm::Expected<std::string> find(const CompiledProgram &program,
                                        llvm::StringRef kernel,
                                        const DimSizes &sizes, TuneMode mode,
                                        const TuneOptions &options) {
  if (mode == TuneMode::Model)
    return chooseByModel(program, kernel, sizes, options.policy.agreement);
  auto found = tune(program, kernel, sizes, options);
  if (!found)
    return found.takeError();
  return found->best.schedule;
}

llvm::Error tuning::addTuner(mlir::ModuleOp module, CompileOptions &options,
                             const WorkerOptions &worker) {
  TuneMode mode = options.tuning.mode;
  if (mode <= TuneMode::Replay || options.target == Target::Oracle)
    return llvm::Error::success();
  CompileOptions untuned = options;
  untuned.tuning.mode = TuneMode::Off;
  // What is tried isn't what runs.
  untuned.cache.mode = CacheMode::Off;
  untuned.warn = nullptr;
  untuned.timing = nullptr;
  untuned.preparePasses = nullptr;
  auto program = CompiledProgram::create(module, untuned);
  if (!program)
    return program.takeError();
  TuneOptions tuning;
  tuning.effort = mode == TuneMode::Full ? Effort::Full : Effort::Quick;
  tuning.budgetSeconds = mode == TuneMode::Full ? 300 : 30;
  tuning.policy = options.tuning.policy;
  tuning.threads = options.threads;
  tuning.store = options.tuning.store;
  tuning.worker = worker;
  options.tuning.find =
      [program = std::shared_ptr<CompiledProgram>(std::move(*program)), tuning,
       mode, warn = options.warn](
          llvm::StringRef kernel,
          const DimSizes &sizes) -> std::optional<std::string> {
    auto found = find(*program, kernel, sizes, mode, tuning);
    if (found)
      return std::move(*found);
    std::string why = llvm::toString(found.takeError());
    if (warn)
      warn("kernel '" + kernel.str() +
           "' isn't tuned, and has the compiler's schedule: " + why);
    return std::nullopt;
  };
  return llvm::Error::success();
}
