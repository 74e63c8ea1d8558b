//===- TunedRule.h - Tuned schedules chosen by sizes ------------*- C++ -*-===//

#ifndef NSACC_DRIVER_TUNEDRULE_H
#define NSACC_DRIVER_TUNEDRULE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace nsacc {

/// Schedules that measuring found for many sizes of one program: a call takes
/// the first case whose `least` is at most the product of the call's sizes.
struct TunedRule {
  struct Case {
    int64_t least = 0; ///< 0 in the last case
    /// Empty: the compiler's choice.
    std::string schedule = {};
  };
  /// The largest threshold. No size is larger: guards multiply the threshold by
  /// another number.
  static constexpr int64_t kMostLeast = int64_t{1} << 40;
  static constexpr size_t kMostCases = 16, kMostDims = 8;

  /// Dimensions whose sizes are multiplied; none if there is one case.
  std::vector<std::string> dims;
  std::vector<Case> cases;
  /// The sizes that the rule was made from, each as "B=1, T=4096", and the
  /// sizes that it was judged by.
  std::vector<std::string> shapes, heldOut;
  /// The largest time of a shape with its schedule, relative to the shape's
  /// fastest one.
  double slowdown = 1, heldOutSlowdown = 1;
  /// Tuning policy and date, as in TunedSchedule.
  std::string policy, date;

  /// Null if the case depends on a size that isn't known.
  const Case *find(const llvm::StringMap<int64_t> &sizes) const;
  /// "B * T >= 4096: 'keys=64'; else: ''"
  std::string describe() const;
};

/// Multiplies the sizes of some dimensions; at most TunedRule::kMostLeast.
/// Dimensions without a size count as empty.
int64_t multiplySizes(llvm::ArrayRef<std::string> dims,
                      const llvm::StringMap<int64_t> &sizes);

llvm::json::Value toJSON(const TunedRule &rule);
bool fromJSON(const llvm::json::Value &value, TunedRule &rule,
              llvm::json::Path path);

/// The key under which rules are stored: a tuned schedule's key without the
/// lines that depend on lengths.
std::string getRuleKey(llvm::StringRef tuningKey);
/// Whether a key belongs to a rule.
bool isRuleKey(llvm::StringRef key);

} // namespace nsacc

#endif // NSACC_DRIVER_TUNEDRULE_H
