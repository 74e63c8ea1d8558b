//===- AutoTune.cpp - Schedules that are found when they are needed -------===//

#include "nsacc/Support/Tasks.h"
#include "nsacc/Tuning/Tuner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Threading.h"

using namespace nsacc;
using namespace nsacc::tuning;

/// Greatest time of another schedule, relative to the compiler's choice, for
/// which the model takes it: the rules of the compiler's choice were measured.
static constexpr double kLeastGain = 0.92;
/// Most candidates of a grid that are compiled to see whether they fit.
static constexpr size_t kMostTried = 8;

/// The first candidate whose tiles have room and don't spill; the model may
/// take no others. As many candidates are compiled side by side as there are
/// threads.
static const Candidate *findGood(const CompiledProgram &program,
                                 llvm::StringRef kernel, const DimSizes &sizes,
                                 llvm::ArrayRef<Candidate> candidates,
                                 unsigned threads) {
  CompilerThreads workers(threads);
  size_t most =
      threads ? threads : llvm::hardware_concurrency().compute_thread_count();
  while (!candidates.empty()) {
    llvm::ArrayRef<Candidate> batch =
        candidates.take_front(std::min(most, candidates.size()));
    std::vector<char> isGood(batch.size());
    Tasks tasks(workers);
    for (size_t i = 0; i < batch.size(); ++i)
      tasks.add(i, [&, i] {
        auto code =
            program.compileFor(kernel, sizes, batch[i].schedule.toString());
        isGood[i] = code && code->losses.empty();
        llvm::consumeError(code.takeError());
        return llvm::Error::success();
      });
    llvm::consumeError(tasks.wait());
    if (auto found = llvm::find(isGood, true); found != isGood.end())
      return &batch[found - isGood.begin()];
    candidates = candidates.drop_front(batch.size());
  }
  return nullptr;
}

llvm::Expected<std::string>
tuning::chooseByModel(const CompiledProgram &program, llvm::StringRef kernel,
                      const DimSizes &sizes, const ModelOptions &options) {
  schedule::Settings best;
  auto use = [&](nsa::KernelOp op, const schedule::Goal &goal,
                 const schedule::Settings &given) -> llvm::Error {
    auto current = makeCandidate(op, goal, given, {}, sizes, options);
    if (!current)
      return current.takeError();
    auto groups = listGroups(op, goal, given, {}, sizes, options);
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
        const Candidate *fits =
            findGood(program, kernel, sizes, found, options.threads);
        if (!fits)
          continue;
        *current = *fits;
        best = current->schedule;
      }
    return llvm::Error::success();
  };
  if (llvm::Error error = program.withKernel(kernel, sizes, use))
    return std::move(error);
  return best.toString();
}

static llvm::Expected<std::string> find(const CompiledProgram &program,
                                        llvm::StringRef kernel,
                                        const DimSizes &sizes, TuneMode mode,
                                        const TuneOptions &options) {
  if (mode == TuneMode::Model)
    return chooseByModel(program, kernel, sizes, getModelOptions(options));
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
  // Trials have other options than the code that runs.
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
  tuning.keepsUnfinished = true;
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
