//===- Choose.cpp - How kernels are tiled ---------------------------------===//

#include "nsacc/Schedule/Choose.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

Choice schedule::replace(Choice choice, const Settings &settings) {
  // Warps belong to the rows that they were chosen for.
  if (settings.tokens)
    choice.warps = 0;
  choice.order = settings.order.value_or(choice.order);
  choice.tokens = settings.tokens.value_or(choice.tokens);
  choice.keys = settings.keys.value_or(choice.keys);
  choice.splits = settings.splits.value_or(choice.splits);
  choice.warps = settings.warps.value_or(choice.warps);
  choice.stages = settings.stages.value_or(choice.stages);
  if (settings.isAny())
    choice.reason += "; with the fields that were given";
  return choice;
}

Choice schedule::choose(KernelOp kernel, const Goal &goal,
                        const Settings &settings) {
  Choice chosen;
  if (!goal.device) {
    chosen = chooseForCPU(kernel, getGroup(kernel));
    // What the order of the CPU's own choice is best with isn't another's.
    if (settings.isAny())
      chosen.tokens = std::max<int64_t>(1, kPartRows / getGroup(kernel));
  } else if (goal.device->code.hasWarpgroupProducts) {
    chosen = chooseForWarpgroups(kernel, settings, goal.hasManyQueries);
  } else {
    chosen = chooseForWarps(kernel, settings);
  }
  return replace(std::move(chosen), settings);
}

nsatile::ScheduleAttr schedule::makeAttr(const Choice &choice,
                                         MLIRContext *context,
                                         std::string &problem) {
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &found) {
    if (problem.empty())
      problem = found.str();
  });
  return nsatile::ScheduleAttr::getChecked(
      mlir::detail::getDefaultDiagnosticEmitFn(UnknownLoc::get(context)),
      context, choice.order, choice.tokens, choice.keys, choice.splits,
      choice.warps, choice.stages);
}
