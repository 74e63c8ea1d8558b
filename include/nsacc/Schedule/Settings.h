//===- Settings.h - What a user sets of a schedule --------------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_SETTINGS_H
#define NSACC_SCHEDULE_SETTINGS_H

#include "NSATile/IR/NSATileOps.h"
#include "llvm/Support/Error.h"

namespace nsacc::schedule {

/// Fields of `#nsatile.schedule` that are given; the others are the compiler's
/// choice.
struct Settings {
  std::optional<nsatile::LoopOrder> order;
  std::optional<int64_t> tokens, keys, splits, warps, stages;

  bool isAny() const {
    return order || tokens || keys || splits || warps || stages;
  }
};

/// Reads "order=union, tokens=16". Says which setting is no field, has no
/// value of its kind, or is given twice; ranges are the attribute's.
llvm::Expected<Settings> parseSettings(llvm::StringRef text);

/// "can't use the schedule 'TEXT': PROBLEM"
std::string explainProblem(llvm::StringRef text, llvm::StringRef problem);

/// What settings look like, for notes.
std::string explainSettings();

/// Says what is wrong with a schedule for any kernel, such as a name that none
/// has. "" is right.
llvm::Error checkSchedule(llvm::StringRef text);

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_SETTINGS_H
