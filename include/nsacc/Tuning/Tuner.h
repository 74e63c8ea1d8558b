//===- Tuner.h - Finds the fastest schedule ---------------------*- C++ -*-===//

#ifndef NSACC_TUNING_TUNER_H
#define NSACC_TUNING_TUNER_H

#include "mlir/IR/BuiltinOps.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Tuning/Space.h"
#include "nsacc/Tuning/Worker.h"
#include "llvm/ADT/StringMap.h"

namespace nsacc::tuning {

/// Effort of a search.
enum class Effort {
  Seeds,     ///< only the seeds and the compiler's choice
  Model,     ///< the model's preference, and the compiler's choice beside it
  Quick,     ///< candidates that the model ranks first
  Full,      ///< more candidates, and fields of steps
  Exhaustive ///< every candidate of the grids of programs and tiles
};

llvm::StringRef getName(Effort effort);
std::optional<Effort> findEffort(llvm::StringRef name);

/// Progress of a search, reported while it runs.
struct Progress {
  double seconds = 0;
  size_t compiled = 0, measured = 0, failed = 0;
  /// Times of the compiler's choice and of the best so far; 0 while unknown.
  double chosenMilliseconds = 0, bestMilliseconds = 0;
  /// Current candidates: "tiles of 'slc'".
  std::string what;
};

/// Code with results that passed the check against the oracle, by its hash, and
/// the sizes of the inputs.
struct CheckedCode {
  std::string hash;
  DimSizes sizes;
  /// Error of the results, like TunedSchedule::error.
  double error = 0;
};

struct TuneOptions {
  Effort effort = Effort::Quick;
  /// No more candidates are begun after this number of seconds.
  double budgetSeconds = 30;
  uint64_t seed = 0;
  /// Ranges of inputs whose values the program doesn't tell.
  IntegerRanges ranges;
  TunePolicy policy;
  /// Number of threads that compile, and that run code of a CPU; 0: all.
  unsigned threads = 0;
  WorkerOptions worker;
  /// Store of results.
  CacheOptions store;
  /// Whether to store the compiler's choice, too, if the time was over and
  /// nothing was faster until then: otherwise the next process would search
  /// again.
  bool keepsUnfinished = false;
  /// Schedules that were the fastest elsewhere; they are tried first.
  std::vector<std::string> seeds;
  /// Code that the oracle found right: the next search needn't check it. May be
  /// null.
  std::vector<CheckedCode> *checked = nullptr;
  std::function<void(const Progress &)> report;
  /// Called if the store can't be written. May be empty.
  DiskCache::Warn warn;
  /// Called now and then, on any thread: true ends the search with the
  /// schedules that were compared and checked until then.
  /// `worker.isInterrupted` ends it without a result. May be empty.
  std::function<bool()> isStopped;
};

/// A candidate that was tried.
struct Trial {
  Candidate candidate;
  std::vector<double> milliseconds;
  /// Reason why it has no times; empty if it has, or if it wasn't tried.
  std::string failure;
  /// Whether the time was over before it was compiled.
  bool isSkipped = false;
  /// Error of the results, like TunedSchedule::error; 0 if it wasn't checked.
  double error = 0;

  bool isMeasured() const { return !milliseconds.empty() && failure.empty(); }
  double getMedian() const;
};

struct TuneResult {
  TunedSchedule best;
  /// Key of the stored entry.
  std::string key;
  /// Tried candidates; the compiler's choice is the first.
  std::vector<Trial> trials;
  /// Whether the best was stored: false if the store can't be written, or if
  /// nothing was compared.
  bool isKept = false;
  /// Reason for the end: "all candidates were tried".
  std::string ending;
  /// Whether another candidate was measured beside the compiler's choice, or
  /// there was none to measure. False if the time was over or the search was
  /// stopped before that.
  bool isCompared = false;
  /// Whether its budget ended the search.
  bool isTimeOver = false;
  /// Whether the entry that was stored before for such calls was measured
  /// beside the compiler's choice.
  bool isKeptCompared = false;
  /// Whether TuneOptions::isStopped ended the search. If the compiler's choice
  /// wasn't measured before that, `best` has no time.
  bool isStopped = false;
  /// Seconds until the compiler's choice was measured.
  double firstSeconds = 0;
  /// Index of the trial with each fitting seed's code.
  llvm::StringMap<size_t> bySeed;
  /// The floor in reports of explaining; none if code of one device was
  /// measured on another.
  std::optional<Floor> floor;
  double seconds = 0;

  /// The entry that would be stored for a measured trial.
  TunedSchedule describe(const Trial &trial) const;
};

/// Tries schedules of a kernel for calls with these sizes, on the device that
/// runs the program; fields that the program's options give stay. The program
/// itself takes no tuned schedules (TuneMode::Off). The best schedule is
/// checked against the oracle on short inputs, and stored in `tuning.store`.
llvm::Expected<TuneResult> tune(const CompiledProgram &program,
                                llvm::StringRef kernel, const DimSizes &sizes,
                                const TuneOptions &tuning);

/// Spread of half of a schedule's times, relative to the least of these, if it
/// is more than a quarter: faster schedules may have been overlooked if they
/// gain less.
std::optional<double> findNoise(const TunedSchedule &tuned);

llvm::json::Value toJSON(const Progress &progress);
llvm::json::Value toJSON(const TuneResult &result);

/// The schedule that the model prefers, without a run: the compiler's choice,
/// unless another one is clearly ahead.
llvm::Expected<std::string> chooseByModel(const CompiledProgram &program,
                                          llvm::StringRef kernel,
                                          const DimSizes &sizes,
                                          const ModelOptions &options);

/// Options of the model for a tuner.
ModelOptions getModelOptions(const TuneOptions &tuning);

/// Lets compilations of the module find schedules in the way of
/// options.tuning.mode: by the model, or by measurements of `worker` in the
/// first call.
llvm::Error addTuner(mlir::ModuleOp module, CompileOptions &options,
                     const WorkerOptions &worker);

} // namespace nsacc::tuning

#endif // NSACC_TUNING_TUNER_H
