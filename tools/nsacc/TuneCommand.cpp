//===- TuneCommand.cpp - nsacc tune ---------------------------------------===//

#include "Commands.h"
#include "Dimensions.h"
#include "Files.h"
#include "FlagChecks.h"
#include "Inputs.h"
#include "Interruption.h"
#include "ManySizes.h"
#include "Program.h"
#include "ProgramFlags.h"
#include "TunedStore.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/Pipelines/Targets.h"
#include "nsacc/Schedule/Settings.h"
#include "nsacc/Signature/Signature.h"
#include "nsacc/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

namespace {
struct TuneFlags {
  ProgramOptions program;
  std::string target = "cpu", schedule, effort = "quick";
  std::optional<std::string> device;
  std::vector<std::string> dims, ranges;
  std::string shapes, heldOut, output;
  size_t mostSchedules = 3;
  double mostSlowdown = 1.05;
  double budget = 30, agreement = 0, timeout = 60;
  uint64_t seed = 0;
  unsigned threads = 0;
  bool isGraph = false, isCold = false, json = false;
};
} // namespace

//===-- Output ------------------------------------------------------------===//

/// Prints one line; on a terminal, the next one overwrites it.
static void printProgress(const tuning::Progress &progress) {
  bool isTerminal = llvm::sys::Process::StandardErrIsDisplayed();
  llvm::errs() << (isTerminal ? "\r\x1b[K" : "")
               << llvm::formatv("{0,6:f1} s  {1} compiled, {2} measured, {3} "
                                "failed",
                                progress.seconds, progress.compiled,
                                progress.measured, progress.failed);
  if (progress.bestMilliseconds > 0)
    llvm::errs() << llvm::formatv(
        "; {0:f4} ms, {1:f2} times as fast as the compiler's choice",
        progress.bestMilliseconds,
        progress.chosenMilliseconds / progress.bestMilliseconds);
  llvm::errs() << "; " << progress.what << (isTerminal ? "" : "\n");
}

/// Prints the progress of work other than tuning.
static void printPhase(llvm::StringRef what) {
  bool isTerminal = llvm::sys::Process::StandardErrIsDisplayed();
  llvm::errs() << what << (isTerminal ? "" : "\n");
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
    // Reasons that differ only in numbers are the same.
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

static void printBest(const tuning::TuneResult &result) {
  const TunedSchedule &best = result.best;
  llvm::outs() << llvm::formatv("{0}: {1:f4} ms ({2:f4} to {3:f4})", best.sizes,
                                best.milliseconds, best.low, best.high);
  if (!result.isCompared)
    llvm::outs() << " with the compiler's choice, which nothing was compared "
                    "with\n";
  else if (best.schedule.empty())
    llvm::outs() << " with the compiler's choice, " << describeOthers(best)
                 << '\n';
  else
    llvm::outs() << llvm::formatv(
        ", {0:f2} times as fast as the compiler's choice ({1:f4} ms)\n",
        best.chosenMilliseconds / best.milliseconds, best.chosenMilliseconds);
  if (auto noise = tuning::findNoise(best); noise && result.isCompared)
    printWarning(
        llvm::formatv(
            "these times vary by {0:f0} %: something else takes the machine's "
            "time, and what is faster by less may have been overlooked; tune "
            "again "
            "when the machine is idle",
            *noise * 100)
            .str());
  if (!best.schedule.empty())
    llvm::outs() << "schedule: " << best.schedule << '\n';
  if (result.floor)
    llvm::outs() << "floor: " << result.floor->describe() << '\n';
  if (!best.schedule.empty())
    llvm::outs() << llvm::formatv(
        "checked against the oracle: {0:f2} of the error that is allowed\n",
        best.error);
}

/// Why measuring gave nothing to keep; empty if it did.
static std::string explainNotKept(const tuning::TuneResult &result) {
  bool isCut = result.isStopped || result.isTimeOver;
  if (result.isCompared && !(isCut && result.best.schedule.empty()))
    return "";
  if (result.isCompared)
    return result.isStopped
               ? "it was interrupted, and nothing was faster until then"
               : "the time was over before all candidates were tried, and "
                 "nothing was faster until then: give more with --budget";
  return result.isStopped ? "it ended before anything was compared with the "
                            "compiler's choice"
                          : spellTooShort("");
}

static void printText(const tuning::TuneResult &result,
                      const tuning::TuneOptions &options) {
  const TunedSchedule &best = result.best;
  // Zero if it was stopped before the first one was measured.
  if (best.milliseconds > 0)
    printBest(result);
  llvm::outs() << llvm::formatv(
      "{0} candidates measured, {1} failed, in {2:f1} s; {3}\n", best.measured,
      best.failed, result.seconds, result.ending);
  for (const auto &[reason, count] : countFailures(result))
    llvm::outs() << "  " << count << (count == 1 ? " time: " : " times, as: ")
                 << reason << '\n';
  printKept(result.isKept, explainNotKept(result), options);
}

//===-- Tuning ------------------------------------------------------------===//

static llvm::Expected<tuning::IntegerRanges>
readRanges(const TuneFlags &flags, const Signature &signature) {
  auto ranges = parseSettings("--range", flags.ranges);
  if (!ranges)
    return ranges.takeError();
  return readIntegerRanges(*ranges, signature);
}

static llvm::Expected<tuning::TuneOptions>
readOptions(const TuneFlags &flags, const TuningOptions &store) {
  tuning::TuneOptions options;
  auto effort = tuning::findEffort(flags.effort);
  if (!effort)
    return makeError("'--effort " + flags.effort + "' isn't known",
                     "it is seeds, model, quick, full or exhaustive");
  options.effort = *effort;
  options.budgetSeconds = flags.budget;
  options.seed = flags.seed;
  options.policy = {flags.isGraph, flags.isCold, flags.agreement};
  auto threads = chooseThreads(flags.threads);
  if (!threads)
    return threads.takeError();
  options.threads = *threads;
  options.store = store.store;
  options.worker = getWorker();
  options.worker.timeoutSeconds = flags.timeout;
  options.report = printProgress;
  options.warn = printWarning;
  options.isStopped = Interruption::isAsked;
  return options;
}

namespace {
/// The program and options to tune.
struct Subject {
  std::unique_ptr<Program> program;
  std::unique_ptr<CompiledProgram> compiled;
  Signature signature;
};
} // namespace

/// Returns exit status 1 if the time was too short to compare anything.
static ExitCode tuneOne(const TuneFlags &flags, const Subject &subject,
                        const DimSizes &sizes,
                        const tuning::TuneOptions &options) {
  auto result = [&] {
    Interruption interruption;
    return tuning::tune(*subject.compiled, subject.signature.kernel, sizes,
                        options);
  }();
  endProgress();
  if (!result)
    return subject.program->report(result.takeError());
  if (flags.json)
    llvm::outs() << llvm::formatv("{0:2}\n", toJSON(*result));
  else
    printText(*result, options);
  if (result->isStopped)
    return Interruption::getStatus();
  return result->isCompared ? ExitCode::Success : ExitCode::UserError;
}

/// Returns exit status 1 if a shape is slower than allowed, or nothing was
/// compared.
static ExitCode tuneMany(const TuneFlags &flags, const Subject &subject,
                         const tuning::TuneOptions &tuning) {
  auto sizes = readManySizes(flags.shapes, flags.heldOut, subject.signature);
  if (!sizes)
    return reportError(sizes.takeError());
  tuning::ShapesOptions options;
  options.tuning = tuning;
  options.mostSchedules = flags.mostSchedules;
  options.mostSlowdown = flags.mostSlowdown;
  options.heldOut = std::move(sizes->heldOut);
  Interruption interruption;
  auto result = tuning::tuneShapes(*subject.compiled, subject.signature.kernel,
                                   sizes->shapes, options);
  endProgress();
  if (!result)
    return subject.program->report(result.takeError());
  if (flags.json)
    llvm::outs() << llvm::formatv("{0:2}\n", toJSON(*result, options));
  else
    printManySizes(*result, options);
  llvm::outs().flush();
  auto endWithout = [&](ExitCode status) {
    if (!flags.output.empty())
      llvm::errs() << "note: '" << flags.output << "' isn't written\n";
    return status;
  };
  if (!result->hasPassed(options))
    return endWithout(result->isStopped ? Interruption::getStatus()
                                        : ExitCode::UserError);
  if (flags.output.empty())
    return ExitCode::Success;
  if (Interruption::isAsked())
    return endWithout(Interruption::getStatus());
  printPhase("compiling the package");
  auto package =
      tuning::packageRule(*subject.compiled, subject.signature.kernel, *result);
  endProgress();
  if (!package)
    return subject.program->report(package.takeError());
  if (Interruption::isAsked())
    return endWithout(Interruption::getStatus());
  if (llvm::Error error = writeFiles({{flags.output, *package}}))
    return reportError(std::move(error));
  return ExitCode::Success;
}

static llvm::Error checkFlags(const TuneFlags &flags) {
  bool hasShapes = !flags.shapes.empty();
  if (flags.program.file.empty())
    return makeError("there is no program to tune",
                     "as nsacc tune flash.nsa --dims B=1,T=4096,…");
  if (hasShapes == !flags.dims.empty())
    return makeError(hasShapes ? "--dims and --dims-file are of one shape and "
                                 "of many, found both"
                               : "there are no sizes to tune for",
                     hasShapes ? "leave out one of them"
                               : "give --dims NAME=SIZE,…, or --dims-file");
  if (!hasShapes && (!flags.heldOut.empty() || !flags.output.empty()))
    return makeError("--held-out and --output are of many shapes",
                     "give --dims-file");
  // Checked before minutes of tuning.
  if (llvm::Error error = refuseTerminal(flags.output, "a package", "-o"))
    return error;
  llvm::StringRef folder = llvm::sys::path::parent_path(flags.output);
  if (std::error_code error = llvm::sys::fs::access(
          folder.empty() ? "." : folder, llvm::sys::fs::AccessMode::Write);
      error && !flags.output.empty())
    return makeError("can't write '" + flags.output + "': " + error.message());
  return llvm::Error::success();
}

static ExitCode runTuning(const TuneFlags &flags,
                          llvm::ArrayRef<std::string> commandLine) {
  if (llvm::Error error = checkFlags(flags))
    return reportError(std::move(error), ExitCode::Usage);
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
  Subject subject;
  subject.program =
      Program::load(flags.program, commandLine, instruments, status);
  if (!subject.program)
    return status;
  status = subject.program->runPhases(Phase::NSA);
  if (status != ExitCode::Success)
    return status;
  auto kernel = subject.program->getKernel(flags.program.kernel);
  if (!kernel)
    return reportError(kernel.takeError());
  subject.signature = getSignature(*kernel);
  if (llvm::Error error =
          readRanges(flags, subject.signature).moveInto(options->ranges))
    return reportError(std::move(error));
  CompileOptions compile;
  if (llvm::Error error = resolveTarget(**target, flags.device, compile))
    return reportError(std::move(error));
  compile.schedule = flags.schedule;
  compile.threads = options->threads;
  compile.warn = printWarning;
  compile.tuning.policy = options->policy;
  auto compiled =
      CompiledProgram::create(subject.program->getModule(), compile);
  if (!compiled)
    return subject.program->report(compiled.takeError());
  if (llvm::Error error = subject.program->checkWarnings())
    return reportError(std::move(error));
  subject.compiled = std::move(*compiled);
  if (!flags.shapes.empty())
    return tuneMany(flags, subject, *options);
  auto sizes = readAllDimensions(*dims, subject.signature, "tuning");
  if (!sizes)
    return reportError(sizes.takeError());
  return tuneOne(flags, subject, *sizes, *options);
}

//===-- Exports -----------------------------------------------------------===//

static ExitCode exportStore(const std::string &path) {
  auto options = lookupTuning();
  if (!options)
    return reportError(options.takeError());
  auto all = TunedSchedules(options->store, printWarning).exportAll();
  if (!all)
    return reportError(all.takeError());
  std::string text = llvm::formatv("{0:2}\n", *all);
  if (llvm::Error error = writeFiles({{path, text}}))
    return reportError(std::move(error));
  return ExitCode::Success;
}

namespace {
/// Exactly one of the two is set.
struct Imported {
  std::string key;
  std::optional<TunedSchedule> tuned;
  std::optional<TunedRule> rule;
};
} // namespace

static bool isOfThisBuild(const Imported &imported) {
  return getLine(imported.key, "compiler") == getSourceHash();
}

/// Other builds may have fields that this build lacks.
static llvm::Error checkSchedules(const Imported &imported) {
  if (!isOfThisBuild(imported))
    return llvm::Error::success();
  if (imported.tuned)
    return schedule::Settings::parse(imported.tuned->schedule).takeError();
  for (const TunedRule::Case &each : imported.rule->cases)
    if (auto read = schedule::Settings::parse(each.schedule); !read)
      return read.takeError();
  return llvm::Error::success();
}

static llvm::Expected<Imported> readImported(const llvm::json::Value &entry) {
  constexpr size_t longestKey = 1 << 20;
  const llvm::json::Object *object = entry.getAsObject();
  auto key = object ? object->getString("key") : std::nullopt;
  const llvm::json::Value *tuned = object ? object->get("tuned") : nullptr;
  const llvm::json::Value *rule = object ? object->get("rule") : nullptr;
  if (!key || bool(tuned) == bool(rule))
    return llvm::createStringError(
        "expected an object with 'key' and 'tuned', or 'key' and 'rule'");
  bool isKey = tuned ? key->starts_with("tuned: ") : isRuleKey(*key);
  if (!isKey || key->size() > longestKey)
    return llvm::createStringError(
        llvm::Twine("expected 'key' to begin with '") +
        (tuned ? "tuned: " : "rule: 1") + "', and to have at most " +
        llvm::Twine(longestKey) + " bytes");
  Imported imported{key->str(), {}, {}};
  llvm::json::Path::Root root(tuned ? "tuned" : "rule");
  bool isRead = tuned ? fromJSON(*tuned, imported.tuned.emplace(), root)
                      : fromJSON(*rule, imported.rule.emplace(), root);
  if (!isRead)
    return root.getError();
  if (llvm::Error error = checkSchedules(imported))
    return std::move(error);
  return imported;
}

static llvm::Expected<std::vector<Imported>>
readAllImported(const std::string &path) {
  auto value = readJSONFile(path, "exported schedules");
  if (!value)
    return value.takeError();
  const llvm::json::Array *list = value->getAsArray();
  if (!list)
    return makeError("'" + path + "' has no list of schedules",
                     "nsacc tune export writes one");
  std::vector<Imported> all;
  llvm::StringMap<size_t> known;
  for (auto [index, each] : llvm::enumerate(*list)) {
    auto imported = readImported(each);
    if (imported)
      if (auto [first, isNew] = known.try_emplace(imported->key, index + 1);
          !isNew)
        imported = llvm::createStringError("it has the key of entry " +
                                           llvm::Twine(first->second));
    if (!imported)
      return makeError(
          "entry " + llvm::Twine(index + 1) + " of '" + path +
              "' is no tuned schedule: " + llvm::toString(imported.takeError()),
          "nothing of the file was imported: mend or remove the "
          "entry");
    all.push_back(std::move(*imported));
  }
  return all;
}

namespace {
struct ImportCounts {
  size_t own = 0, seeds = 0, rules = 0;
};
} // namespace

/// Entries of this build are stored under their keys; entries of another build
/// are seeds.
static bool keepImported(const TunedSchedules &store, const Imported &each,
                         ImportCounts &counts) {
  bool isOwn = isOfThisBuild(each);
  if (each.rule) {
    counts.rules += isOwn;
    counts.seeds += !isOwn;
    return isOwn ? store.storeRule(each.key, *each.rule)
                 : store.storeSeeds(each.key, *each.rule);
  }
  if (!isOwn && each.tuned->schedule.empty())
    return true;
  ++(isOwn ? counts.own : counts.seeds);
  return isOwn ? store.store(each.key, *each.tuned)
               : store.storeSeed(each.key, each.tuned->schedule);
}

/// A file with an invalid entry changes nothing.
static ExitCode importStore(const std::string &path) {
  auto options = lookupTuning();
  if (!options)
    return reportError(options.takeError());
  auto all = readAllImported(path);
  if (!all)
    return reportError(all.takeError());
  if (llvm::Error error = checkMayWrite(options->store, "nothing is imported"))
    return reportError(std::move(error));
  TunedSchedules store(options->store, printWarning);
  ImportCounts counts;
  for (const Imported &each : *all)
    if (!keepImported(store, each, counts))
      return reportError(
          makeError("'" + options->store.folder + "' can't be written",
                    "NSACC_CACHE_DIR names another folder"));
  auto count = [](size_t number, const char *what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  llvm::outs() << count(counts.own, "schedule") << " of this build, and "
               << counts.seeds << " of others, which tuning tries first\n";
  if (counts.rules > 0)
    llvm::outs() << count(counts.rules, "rule") << " of many sizes\n";
  return ExitCode::Success;
}

void nsacc::addTuneCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "tune", "measure schedules of a kernel, and keep the fastest for later "
              "compilations");
  auto flags = std::make_shared<TuneFlags>();
  addProgramFlags(*command, flags->program);
  // `export` and `import` need no file.
  command->get_option("FILE")->required(false);
  addRepeatedFlag(*command, "--dims", flags->dims,
                  "sizes of all dimensions of the calls to tune for; for "
                  "ragged ones the rows' lengths: T=[5,0,127]")
      ->type_name("NAME=SIZE,...");
  command
      ->add_option(
          "--dims-file", flags->shapes,
          "JSON with a list of sizes: a rule of few schedules is found "
          "for all of them, and kept for other sizes, too")
      ->type_name("FILE.json");
  command
      ->add_option("--held-out", flags->heldOut,
                   "list of sizes that the rule is judged by")
      ->type_name("FILE.json");
  command
      ->add_option("--most-schedules", flags->mostSchedules,
                   "most schedules of the rule")
      ->check(CLI::Range(size_t{1}, size_t{16}))
      ->capture_default_str();
  command
      ->add_option("--max-slowdown", flags->mostSlowdown,
                   "most slowdown of a shape by the rule, relative to its "
                   "fastest schedule")
      ->check(checkNumber(1, 100))
      ->capture_default_str();
  command
      ->add_option("-o,--output", flags->output,
                   "write a package whose guards are the rule")
      ->type_name("FILE.nsapkg")
      ->check(checkFileName());
  command
      ->add_option("--target", flags->target,
                   "target that runs it, on this machine: cpu or cuda")
      ->type_name("NAME")
      ->capture_default_str();
  addScheduleFlag(*command, flags->schedule);
  command
      ->add_option("--effort", flags->effort,
                   "seeds: schedules that were the fastest before; model: the "
                   "best one by a model; quick: its best ones; full: more, "
                   "and orders of steps; exhaustive: every candidate")
      ->capture_default_str();
  command
      ->add_option("--budget", flags->budget,
                   "seconds after which no more candidates are begun; with "
                   "--dims-file, for all shapes together")
      ->type_name("SECONDS")
      ->check(checkSeconds())
      ->capture_default_str();
  command
      ->add_option("--agreement", flags->agreement,
                   "for selections: share of blocks that 32 neighbouring "
                   "tokens have in common, 0 to below 1")
      ->check(checkNumber(0, 0.999))
      ->capture_default_str();
  command->add_flag("--graph", flags->isGraph,
                    "measure launches of a CUDA graph");
  command->add_flag("--cold", flags->isCold, "measure with a cold L2 cache");
  addRepeatedFlag(*command, "--range", flags->ranges,
                  "least and greatest integer of an input, if the program "
                  "doesn't say")
      ->type_name("NAME=LOW..HIGH");
  command->add_option("--seed", flags->seed, "seed of random inputs")
      ->check(checkSeed())
      ->capture_default_str();
  command
      ->add_option(
          "--timeout", flags->timeout,
          "seconds after which a candidate that is still running has failed")
      ->check(checkSeconds())
      ->capture_default_str();
  addThreadsFlag(*command, flags->threads,
                 "threads that compile, and that run code of a CPU "
                 "(NSACC_THREADS, or all of the machine)",
                 "Compiler");
  command->add_flag("--json", flags->json,
                    "print all trials as JSON; for many shapes, their times");
  auto file = std::make_shared<std::string>();
  auto addTransfer = [&](const char *name, const char *what,
                         ExitCode (*run)(const std::string &)) {
    CLI::App *transfer = command->add_subcommand(name, what);
    transfer->add_option("FILE", *file, "FILE.json")->required();
    transfer->callback([file, run, command, name, &invocation] {
      const CLI::Option *program = command->get_option("FILE");
      invocation.status =
          program->count() == 0
              ? run(*file)
              : reportError(makeError("'nsacc tune " + std::string(name) +
                                          "' is of all programs, found '" +
                                          program->as<std::string>() + "'",
                                      "leave out the program"),
                            ExitCode::Usage);
    });
  };
  addTransfer("export", "write all tuned schedules as JSON", exportStore);
  addTransfer("import", "read tuned schedules that were exported", importStore);
  command->callback([flags, command, &invocation] {
    if (command->get_subcommands().empty())
      invocation.status = runTuning(*flags, invocation.commandLine);
  });

  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  // CLI11 doesn't list options of a group without a name.
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
