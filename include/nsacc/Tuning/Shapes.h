//===- Shapes.h - Schedules for many sizes ----------------------*- C++ -*-===//

#ifndef NSACC_TUNING_SHAPES_H
#define NSACC_TUNING_SHAPES_H

#include "nsacc/Driver/TunedRule.h"
#include "nsacc/Tuning/Tuner.h"

namespace nsacc::tuning {

/// Spells sizes: "B=1, T=4096". For ragged dimensions, it spells the lengths of
/// rows, "T=[5, 0, 127]", or for many rows "T=9000 in 300 rows".
std::string spellSizes(const DimSizes &sizes);

/// Rule that chooses a call's schedule: the first case with `least` not above
/// the call's product of sizes.
struct Rule {
  struct Case {
    int64_t least = 0; ///< 0 in the last one
    size_t schedule = 0;
  };
  /// Dimensions whose sizes are multiplied; none if there is one case.
  std::vector<std::string> dims;
  std::vector<Case> cases;
  /// The largest time of a shape with its schedule, relative to its least time.
  double slowdown = 1;

  size_t find(const DimSizes &sizes) const;
  /// Whether all calls with lengths that round to the same powers of two take
  /// one case.
  bool isSettled(const DimSizes &sizes) const;
  /// "T * B >= 4096: 'keys=64'; else: ''"
  std::string describe(llvm::ArrayRef<std::string> schedules) const;
  /// Adds the schedules' text, the form in which rules are stored.
  TunedRule spell(llvm::ArrayRef<std::string> schedules) const;
};

/// Times of the schedules with one shape's sizes; infinite for failed ones.
struct ShapeTimes {
  DimSizes sizes;
  std::vector<double> milliseconds;
  /// For each schedule, the entry that would be stored for it; empty if none
  /// would.
  std::vector<TunedSchedule> measured = {};

  size_t findFastest() const;
  double getSlowdown(size_t schedule) const {
    return milliseconds[schedule] / milliseconds[findFastest()];
  }
};

/// Chooses a rule. It has the fewest schedules, at most `mostSchedules`, with
/// which no shape is slower than `mostSlowdown` allows; if there is no such
/// rule, it is the nearest to that. `dims` are the dimensions whose sizes may
/// be compared. Shapes with equal sizes of these have one case.
Rule chooseRule(llvm::ArrayRef<std::string> dims,
                llvm::ArrayRef<ShapeTimes> shapes, size_t mostSchedules,
                double mostSlowdown);

struct ShapesOptions {
  /// The budget is for all shapes together.
  TuneOptions tuning;
  size_t mostSchedules = 3;
  double mostSlowdown = 1.05;
  /// Shapes that judge the rule, but aren't used to make it.
  std::vector<DimSizes> heldOut;
};

struct ShapesResult {
  /// All schedules; the compiler's choice is "".
  std::vector<std::string> schedules;
  std::vector<ShapeTimes> shapes, heldOut;
  Rule rule;
  /// The largest slowdown of a held-out shape; 1 without any.
  double heldOutSlowdown = 1;
  double seconds = 0;
  /// Numbers, from 1, of shapes with too little time to compare any schedule
  /// with the compiler's choice.
  std::vector<size_t> notCompared;
  /// Whether the rule was stored: it has to pass, and all shapes have to be
  /// compared.
  bool isKept = false;
  /// Whether TuneOptions::isStopped ended the search, without a rule.
  bool isStopped = false;
  /// Number of shapes that were tuned before a stop, and number of shapes with
  /// a stored entry.
  size_t tunedShapes = 0, keptShapes = 0;

  bool hasPassed(const ShapesOptions &options) const {
    return !isStopped && notCompared.empty() &&
           rule.slowdown <= options.mostSlowdown &&
           heldOutSlowdown <= options.mostSlowdown;
  }
};

/// The result as JSON, with the schedules' times of each shape; null for failed
/// ones.
llvm::json::Value toJSON(const ShapesResult &result,
                         const ShapesOptions &options);

/// Tunes each shape, measures each schedule that was the fastest for a shape
/// with all shapes, and chooses some of them by a rule. The rule is stored,
/// with an entry for each settled shape (Rule::isSettled). Shapes differ in
/// sizes that code doesn't depend on.
llvm::Expected<ShapesResult> tuneShapes(const CompiledProgram &program,
                                        llvm::StringRef kernel,
                                        llvm::ArrayRef<DimSizes> shapes,
                                        const ShapesOptions &options);

/// A package whose guards are the rule's cases.
llvm::Expected<std::string> packageRule(const CompiledProgram &program,
                                        llvm::StringRef kernel,
                                        const ShapesResult &result);

} // namespace nsacc::tuning

#endif // NSACC_TUNING_SHAPES_H
