//===- TunedRule.h - Which tuned schedule for which sizes -------*- C++ -*-===//

#ifndef NSACC_DRIVER_TUNEDRULE_H
#define NSACC_DRIVER_TUNEDRULE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace nsacc {

/// What measuring found for many sizes of one program: a call takes the first
/// case whose product of sizes is at least `least`.
struct TunedRule {
  struct Case {
    int64_t least = 0; ///< 0 in the last one
    /// Empty: the compiler's choice.
    std::string schedule = {};
  };
  /// No threshold is larger, as no size is: guards multiply it by another one.
  static constexpr int64_t kMostLeast = int64_t{1} << 40;
  static constexpr size_t kMostCases = 16, kMostDims = 8;

  /// Dimensions whose sizes are multiplied; none where there is one case.
  std::vector<std::string> dims;
  std::vector<Case> cases;
  /// The sizes that it was made of, each as "B=1, T=4096", and those that it
  /// was judged by.
  std::vector<std::string> shapes, heldOut;
  /// The largest time of a shape with its schedule, relative to the shape's
  /// fastest one.
  double slowdown = 1, heldOutSlowdown = 1;
  /// How and when, as TunedSchedule has it.
  std::string policy, date;

  /// Null where a size isn't known on which it depends.
  const Case *find(const llvm::StringMap<int64_t> &sizes) const;
  /// "B * T >= 4096: 'keys=64'; else: ''"
  std::string describe() const;
};

/// Of some dimensions; at most TunedRule::kMostLeast. Those without a size
/// count as empty.
int64_t multiplySizes(llvm::ArrayRef<std::string> dims,
                      const llvm::StringMap<int64_t> &sizes);

llvm::json::Value toJSON(const TunedRule &rule);
bool fromJSON(const llvm::json::Value &value, TunedRule &rule,
              llvm::json::Path path);

/// What rules are stored by: what a tuned schedule is, without what depends on
/// lengths.
std::string getRuleKey(llvm::StringRef tuningKey);
/// Whether a key is one of a rule.
bool isRuleKey(llvm::StringRef key);

} // namespace nsacc

#endif // NSACC_DRIVER_TUNEDRULE_H
