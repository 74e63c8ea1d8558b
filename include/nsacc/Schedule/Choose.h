//===- Choose.h - How kernels are tiled -------------------------*- C++ -*-===//
//
// The compiler's choice of a schedule for each op and kind of target. Passes
// and lowerings read what is chosen here.
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

/// Entries of the lists of a tile's tokens, which more rows than fill one
/// product don't exceed: what tokens don't share, all rows walk.
inline constexpr int64_t kMostListed = 4096;

/// Blocks of a row's list, at most, where programs walk it as it stands, so
/// that it is sorted. Unions take any.
inline constexpr int64_t kMostWalked = 2048;

/// Blocks of a row's list, at most, for which a GPU's threads have registers
/// where they sort it.
inline constexpr int64_t kMostSorted = 256;

/// What a choice stands on beside the kernel and its `nsa.sizes`.
struct Goal {
  /// None: the CPU.
  std::optional<gpu::Device> device = {};
  /// What QueryCount says of the kernel's calls.
  Queries queries = Queries::Any;
};

/// A field's value, and why, in words without a full stop.
struct ChosenValue {
  int64_t value;
  std::string reason;
};

/// The schedule of an op.
struct OpChoice : ScheduledOp {
  PerField<ChosenValue> fields;
  /// Whether tiles of this kind were the fastest that were measured, so that
  /// nothing which can be counted makes them smaller.
  bool isMeasured = false;

  int64_t get(Field field) const {
    return fields[static_cast<size_t>(field)]->value;
  }
  void set(Field field, int64_t value, const llvm::Twine &reason) {
    fields[static_cast<size_t>(field)] = ChosenValue{value, reason.str()};
  }
  nsatile::ScheduleAttr getAttr() const;
};

/// The schedules of a kernel's ops, in its order, and its programs.
struct KernelChoice {
  std::vector<OpChoice> ops;
  ProgramCut cut;
};

/// The compiler's choice for the goal, with what is given in its place. Fails
/// where what is given doesn't hold for the kernel's ops.
llvm::Expected<KernelChoice> choose(nsa::KernelOp kernel, const Goal &goal,
                                    const Settings &settings);

/// Sets `nsatile.schedule` of each op.
void setSchedules(const KernelChoice &choice);

/// Whether every name and field of the settings is one of the module's kernels,
/// and holds for sizes that aren't known yet.
llvm::Error check(mlir::ModuleOp module, const Goal &goal,
                  const Settings &settings);

/// Warns of settings that hold and change nothing, at the first op that they
/// are of: an order for selections in a program without any.
void warnOfUnread(mlir::ModuleOp module, const Goal &goal,
                  const Settings &settings);

/// Settings with the next smaller tiles for ops of these names, which have no
/// room; none where there are no smaller ones.
std::optional<Settings> makeSmaller(nsa::KernelOp kernel, const Goal &goal,
                                    Settings settings,
                                    llvm::ArrayRef<std::string> names);

/// Bytes of each thread's that a program keeps in memory for want of registers.
struct Spill {
  /// The ops that it computes.
  std::vector<std::string> ops;
  /// Whether it computes again what isn't finite.
  bool isExact = false;
  int64_t bytes = 0;
};

/// Settings with the next tiles that need fewer registers for the ops of these
/// programs; none where all of their tiles were given or measured, or are the
/// smallest.
std::optional<Settings> relieve(nsa::KernelOp kernel, const Goal &goal,
                                Settings settings,
                                llvm::ArrayRef<Spill> spills);

/// Whether `relieve` has anything to change for some spills.
bool mayRelieve(nsa::KernelOp kernel, const Goal &goal,
                const Settings &settings);

/// Prints for each kernel what its choice stands on, the programs, and each op
/// by its name: its fields, and why. Fails where the settings don't hold.
llvm::Error printSchedules(mlir::ModuleOp module, const Goal &goal,
                           const Settings &settings, llvm::raw_ostream &os);

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_CHOOSE_H
