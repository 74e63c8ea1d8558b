//===- PackPlan.cpp - From a plan and its kernels to a package ------------===//

#include "PackageParameters.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include "nsacc/Support/Version.h"
#include "nsacc/Target/CUDA/CUDA.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::cuda;
using namespace nsacc::nsatile;

namespace {

class PlanPacker {
public:
  PlanPacker(PlanOp plan, const Options &options)
      : plan(plan), options(options), numbers(code.steps) {}

  FailureOr<rt::Package> pack();

private:
  LogicalResult readOp(Operation *op);
  LogicalResult readDim(memref::DimOp dim);
  LogicalResult readWorkspace(WorkspaceOp workspace);
  LogicalResult readLaunch(LaunchOp launch);
  FailureOr<rt::Argument> readArgument(LaunchOp launch, Value value);
  void readRequirements();
  uint32_t countLaunches(Operation *until);

  PlanOp plan;
  const Options &options;
  rt::Package package;
  rt::TargetCode code;
  PlanNumbers numbers;
  DenseMap<Value, uint32_t> buffers;
  DenseMap<Value, std::vector<uint32_t>> workspaceSizes;
};

} // namespace

FailureOr<rt::Package> PlanPacker::pack() {
  package.compiler = getVersion();
  package.kernel = plan.getSymName().str();
  auto parameters = readParameters(plan, options.signature);
  if (failed(parameters))
    return failure();
  package.parameters = std::move(*parameters);
  for (BlockArgument argument : plan.getBody().getArguments())
    buffers[argument] = argument.getArgNumber();
  // Buffers count parameters, then workspaces.
  for (Operation &op : plan.getBody().front().without_terminator())
    if (failed(readOp(&op)))
      return failure();
  if (options.signature)
    code.checks = makeChecks(*options.signature, package.parameters, numbers);
  readRequirements();
  code.architecture = options.device.getMachineArchitecture();
  package.targets.push_back(std::move(code));
  return std::move(package);
}

LogicalResult PlanPacker::readOp(Operation *op) {
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return readDim(dim);
  if (auto workspace = dyn_cast<WorkspaceOp>(op))
    return readWorkspace(workspace);
  if (auto launch = dyn_cast<LaunchOp>(op))
    return readLaunch(launch);
  return numbers.read(op);
}

LogicalResult PlanPacker::readDim(memref::DimOp dim) {
  std::optional<int64_t> index = dim.getConstantIndex();
  auto type = cast<MemRefType>(dim.getSource().getType());
  if (!index || *index < 0 || *index >= type.getRank())
    return dim.emitOpError("expected a constant dimension of the buffer");
  uint32_t buffer = buffers.lookup(dim.getSource());
  if (buffer < package.parameters.size())
    numbers.define(dim, numbers.dim(buffer, *index));
  else
    numbers.define(
        dim, code.workspaces[buffer - package.parameters.size()].sizes[*index]);
  return success();
}

/// Launches in front of an op.
uint32_t PlanPacker::countLaunches(Operation *until) {
  return llvm::count_if(
      plan.getBody().front().getOps<LaunchOp>(),
      [&](LaunchOp launch) { return launch->isBeforeInBlock(until); });
}

LogicalResult PlanPacker::readWorkspace(WorkspaceOp op) {
  auto type = cast<MemRefType>(op.getBuffer().getType());
  std::optional<rt::DType> dtype = getDType(type.getElementType());
  if (!dtype || !type.getLayout().isIdentity() ||
      type.getRank() > static_cast<int64_t>(rt::kMaxRank))
    return op.emitOpError("expected a contiguous buffer of numbers with at "
                          "most ")
           << rt::kMaxRank << " dimensions";
  rt::Workspace workspace;
  workspace.dtype = *dtype;
  workspace.elementBytes = rt::getBytes(*dtype);
  unsigned next = 0;
  for (int64_t size : type.getShape())
    workspace.sizes.push_back(ShapedType::isDynamic(size)
                                  ? numbers.lookup(op.getSizes()[next++])
                                  : numbers.constant(size));
  workspaceSizes[op.getBuffer()] = workspace.sizes;
  workspace.first = UINT32_MAX;
  workspace.last = 0;
  for (Operation *user : op.getBuffer().getUsers())
    if (isa<LaunchOp>(user)) {
      uint32_t launch = countLaunches(user);
      workspace.first = std::min(workspace.first, launch);
      workspace.last = std::max(workspace.last, launch);
    }
  if (workspace.first == UINT32_MAX)
    return success(); // only its sizes are used
  buffers[op.getBuffer()] = package.parameters.size() + code.workspaces.size();
  code.workspaces.push_back(std::move(workspace));
  return success();
}

FailureOr<rt::Argument> PlanPacker::readArgument(LaunchOp launch, Value value) {
  Type type = value.getType();
  if (isa<MemRefType>(type))
    return rt::Argument{true, buffers.lookup(value)};
  if (!type.isIntOrIndexOrFloat() ||
      (!type.isIndex() && type.getIntOrFloatBitWidth() > 64))
    return launch.emitOpError("with an argument of type ")
           << type << " isn't supported by GPU targets";
  uint32_t bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return rt::Argument{false, numbers.lookup(value),
                      uint32_t(llvm::PowerOf2Ceil((bits + 7) / 8))};
}

static std::vector<uint32_t> toNumbers(DenseI64ArrayAttr values) {
  return std::vector<uint32_t>(values.asArrayRef().begin(),
                               values.asArrayRef().end());
}

static rt::ExtraParameter toExtra(Attribute attribute) {
  using Kind = rt::ExtraParameter::Kind;
  rt::ExtraParameter extra;
  if (auto map = dyn_cast<TensorMapAttr>(attribute)) {
    extra.kind = Kind::TensorMap;
    extra.map = {static_cast<uint32_t>(map.getArgument()),
                 toNumbers(map.getDims()), toNumbers(map.getBox()),
                 static_cast<uint32_t>(map.getSwizzle())};
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
  }
  return extra;
}

LogicalResult PlanPacker::readLaunch(LaunchOp op) {
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
  rt::Launch launch;
  launch.kernel = program.getSymName().str();
  launch.grid[0] = numbers.lookup(op.getX());
  launch.grid[1] = numbers.lookup(op.getY());
  launch.grid[2] = numbers.lookup(op.getZ());
  launch.threads = kernel.getThreads();
  launch.sharedBytes = kernel.getShared();
  launch.cluster = kernel.getCluster();
  launch.isDependent = kernel.getDependent();
  for (Value value : op.getArguments()) {
    FailureOr<rt::Argument> argument = readArgument(op, value);
    if (failed(argument))
      return failure();
    launch.arguments.push_back(*argument);
  }
  if (kernel.getExtra())
    for (Attribute each : kernel.getExtra())
      launch.extra.push_back(toExtra(each));
  code.launches.push_back(std::move(launch));
  return success();
}

void PlanPacker::readRequirements() {
  auto all = plan->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>(
      kRequirementsAttrName);
  if (!all)
    return;
  for (auto each : all.getAsRange<ArrayAttr>())
    package.requirements.push_back(
        {cast<StringAttr>(each[0]).str(),
         static_cast<uint32_t>(cast<IntegerAttr>(each[1]).getInt())});
}

FailureOr<rt::Package> nsacc::cuda::packPlan(PlanOp plan,
                                             const Options &options) {
  return PlanPacker(plan, options).pack();
}
