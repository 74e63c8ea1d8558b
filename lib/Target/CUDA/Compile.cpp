//===- Compile.cpp - Tile programs as packages ----------------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Target/CUDA/CUDA.h"

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cuda;

static Expected<nsatile::PlanOp> findPlan(mlir::ModuleOp module) {
  auto plans = module.getOps<nsatile::PlanOp>();
  if (hasSingleElement(plans))
    return *plans.begin();
  return createStringError("expected a module with one plan, found " +
                           Twine(range_size(plans)));
}

/// Adds machine code where ptxas is found and knows the device.
static Error assembleInto(rt::TargetCode &code, const Options &options) {
  std::optional<std::string> ptxas = findPtxas(options.ptxas);
  // The driver compiles PTX, too, though later and each time.
  if (!options.assemble || !ptxas)
    return Error::success();
  Expected<std::optional<MachineCode>> machineCode =
      assemble(*ptxas, code.ptx, options.device.getMachineArchitecture());
  if (!machineCode)
    return machineCode.takeError();
  if (!*machineCode)
    return Error::success();
  code.cubin = std::move((*machineCode)->cubin);
  if (options.report)
    *options.report = std::move((*machineCode)->report);
  return Error::success();
}

Expected<rt::Package> nsacc::cuda::compile(mlir::ModuleOp module,
                                           const Options &options) {
  mlir::TimingScope none;
  mlir::TimingScope &timing = options.timing ? *options.timing : none;
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Expected<std::string> ptx = compileToPTX(*copy, options);
  if (!ptx)
    return ptx.takeError();
  Expected<nsatile::PlanOp> plan = findPlan(*copy);
  if (!plan)
    return plan.takeError();
  mlir::FailureOr<rt::Package> package = packPlan(*plan, options);
  if (mlir::failed(package))
    return createStringError("the plan can't be packed");
  rt::TargetCode &code = package->variants.front().targets.front();
  code.ptx = std::move(*ptx);
  mlir::TimingScope scope = timing.nest("ptxas");
  if (Error error = assembleInto(code, options))
    return std::move(error);
  return std::move(*package);
}
