//===- Choose.h - Choice of a kernel's schedules ----------------*- C++ -*-===//
//
// The compiler's choice of a schedule for each op and kind of target. Passes
// and lowerings read the chosen schedules.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_SCHEDULE_CHOOSE_H
#define NSACC_SCHEDULE_CHOOSE_H

#include "NSATile/IR/NSATileOps.h"
#include "nsacc/GPU/Device.h"
#include "nsacc/Schedule/Programs.h"
#include "nsacc/Schedule/QueryCount.h"
#include "nsacc/Schedule/Settings.h"

namespace nsacc::schedule {

/// Most entries that the lists of a tile's tokens may have together, if the
/// tile has more rows than one product. All rows walk even the blocks that
/// tokens don't share.
inline constexpr int64_t kMostListed = 4096;

/// Most blocks of a row's list where programs walk the list itself, which is
/// sorted for that. Unions take lists of any length.
inline constexpr int64_t kMostWalked = 2048;

/// Most blocks of a row's list that a GPU's threads can sort in registers.
inline constexpr int64_t kMostSorted = 256;

/// Inputs of a choice besides the kernel and its `nsa.sizes`.
struct Goal {
  /// None for the CPU.
  std::optional<gpu::Device> device = {};
  /// Number of queries, as QueryCount classifies the kernel's calls.
  Queries queries = Queries::Any;
};

/// A field's value, and its reason in words without a full stop.
struct ChosenValue {
  int64_t value;
  std::string reason;
};

/// The schedule of an op.
struct OpChoice : ScheduledOp {
  PerField<ChosenValue> fields;
  /// Whether tiles of this kind were measured to be the fastest. Register
  /// spills then don't make them smaller.
  bool isMeasured = false;
  /// Whether tiles have all heads that share a key head: lists of a selection
  /// and states of key_major, of this or another op of the program, are of all.
  bool takesAllHeads = false;

  /// Whether the field has a value.
  bool has(Field field) const {
    return fields[static_cast<size_t>(field)].has_value();
  }
  int64_t get(Field field) const {
    return fields[static_cast<size_t>(field)]->value;
  }
  void set(Field field, int64_t value, const llvm::Twine &reason) {
    fields[static_cast<size_t>(field)] = ChosenValue{value, reason.str()};
  }
  /// Lowers a value to the greatest divisor of `whole` that isn't above it. The
  /// reason of a given value tells so.
  void lowerToDivisor(Field field, int64_t whole);
  nsatile::ScheduleAttr getAttr() const;
};

/// The schedules of a kernel's ops, in the kernel's order, and its programs.
struct KernelChoice {
  std::vector<OpChoice> ops;
  ProgramCut cut;
};

/// Chooses schedules for the goal. Given settings replace the compiler's
/// choices. Fails where a given setting doesn't hold for the kernel's ops.
llvm::Expected<KernelChoice> choose(nsa::KernelOp kernel, const Goal &goal,
                                    const Settings &settings);

/// Sets `nsatile.schedule` of each op.
void setSchedules(const KernelChoice &choice);

/// Checks that every name and field of the settings belongs to one of the
/// module's kernels, and that the settings hold as far as sizes are known.
llvm::Error check(mlir::ModuleOp module, const Goal &goal,
                  const Settings &settings);

/// A setting that is valid but changes nothing, at the first op that it applies
/// to. An example is an order for selections in a program without any.
struct Unread {
  /// "'keys=32', column 1"
  std::string setting;
  std::string reason;
  mlir::Location place;

  std::string getMessage() const;
};

/// Settings that change nothing in any of the kernels, for this goal.
std::vector<Unread> findUnread(llvm::ArrayRef<nsa::KernelOp> kernels,
                               const Goal &goal, const Settings &settings);

/// Warns of settings that change nothing.
void warnOfUnread(mlir::ModuleOp module, const Goal &goal,
                  const Settings &settings);

/// Settings with the next smaller tiles for the ops of these names, which have
/// no room. None where no smaller tiles exist.
std::optional<Settings> makeSmaller(nsa::KernelOp kernel, const Goal &goal,
                                    Settings settings,
                                    llvm::ArrayRef<std::string> names);

/// Register spill of a program, in bytes of each of its threads.
struct Spill {
  /// Ops that the program computes.
  std::vector<std::string> ops;
  /// Whether the program recomputes results that aren't finite.
  bool isExact = false;
  int64_t bytes = 0;
};

/// Settings with the next tiles that need fewer registers, for the ops of these
/// programs. None where all of their tiles were given or measured, or are the
/// smallest.
std::optional<Settings> relieve(nsa::KernelOp kernel, const Goal &goal,
                                Settings settings,
                                llvm::ArrayRef<Spill> spills);

/// Whether `relieve` has anything to change for some spills.
bool mayRelieve(nsa::KernelOp kernel, const Goal &goal,
                const Settings &settings);

/// Prints for each kernel the inputs of its choice, its programs, and each op
/// by name with its fields and their reasons. Fails where the settings don't
/// hold.
llvm::Error printSchedules(mlir::ModuleOp module, const Goal &goal,
                           const Settings &settings, llvm::raw_ostream &os);

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_CHOOSE_H
