//===- PackPlan.cpp - From a plan and its kernels to a package ------------===//

#include "NSATile/IR/NSATileOps.h"
#include "nsacc/Support/Version.h"
#include "nsacc/Target/CUDA/CUDA.h"
#include "nsacc/Target/Plan/ReadPlan.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::cuda;
using namespace nsacc::nsatile;

static std::vector<uint32_t> toNumbers(DenseI64ArrayAttr values) {
  return std::vector<uint32_t>(values.asArrayRef().begin(),
                               values.asArrayRef().end());
}

static rt::ExtraParameter toExtra(Attribute attribute) {
  using Kind = rt::ExtraParameter::Kind;
  rt::ExtraParameter extra;
  if (auto map = dyn_cast<TensorMapAttr>(attribute)) {
    extra.kind = Kind::TensorMap;
    extra.map = {
        static_cast<uint32_t>(map.getArgument()), toNumbers(map.getDims()),
        toNumbers(map.getBox()), static_cast<uint32_t>(map.getSwizzle()),
        map.getSteps() ? toNumbers(map.getSteps()) : std::vector<uint32_t>()};
    return extra;
  }
  switch (cast<HostParameterAttr>(attribute).getValue()) {
  case HostParameter::Counter:
    extra.kind = Kind::Counter;
    break;
  case HostParameter::Failures:
    extra.kind = Kind::Failures;
    break;
  case HostParameter::Raised:
    extra.kind = Kind::Raised;
    break;
  case HostParameter::FirstZ:
    extra.kind = Kind::FirstZ;
    break;
  }
  return extra;
}

/// Adds the launch parameters that the program's kernel needs.
static LogicalResult addKernel(LaunchOp op, rt::Launch &launch) {
  auto program =
      SymbolTable::lookupNearestSymbolFrom<ProgramOp>(op, op.getProgramAttr());
  auto kernel =
      program->getAttrOfType<KernelAttr>(NSATileDialect::getKernelAttrName());
  if (!kernel) {
    InFlightDiagnostic error = op.emitOpError(
        "expected a program that was lowered for a GPU, with #nsatile.kernel");
    error.attachNote(program.getLoc()) << "the program stands here";
    return error;
  }
  launch.threads = kernel.getThreads();
  launch.sharedBytes = kernel.getShared();
  launch.cluster = kernel.getCluster();
  launch.isDependent = kernel.getDependent();
  if (kernel.getExtra())
    for (Attribute each : kernel.getExtra())
      launch.extra.push_back(toExtra(each));
  return success();
}

FailureOr<rt::Package> nsacc::cuda::packPlan(PlanOp plan,
                                             const Options &options) {
  FailureOr<KernelPlan> read = readPlan(plan, {.target = "GPU targets",
                                               .maxRank = rt::kMaxRank,
                                               .signature = options.signature});
  if (failed(read))
    return failure();
  auto launch = read->plan.launches.begin();
  WalkResult result = plan.walk([&](LaunchOp op) {
    return failed(addKernel(op, *launch++)) ? WalkResult::interrupt()
                                            : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  rt::Package package;
  package.compiler = getVersion();
  package.kernel = plan.getSymName().str();
  package.parameters = std::move(read->parameters);
  rt::TargetCode &code = package.variants.emplace_back().targets.emplace_back();
  code.architecture = options.device.getMachineArchitecture();
  code.assertions = readAssertions(plan->getParentOfType<ModuleOp>());
  code.plan = std::move(read->plan);
  return package;
}
