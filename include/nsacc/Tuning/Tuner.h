//===- Tuner.h - Finds the fastest schedule ---------------------*- C++ -*-===//

#ifndef NSACC_TUNING_TUNER_H
#define NSACC_TUNING_TUNER_H

#include "mlir/IR/BuiltinOps.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Tuning/Space.h"
#include "nsacc/Tuning/Worker.h"
#include "llvm/ADT/StringMap.h"

namespace nsacc::tuning {

/// How much is tried.
enum class Effort {
  Seeds,     ///< nothing but the seeds and the compiler's choice
  Model,     ///< what the model prefers, and the compiler's choice beside it
  Quick,     ///< candidates that the model puts in front
  Full,      ///< more of them, and fields of steps
  Exhaustive ///< every candidate of the grids of programs and tiles
};

llvm::StringRef getName(Effort effort);
std::optional<Effort> findEffort(llvm::StringRef name);

/// Told while it goes on.
struct Progress {
  double seconds = 0;
  size_t compiled = 0, measured = 0, failed = 0;
  /// Of the compiler's choice, and the best so far; 0 while unknown.
  double chosenMilliseconds = 0, bestMilliseconds = 0;
  /// What is tried: "tiles of 'slc'".
  std::string what;
};

/// Code whose results the oracle found right, by its hash, and the sizes of the
/// inputs.
struct CheckedCode {
  std::string hash;
  DimSizes sizes;
  /// As TunedSchedule has it.
  double error = 0;
};

struct TuneOptions {
  Effort effort = Effort::Quick;
  /// After so many seconds no more candidates are begun.
  double budgetSeconds = 30;
  uint64_t seed = 0;
  /// Of inputs whose values the program doesn't tell.
  IntegerRanges ranges;
  TunePolicy policy;
  /// Threads that compile, and that run code of a CPU; 0: all.
  unsigned threads = 0;
  WorkerOptions worker;
  /// Where what was found is kept.
  CacheOptions store;
  /// Keep the compiler's choice, too, where the time was over and nothing was
  /// faster until then: otherwise the next process would search again.
  bool keepsUnfinished = false;
  /// Schedules that were the fastest elsewhere, tried first.
  std::vector<std::string> seeds;
  /// What the oracle found right, which the next search needn't check. May be
  /// null.
  std::vector<CheckedCode> *checked = nullptr;
  std::function<void(const Progress &)> report;
  /// Told where the store can't be written. May be empty.
  DiskCache::Warn warn;
  /// Asked now and then, on any thread: ends the search with what was compared
  /// and checked until then. `worker.isInterrupted` ends it with nothing. May
  /// be empty.
  std::function<bool()> isStopped;
};

/// A candidate that was tried.
struct Trial {
  Candidate candidate;
  std::vector<double> milliseconds;
  /// Why it has no times; empty where it has, or where it wasn't tried.
  std::string failure;
  /// The time was over before it was compiled.
  bool isSkipped = false;
  /// As TunedSchedule has it; 0 where it wasn't checked.
  double error = 0;

  bool isMeasured() const { return !milliseconds.empty() && failure.empty(); }
  double getMedian() const;
};

struct TuneResult {
  TunedSchedule best;
  /// By what it is stored.
  std::string key;
  /// The compiler's choice first.
  std::vector<Trial> trials;
  /// Whether it was stored: not where the store can't be written, or nothing
  /// was compared.
  bool isKept = false;
  /// Why it ended: "all candidates were tried".
  std::string ending;
  /// Whether something was measured beside the compiler's choice, or there was
  /// nothing else to measure: not where the time was over before, or it was
  /// stopped before.
  bool isCompared = false;
  /// Whether its budget ended it.
  bool isTimeOver = false;
  /// Whether what was kept before for such calls was measured beside it.
  bool isKeptCompared = false;
  /// Whether TuneOptions::isStopped ended it. Where the compiler's choice
  /// wasn't measured before, `best` has no time.
  bool isStopped = false;
  /// Seconds until the compiler's choice was measured.
  double firstSeconds = 0;
  /// Of each seed that fits, the trial of its code.
  llvm::StringMap<size_t> bySeed;
  /// The floor that explaining shows; none where code of one device was
  /// measured on another.
  std::optional<Floor> floor;
  double seconds = 0;

  /// What would be kept of a trial that was measured.
  TunedSchedule describe(const Trial &trial) const;
};

/// Tries schedules of a kernel for calls with these sizes, on the device that
/// runs the program; what the program's options give stays. The program takes
/// no tuned schedules itself (TuneMode::Off). The best one was held to the
/// oracle on short inputs, and is stored in `tuning.store`.
llvm::Expected<TuneResult> tune(const CompiledProgram &program,
                                llvm::StringRef kernel, const DimSizes &sizes,
                                const TuneOptions &tuning);

/// By how much half of a schedule's times differ, relative to the least of
/// these, where that is more than a quarter: what is faster by less may have
/// been overlooked.
std::optional<double> findNoise(const TunedSchedule &tuned);

llvm::json::Value toJSON(const Progress &progress);
llvm::json::Value toJSON(const TuneResult &result);

/// The schedule that the model prefers, without a run: the compiler's choice
/// unless another one is clearly ahead.
llvm::Expected<std::string> chooseByModel(const CompiledProgram &program,
                                          llvm::StringRef kernel,
                                          const DimSizes &sizes,
                                          const ModelOptions &options);

/// What the model is asked for a tuner.
ModelOptions getModelOptions(const TuneOptions &tuning);

/// Lets compilations of the module find schedules as options.tuning.mode says:
/// by the model, or by measuring in the first call, which `worker` does.
llvm::Error addTuner(mlir::ModuleOp module, CompileOptions &options,
                     const WorkerOptions &worker);

} // namespace nsacc::tuning

#endif // NSACC_TUNING_TUNER_H
