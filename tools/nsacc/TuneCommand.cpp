//===- TuneCommand.cpp - nsacc tune ---------------------------------------===//

#include "Commands.h"
#include "Dimensions.h"
#include "Program.h"
#include "ProgramFlags.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/Pipelines/Targets.h"
#include "nsacc/Signature/Signature.h"
#include "nsacc/Tuning/Tuner.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

namespace {
struct TuneFlags {
  ProgramOptions program;
  std::string target = "cpu", schedule, effort = "quick";
  std::optional<std::string> device;
  std::vector<std::string> dims;
  double budget = 30, agreement = 0, timeout = 60;
  uint64_t seed = 0;
  unsigned threads = 0;
  bool isGraph = false, isCold = false, json = false;
};
} // namespace

//===-- What is printed ---------------------------------------------------===//

/// One line, written over on a terminal.
static void printProgress(const tuning::Progress &progress) {
  bool isTerminal = llvm::sys::Process::StandardErrIsDisplayed();
  llvm::errs() << (isTerminal ? "\r\x1b[K" : "")
               << llvm::formatv("{0,6:f1} s  {1} compiled, {2} measured, {3} "
                                "failed",
                                progress.seconds, progress.compiled,
                                progress.measured, progress.failed);
  if (progress.bestMilliseconds > 0)
    llvm::errs() << llvm::formatv("; {0:f4} ms, {1:f2} x the compiler's choice",
                                  progress.bestMilliseconds,
                                  progress.chosenMilliseconds /
                                      progress.bestMilliseconds);
  llvm::errs() << "; " << progress.what << (isTerminal ? "" : "\n");
}

static void endProgress() {
  if (llvm::sys::Process::StandardErrIsDisplayed())
    llvm::errs() << "\r\x1b[K";
}

/// Failures by their reasons, the most frequent first.
static std::vector<std::pair<std::string, int64_t>>
countFailures(const tuning::TuneResult &result) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const tuning::Trial &trial : result.trials) {
    if (trial.failure.empty())
      continue;
    // Those that differ in numbers are of one kind.
    auto drop = [](llvm::StringRef text) {
      std::string kind = text.str();
      llvm::erase_if(kind, llvm::isDigit);
      return kind;
    };
    auto known = llvm::find_if(counts, [&](auto &each) {
      return drop(each.first) == drop(trial.failure);
    });
    if (known == counts.end())
      counts.emplace_back(trial.failure, 1);
    else
      ++known->second;
  }
  llvm::sort(counts, [](const auto &lhs, const auto &rhs) {
    return std::tie(rhs.second, lhs.first) < std::tie(lhs.second, rhs.first);
  });
  return counts;
}

static void printText(const tuning::TuneResult &result,
                      const std::string &folder) {
  const TunedSchedule &best = result.best;
  llvm::outs() << llvm::formatv("{0}: {1:f4} ms ({2:f4} to {3:f4})", best.sizes,
                                best.milliseconds, best.low, best.high);
  if (best.schedule.empty())
    llvm::outs() << " with the compiler's choice, which nothing was faster "
                    "than by 1 %\n";
  else
    llvm::outs() << llvm::formatv(
        ", {0:f2} times as fast as the compiler's choice ({1:f4} ms)\n",
        best.chosenMilliseconds / best.milliseconds, best.chosenMilliseconds);
  llvm::outs() << "schedule: " << best.schedule << '\n'
               << llvm::formatv("floor by the model: {0:f4} ms\n",
                                result.floor * 1e3);
  if (!best.schedule.empty())
    llvm::outs() << llvm::formatv(
        "checked against the oracle: {0:f2} of the error that is allowed\n",
        best.error);
  llvm::outs() << llvm::formatv(
      "{0} candidates measured, {1} failed, in {2:f1} s; {3}\n", best.measured,
      best.failed, result.seconds, result.ending);
  for (const auto &[reason, count] : countFailures(result))
    llvm::outs() << "  " << count << (count == 1 ? " time: " : " times, as: ")
                 << reason << '\n';
  if (!folder.empty())
    llvm::outs() << "kept in " << folder << '\n';
}

//===-- Tuning ------------------------------------------------------------===//

static llvm::Expected<tuning::TuneOptions>
readOptions(const TuneFlags &flags, const TuningOptions &store) {
  tuning::TuneOptions options;
  auto effort = tuning::findEffort(flags.effort);
  if (!effort)
    return makeError("'--effort " + flags.effort + "' isn't known",
                     "it is seeds, model, quick, full or exhaustive");
  options.effort = *effort;
  options.budgetSeconds = flags.budget;
  options.agreement = flags.agreement;
  options.seed = flags.seed;
  options.policy = {flags.isGraph, flags.isCold};
  auto threads = chooseThreads(flags.threads);
  if (!threads)
    return threads.takeError();
  options.threads = *threads;
  options.store = store.store;
  options.worker = getWorker();
  options.worker.timeoutSeconds = flags.timeout;
  options.report = printProgress;
  return options;
}

static ExitCode runTuning(const TuneFlags &flags,
                          llvm::ArrayRef<std::string> commandLine) {
  auto target = findKnownTarget(flags.target);
  if (!target)
    return reportError(target.takeError(), ExitCode::Usage);
  auto dims = parseSettings("--dims", flags.dims);
  if (!dims)
    return reportError(dims.takeError(), ExitCode::Usage);
  auto store = lookupTuning();
  if (!store)
    return reportError(store.takeError(), ExitCode::Usage);
  auto options = readOptions(flags, *store);
  if (!options)
    return reportError(options.takeError(), ExitCode::Usage);
  Instruments instruments({});
  ExitCode status;
  auto program = Program::load(flags.program, commandLine, instruments, status);
  if (!program)
    return status;
  status = program->runPhases(Phase::NSA);
  if (status != ExitCode::Success)
    return status;
  auto kernel = program->getKernel(flags.program.kernel);
  if (!kernel)
    return reportError(kernel.takeError());
  Signature signature = getSignature(*kernel);
  auto sizes = readDimensions(*dims, signature);
  if (!sizes)
    return reportError(sizes.takeError());
  llvm::SmallVector<const Tensor *> none(signature.inputs.size(), nullptr);
  auto bound = bindKnownDimensions(signature, none, std::move(*sizes));
  if (!bound)
    return reportError(bound.takeError());
  if (llvm::Error error = checkDimensions(signature, none, *bound))
    return reportError(std::move(error));
  CompileOptions compile;
  if (llvm::Error error = resolveTarget(**target, flags.device, compile))
    return reportError(std::move(error));
  compile.schedule = flags.schedule;
  compile.threads = options->threads;
  compile.warn = printWarning;
  compile.tuning.policy = options->policy;
  auto compiled = CompiledProgram::create(program->getModule(), compile);
  if (!compiled)
    return program->report(compiled.takeError());
  auto result = tuning::tune(**compiled, signature.kernel, *bound, *options);
  endProgress();
  if (!result)
    return program->report(result.takeError());
  if (flags.json)
    llvm::outs() << llvm::formatv("{0:2}\n", toJSON(*result));
  else
    printText(*result, store->mode == TuneMode::Off ? "" : store->store.folder);
  return ExitCode::Success;
}

void nsacc::addTuneCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "tune", "measure schedules of a kernel, and keep the fastest for "
              "compilations to come");
  auto flags = std::make_shared<TuneFlags>();
  addProgramFlags(*command, flags->program);
  addRepeatedFlag(*command, "--dims", flags->dims,
                  "sizes of all dimensions of the calls to tune for; of ragged "
                  "ones the rows' lengths: T=[5,0,127]")
      ->type_name("NAME=SIZE,...")
      ->required();
  command
      ->add_option("--target", flags->target,
                   "what runs it, on this machine: cpu or cuda")
      ->type_name("NAME")
      ->capture_default_str();
  addScheduleFlag(*command, flags->schedule);
  command
      ->add_option("--effort", flags->effort,
                   "model: what a model prefers; quick: what it puts in front; "
                   "full: more, and how "
                   "steps are ordered; exhaustive: every candidate")
      ->capture_default_str();
  command
      ->add_option("--budget", flags->budget,
                   "seconds after which no more candidates are begun")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--agreement", flags->agreement,
                   "of selections: how much of a query is common to 32 "
                   "neighbouring tokens, 0 to below 1")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  command->add_flag("--graph", flags->isGraph,
                    "measure launches of a CUDA graph");
  command->add_flag("--cold", flags->isCold,
                    "measure with a cold cache of the second level");
  command->add_option("--seed", flags->seed, "of random inputs")
      ->capture_default_str();
  command
      ->add_option(
          "--timeout", flags->timeout,
          "seconds after which a candidate that doesn't end has failed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  addThreadsFlag(*command, flags->threads,
                 "threads that compile, and that run code of a CPU "
                 "(NSACC_THREADS, or all of the machine)",
                 "");
  command->add_flag("--json", flags->json, "print all trials as JSON");
  command->callback([flags, &invocation] {
    invocation.status = runTuning(*flags, invocation.commandLine);
  });

  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  // A group without a name isn't listed.
  CLI::App *worker =
      app.add_subcommand("tune-worker", "measure packages for `nsacc tune`")
          ->group("");
  worker->add_option("JOB", paths->first)->required();
  worker->add_option("FOUND", paths->second)->required();
  worker->callback([paths, &invocation] {
    invocation.status = tuning::runWorker(paths->first, paths->second) == 0
                            ? ExitCode::Success
                            : ExitCode::UserError;
  });
}
