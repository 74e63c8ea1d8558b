//===- Results.cpp - Results of tuning ------------------------------------===//

#include "nsacc/Tuning/Tuner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <optional>

using namespace nsacc;
using namespace nsacc::tuning;

static constexpr llvm::StringLiteral kEfforts[] = {"seeds", "model", "quick",
                                                   "full", "exhaustive"};

llvm::StringRef tuning::getName(Effort effort) {
  return kEfforts[static_cast<size_t>(effort)];
}

std::optional<Effort> tuning::findEffort(llvm::StringRef name) {
  const llvm::StringLiteral *found = llvm::find(kEfforts, name);
  if (found == std::end(kEfforts))
    return std::nullopt;
  return static_cast<Effort>(found - std::begin(kEfforts));
}

std::optional<double> tuning::findNoise(const TunedSchedule &tuned) {
  constexpr double most = 0.25;
  double noise = tuned.low > 0 ? tuned.high / tuned.low - 1 : 0;
  return noise > most ? std::optional(noise) : std::nullopt;
}

llvm::json::Value tuning::toJSON(const Progress &progress) {
  return llvm::json::Object{
      {"seconds", progress.seconds},
      {"compiled", static_cast<int64_t>(progress.compiled)},
      {"measured", static_cast<int64_t>(progress.measured)},
      {"failed", static_cast<int64_t>(progress.failed)},
      {"chosen_ms", progress.chosenMilliseconds},
      {"best_ms", progress.bestMilliseconds},
      {"what", progress.what}};
}

llvm::json::Value tuning::toJSON(const TuneResult &result) {
  llvm::json::Array trials;
  for (const Trial &trial : result.trials) {
    llvm::json::Object each(
        {{"schedule", trial.candidate.schedule.toString()},
         {"predicted_ms", trial.candidate.predicted * 1e3}});
    if (trial.isMeasured())
      each["ms"] = trial.getMedian();
    if (!trial.failure.empty())
      each["failure"] = llvm::json::fixUTF8(trial.failure);
    if (trial.isSkipped)
      each["skipped"] = true;
    trials.push_back(std::move(each));
  }
  return llvm::json::Object{
      {"best", toJSON(result.best)},
      {"floor_ms", result.floor ? result.floor->seconds * 1e3 : 0},
      {"seconds", result.seconds},
      {"kept", result.isKept},
      {"ending", result.ending},
      {"trials", std::move(trials)}};
}

ModelOptions tuning::getModelOptions(const TuneOptions &tuning) {
  ModelOptions model;
  model.agreement = tuning.policy.agreement;
  model.threads = tuning.threads;
  return model;
}
