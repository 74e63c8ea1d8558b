//===- TunedSchedules.h - Schedules that were measured to be fast -*- C++ -*-=//

#ifndef NSACC_DRIVER_TUNEDSCHEDULES_H
#define NSACC_DRIVER_TUNEDSCHEDULES_H

#include "nsacc/Driver/TunedRule.h"
#include "nsacc/Support/DiskCache.h"
#include "nsacc/Tensor/Signature.h"
#include "llvm/Support/JSON.h"

namespace nsacc {

/// What is done for a program and sizes that have no tuned schedule yet.
enum class TuneMode {
  Off,    ///< tuned schedules aren't looked for, either
  Replay, ///< the compiler's choice
  Model,  ///< the candidate that a model says is the fastest
  Quick,  ///< candidates are measured for half a minute
  Full    ///< all promising candidates are measured
};

/// "off", "replay"
llvm::StringRef getName(TuneMode mode);
std::optional<TuneMode> findTuneMode(llvm::StringRef name);

/// How programs are run where they are deployed, which is how they are
/// measured.
struct TunePolicy {
  /// Launches are replayed from a CUDA graph.
  bool isGraph = false;
  /// The cache of the second level has nothing of the tensors.
  bool isCold = false;
  /// Of selections: how much of a query is common to neighbouring tokens, from
  /// 0 to below 1. Schedules are kept by tenths of it.
  double agreement = 0;
};

/// "eager, warm cache", with ", agreement 0.9" behind it where there is some.
std::string toString(const TunePolicy &policy);

/// What NSACC_TUNE is where schedules of a policy are taken: "replay,graph".
std::string spellReplay(const TunePolicy &policy);

/// Reads "replay", "full,graph,cold,agreement=0.9"; none where it isn't of that
/// form.
std::optional<std::pair<TuneMode, TunePolicy>>
readTuneMode(llvm::StringRef text);

/// What measuring found for one program, its sizes and a device.
struct TunedSchedule {
  /// Fields beside those that were given; empty where the compiler's choice is
  /// the fastest.
  std::string schedule;
  /// All fields of all ops, as they came to be.
  std::string whole;
  /// The sizes that were measured, "B=1, T=32768".
  std::string sizes;
  /// How: "quick, eager, warm cache, agreement 0".
  std::string policy;
  /// When, in UTC: "2026-11-27T15:00:00".
  std::string date;
  /// Milliseconds of a run, the median and the quartiles; and those of the
  /// compiler's choice beside it.
  double milliseconds = 0, low = 0, high = 0, chosenMilliseconds = 0;
  /// The largest error beside the oracle's results, relative to what
  /// docs/Numerics.md allows.
  double error = 0;
  /// Candidates that were measured, and those that failed.
  int64_t measured = 0, failed = 0;
  /// Clock of the multiprocessors while it was measured, in MHz; 0: unknown.
  int64_t clock = 0;
};

llvm::json::Value toJSON(const TunedSchedule &tuned);
bool fromJSON(const llvm::json::Value &value, TunedSchedule &tuned,
              llvm::json::Path path);

/// Says beside what the compiler's choice was the fastest: "which none of 35
/// other candidates was faster than by 1 %".
std::string describeOthers(const TunedSchedule &tuned);

/// Why calls of a kernel don't have a tuned schedule that was found.
std::string describeUnused(llvm::StringRef schedule, llvm::StringRef kernel,
                           llvm::Error why);

/// The same of a rule that was found by a key; empty where they can have it: it
/// compares lengths of the kernel's inputs.
std::string describeUnused(const TunedRule &rule, const Signature &signature,
                           llvm::StringRef key);

/// Tuned schedules in files, one for each key. What can't be read is a miss,
/// with a warning.
class TunedSchedules {
public:
  TunedSchedules() = default;
  TunedSchedules(CacheOptions options, DiskCache::Warn warn);

  std::optional<TunedSchedule> find(llvm::StringRef key) const;
  /// Keeps it also as a seed of other builds and machines. Whether it could.
  bool store(llvm::StringRef key, const TunedSchedule &tuned) const;
  /// Schedules that were the fastest of the same kernel, target, heads and
  /// channels for any lengths, by any build: this nsacc's own, and those that
  /// were found or imported here.
  std::vector<std::string> findSeeds(llvm::StringRef key) const;
  /// Keeps a schedule as a seed alone.
  bool storeSeed(llvm::StringRef key, llvm::StringRef schedule) const;

  /// What was found for many sizes, by getRuleKey.
  std::optional<TunedRule> findRule(llvm::StringRef ruleKey) const;
  /// Keeps its schedules also as seeds. Whether it could.
  bool storeRule(llvm::StringRef ruleKey, const TunedRule &rule) const;
  /// Keeps its schedules as seeds alone.
  bool storeSeeds(llvm::StringRef ruleKey, const TunedRule &rule) const;
  /// All that is in the folder, as `import` takes it. Entries that can't be
  /// read are left out, with a warning.
  llvm::Expected<llvm::json::Value> exportAll() const;
  const std::string &getFolder() const { return cache.getFolder(); }

private:
  DiskCache cache;
  DiskCache::Warn warn;
};

/// One line of a key, "compiler"; empty where it has none of that name.
llvm::StringRef getLine(llvm::StringRef key, llvm::StringRef name);

/// The sizes of a call that code doesn't depend on, each as the next power of
/// two on a logarithmic scale: what calls of one tuned schedule have in common.
/// "B=1,S=32768,T=1"
std::string spellLengths(const Signature &signature, const DimSizes &sizes,
                         llvm::ArrayRef<std::string> specialized);

} // namespace nsacc

#endif // NSACC_DRIVER_TUNEDSCHEDULES_H
