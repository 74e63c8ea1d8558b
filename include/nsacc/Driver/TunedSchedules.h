//===- TunedSchedules.h - Schedules that were measured to be fast -*- C++ -*-=//

#ifndef NSACC_DRIVER_TUNEDSCHEDULES_H
#define NSACC_DRIVER_TUNEDSCHEDULES_H

#include "nsacc/Driver/TunedRule.h"
#include "nsacc/Support/DiskCache.h"
#include "nsacc/Tensor/Signature.h"
#include "llvm/Support/JSON.h"

namespace nsacc {

/// The work that is done for a program and sizes that have no tuned schedule
/// yet.
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

/// The way programs are run in production; schedules are measured in the same
/// way.
struct TunePolicy {
  /// Launches are replayed from a CUDA graph.
  bool isGraph = false;
  /// The L2 cache holds nothing of the tensors.
  bool isCold = false;
  /// For selections: the share of a query's blocks that neighbouring tokens
  /// have in common, from 0 to below 1. Schedules are kept by tenths of it.
  double agreement = 0;
};

/// "eager, warm cache", with ", agreement 0.9" appended if there is some.
std::string toString(const TunePolicy &policy);

/// The value of NSACC_TUNE that uses schedules of a policy: "replay,graph".
std::string spellReplay(const TunePolicy &policy);

/// Reads "replay", "full,graph,cold,agreement=0.9"; none if the text isn't of
/// that form.
std::optional<std::pair<TuneMode, TunePolicy>>
readTuneMode(llvm::StringRef text);

/// The result of measuring one program with its sizes on a device.
struct TunedSchedule {
  /// Fields besides the given ones; empty if the compiler's choice is the
  /// fastest.
  std::string schedule;
  /// All fields of all ops, after the compiler chose the open ones.
  std::string whole;
  /// The sizes that were measured, "B=1, T=32768".
  std::string sizes;
  /// Effort and policy: "quick, eager, warm cache, agreement 0".
  std::string policy;
  /// Time of the measurement, in UTC: "2026-11-27T15:00:00".
  std::string date;
  /// Milliseconds of a run, the median and the quartiles; and the compiler's
  /// choice measured beside it.
  double milliseconds = 0, low = 0, high = 0, chosenMilliseconds = 0;
  /// The largest error against the oracle's results, relative to the bound of
  /// docs/Numerics.md.
  double error = 0;
  /// Number of candidates that were measured, and number that failed.
  int64_t measured = 0, failed = 0;
  /// Clock of the multiprocessors during the measurement, in MHz; 0: unknown.
  int64_t clock = 0;
};

llvm::json::Value toJSON(const TunedSchedule &tuned);
bool fromJSON(const llvm::json::Value &value, TunedSchedule &tuned,
              llvm::json::Path path);

/// Describes the candidates that the compiler's choice was faster than: "which
/// none of 35 other candidates was faster than by 1 %".
std::string describeOthers(const TunedSchedule &tuned);

/// Says why calls of a kernel can't use a tuned schedule that was found.
std::string describeUnused(llvm::StringRef schedule, llvm::StringRef kernel,
                           llvm::Error why);

/// Says why calls can't use a rule that was found by a key; empty if they can:
/// the rule compares lengths of the kernel's inputs.
std::string describeUnused(const TunedRule &rule, const Signature &signature,
                           llvm::StringRef key);

/// Tuned schedules in files, one for each key. A file that can't be read is a
/// miss, with a warning.
class TunedSchedules {
public:
  TunedSchedules() = default;
  TunedSchedules(CacheOptions options, DiskCache::Warn warn);

  std::optional<TunedSchedule> find(llvm::StringRef key) const;
  /// Stores the schedule, and also keeps it as a seed for other builds and
  /// machines. Whether it could be stored.
  bool store(llvm::StringRef key, const TunedSchedule &tuned) const;
  /// Schedules that were the fastest for the same kernel, target, heads and
  /// channels, with any lengths and any build: the ones that ship with nsacc,
  /// and the ones that were found or imported here.
  std::vector<std::string> findSeeds(llvm::StringRef key) const;
  /// Keeps a schedule only as a seed.
  bool storeSeed(llvm::StringRef key, llvm::StringRef schedule) const;

  /// The rule for many sizes, by its getRuleKey.
  std::optional<TunedRule> findRule(llvm::StringRef ruleKey) const;
  /// Stores the rule, and keeps its schedules as seeds. Whether it could be
  /// stored.
  bool storeRule(llvm::StringRef ruleKey, const TunedRule &rule) const;
  /// Keeps the rule's schedules only as seeds.
  bool storeSeeds(llvm::StringRef ruleKey, const TunedRule &rule) const;
  /// All entries of the folder, as `import` takes them. Entries that can't be
  /// read are left out, with a warning.
  llvm::Expected<llvm::json::Value> exportAll() const;
  const std::string &getFolder() const { return cache.getFolder(); }

private:
  DiskCache cache;
  DiskCache::Warn warn;
};

/// One line of a key, "compiler"; empty if the key has no line of that name.
llvm::StringRef getLine(llvm::StringRef key, llvm::StringRef name);

/// The sizes of a call that code doesn't depend on, each rounded up to a power
/// of two on a logarithmic scale: calls with equal text share one tuned
/// schedule. "B=1,S=32768,T=1"
std::string spellLengths(const Signature &signature, const DimSizes &sizes,
                         llvm::ArrayRef<std::string> specialized);

} // namespace nsacc

#endif // NSACC_DRIVER_TUNEDSCHEDULES_H
