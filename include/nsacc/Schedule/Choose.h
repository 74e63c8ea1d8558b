//===- Choose.h - How kernels are tiled -------------------------*- C++ -*-===//
//
// The compiler's choice of a schedule for each kind of target. Passes and
// lowerings read what is chosen here.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_SCHEDULE_CHOOSE_H
#define NSACC_SCHEDULE_CHOOSE_H

#include "NSA/IR/NSAOps.h"
#include "nsacc/GPU/Device.h"
#include "nsacc/Schedule/Settings.h"

namespace nsacc::schedule {

/// Indices of a union's list, at most: a block of threads sorts them at once.
inline constexpr int64_t kMostListed = 4096;

/// So many rows fill a warpgroup's product and a CPU's registers alike.
inline constexpr int64_t kPartRows = 64;

/// What a choice stands on beside the kernel and its `nsa.sizes`.
struct Goal {
  /// None: the CPU.
  std::optional<gpu::Device> device;
  /// The kernel is for many queries, as QueryCount has it.
  bool hasManyQueries = false;
};

/// A schedule's fields, and why they were chosen.
struct Choice {
  nsatile::LoopOrder order = nsatile::LoopOrder::QueryMajor;
  int64_t tokens = 1, keys = 64, splits = 1, warps = 0, stages = 2;
  /// In words, without a full stop.
  std::string reason;
};

/// Query heads of a key head, in the first attention or importance that has
/// sizes; 1 without any.
int64_t getGroup(nsa::KernelOp kernel);

/// For the CPU, where `group` query heads share a key head.
Choice chooseForCPU(nsa::KernelOp kernel, int64_t group);

/// For GPUs whose products are of warps (code for sm_80), and of warpgroups
/// (code for sm_90a): tiles for the order that is set, else for the chosen one.
Choice chooseForWarps(nsa::KernelOp kernel, const Settings &settings);
Choice chooseForWarpgroups(nsa::KernelOp kernel, const Settings &settings,
                           bool hasManyQueries);

/// A choice with what is set in its place. Warps belong to the rows that they
/// were chosen for: they stay open where tokens are set.
Choice replace(Choice choice, const Settings &settings);

/// The compiler's choice for the goal, with what is set in its place.
Choice choose(nsa::KernelOp kernel, const Goal &goal, const Settings &settings);

/// The attribute of a choice; null where the fields can't hold together, with
/// `problem`.
nsatile::ScheduleAttr makeAttr(const Choice &choice, mlir::MLIRContext *context,
                               std::string &problem);

/// Prints for each kernel what its choice stands on, and a line for each
/// attention and importance, by the name that the program gives its value: its
/// schedule, and why. Fails where the fields of `text` can't hold.
llvm::Error printSchedules(mlir::ModuleOp module, const Goal &goal,
                           llvm::StringRef text, llvm::raw_ostream &os);

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_CHOOSE_H
