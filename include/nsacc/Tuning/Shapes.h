//===- Shapes.h - Schedules for many sizes ----------------------*- C++ -*-===//

#ifndef NSACC_TUNING_SHAPES_H
#define NSACC_TUNING_SHAPES_H

#include "nsacc/Driver/TunedRule.h"
#include "nsacc/Tuning/Tuner.h"

namespace nsacc::tuning {

/// "B=1, T=4096"; of ragged dimensions the lengths of rows, "T=[5, 0, 127]", or
/// where there are many, "T=9000 in 300 rows".
std::string spellSizes(const DimSizes &sizes);

/// Which of some schedules a call takes: the first case whose product of sizes
/// is at least `least`.
struct Rule {
  struct Case {
    int64_t least = 0; ///< 0 in the last one
    size_t schedule = 0;
  };
  /// Dimensions whose sizes are multiplied; none where there is one case.
  std::vector<std::string> dims;
  std::vector<Case> cases;
  /// The largest time of a shape with its schedule, relative to its least one.
  double slowdown = 1;

  size_t find(const DimSizes &sizes) const;
  /// Whether all calls take one case whose lengths round to the same powers of
  /// two.
  bool isSettled(const DimSizes &sizes) const;
  /// "T * B >= 4096: 'keys=64'; else: ''"
  std::string describe(llvm::ArrayRef<std::string> schedules) const;
  /// With the schedules' text, as it is kept.
  TunedRule spell(llvm::ArrayRef<std::string> schedules) const;
};

/// What each schedule takes with one shape's sizes; infinite where it failed.
struct ShapeTimes {
  DimSizes sizes;
  std::vector<double> milliseconds;
  /// Of each schedule, what would be kept of it; empty where nothing would.
  std::vector<TunedSchedule> measured = {};

  size_t findFastest() const;
  double getSlowdown(size_t schedule) const {
    return milliseconds[schedule] / milliseconds[findFastest()];
  }
};

/// The rule with the fewest schedules, at most so many, with which no shape is
/// slower than `mostSlowdown` allows; or the one that is the nearest to that.
/// `dims` are those whose sizes may be compared. Shapes of equal sizes of these
/// have one case.
Rule chooseRule(llvm::ArrayRef<std::string> dims,
                llvm::ArrayRef<ShapeTimes> shapes, size_t mostSchedules,
                double mostSlowdown);

struct ShapesOptions {
  /// Its budget is of all shapes together.
  TuneOptions tuning;
  size_t mostSchedules = 3;
  double mostSlowdown = 1.05;
  /// Shapes that the rule is judged by, and that it wasn't made of.
  std::vector<DimSizes> heldOut;
};

struct ShapesResult {
  /// The compiler's choice is "".
  std::vector<std::string> schedules;
  std::vector<ShapeTimes> shapes, heldOut;
  Rule rule;
  /// The largest slowdown of a shape that was held out; 1 without any.
  double heldOutSlowdown = 1;
  double seconds = 0;
  /// Shapes, by their numbers from 1, that the time was too short for to
  /// compare anything with the compiler's choice.
  std::vector<size_t> notCompared;
  /// Whether the rule was stored: one that passed, and of shapes that were all
  /// compared.
  bool isKept = false;
  /// Whether TuneOptions::isStopped ended it, without a rule.
  bool isStopped = false;
  /// How many shapes were tuned before, and are stored, each with an entry.
  size_t tunedShapes = 0, keptShapes = 0;

  bool hasPassed(const ShapesOptions &options) const {
    return !isStopped && notCompared.empty() &&
           rule.slowdown <= options.mostSlowdown &&
           heldOutSlowdown <= options.mostSlowdown;
  }
};

/// With the schedules' times of each shape; null for those that failed.
llvm::json::Value toJSON(const ShapesResult &result,
                         const ShapesOptions &options);

/// Tunes each shape, measures all schedules that were the fastest of one with
/// all shapes, and chooses some of them by a rule, which is stored, with an
/// entry for each shape that it says one thing for. Shapes differ in sizes that
/// code doesn't depend on.
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
