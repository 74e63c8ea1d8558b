//===- ReadPlan.cpp - From a plan's ops to data ---------------------------===//

#include "nsacc/Target/Plan/ReadPlan.h"
#include "NSATile/IR/Assertions.h"
#include "Parameters.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

class PlanReader {
public:
  PlanReader(PlanOp plan, const PlanOptions &options)
      : plan(plan), options(options),
        numbers(result.plan.steps, options.target) {}

  FailureOr<KernelPlan> read();

private:
  LogicalResult readOp(Operation *op);
  LogicalResult readDim(memref::DimOp dim);
  LogicalResult readWorkspace(WorkspaceOp workspace);
  LogicalResult readRepeat(RepeatOp repeat);
  LogicalResult readLaunch(LaunchOp launch);
  FailureOr<rt::Argument> readArgument(LaunchOp launch, Value value);

  PlanOp plan;
  const PlanOptions &options;
  KernelPlan result;
  PlanNumbers numbers;
  /// The first and last launch of each op in the plan that launches.
  DenseMap<Operation *, std::pair<uint32_t, uint32_t>> launches;
  /// Numbers of buffers: parameters, then workspaces.
  DenseMap<Value, uint32_t> buffers;
  DenseMap<Value, std::vector<uint32_t>> workspaceSizes;
};

} // namespace

FailureOr<KernelPlan> PlanReader::read() {
  auto parameters = readParameters(plan, options);
  if (failed(parameters))
    return failure();
  result.parameters = std::move(*parameters);
  for (BlockArgument argument : plan.getBody().getArguments())
    buffers[argument] = argument.getArgNumber();
  uint32_t numLaunches = 0;
  for (Operation &op : plan.getBody().front()) {
    uint32_t first = numLaunches;
    op.walk([&](LaunchOp) { ++numLaunches; });
    if (numLaunches > first)
      launches[&op] = {first, numLaunches - 1};
  }
  for (Operation &op : plan.getBody().front().without_terminator())
    if (failed(readOp(&op)))
      return failure();
  if (options.signature)
    result.plan.checks =
        makeChecks(*options.signature, result.parameters, numbers);
  return std::move(result);
}

LogicalResult PlanReader::readOp(Operation *op) {
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return readDim(dim);
  if (auto workspace = dyn_cast<WorkspaceOp>(op))
    return readWorkspace(workspace);
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return readRepeat(repeat);
  if (auto launch = dyn_cast<LaunchOp>(op))
    return readLaunch(launch);
  return numbers.read(op);
}

LogicalResult PlanReader::readDim(memref::DimOp dim) {
  std::optional<int64_t> index = dim.getConstantIndex();
  auto type = cast<MemRefType>(dim.getSource().getType());
  if (!index || *index < 0 || *index >= type.getRank())
    return dim.emitOpError("expected a constant dimension of the buffer");
  // A workspace's size is the one it was created with.
  auto workspace = workspaceSizes.find(dim.getSource());
  numbers.define(dim, workspace == workspaceSizes.end()
                          ? numbers.dim(buffers.lookup(dim.getSource()), *index)
                          : workspace->second[*index]);
  return success();
}

LogicalResult PlanReader::readRepeat(RepeatOp op) {
  auto found = launches.find(op);
  if (found == launches.end())
    return success();
  numbers.define(op.getNumber(), numbers.add(rt::Step::Kind::Time, {},
                                             result.plan.repeats.size()));
  result.plan.repeats.push_back({found->second.first, found->second.second,
                                 numbers.lookup(op.getCount())});
  for (Operation &each : op.getBody().front())
    if (failed(readOp(&each)))
      return failure();
  return success();
}

LogicalResult PlanReader::readWorkspace(WorkspaceOp op) {
  auto type = cast<MemRefType>(op.getBuffer().getType());
  std::optional<DType> dtype = getDType(type.getElementType());
  if (!dtype || !type.getLayout().isIdentity())
    return op.emitOpError("expected a contiguous buffer of numbers");
  if (failed(checkRank(op.getBuffer(), "a tensor between programs", options)))
    return failure();
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
      auto [first, last] =
          launches.lookup(plan.getBody().front().findAncestorOpInBlock(*user));
      workspace.first = std::min(workspace.first, first);
      workspace.last = std::max(workspace.last, last);
    }
  if (workspace.first == UINT32_MAX)
    return success(); // only its sizes are used
  buffers[op.getBuffer()] =
      result.parameters.size() + result.plan.workspaces.size();
  result.plan.workspaces.push_back(std::move(workspace));
  return success();
}

FailureOr<rt::Argument> PlanReader::readArgument(LaunchOp launch, Value value) {
  Type type = value.getType();
  if (isa<MemRefType>(type))
    return rt::Argument{true, buffers.lookup(value)};
  if (!type.isIntOrIndexOrFloat() ||
      (!type.isIndex() && type.getIntOrFloatBitWidth() > 64))
    return launch.emitOpError("with an argument of type ")
           << type << " isn't supported by " << options.target;
  uint32_t bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return rt::Argument{false, numbers.lookup(value),
                      uint32_t(llvm::PowerOf2Ceil((bits + 7) / 8))};
}

LogicalResult PlanReader::readLaunch(LaunchOp op) {
  rt::Launch launch;
  launch.kernel = op.getProgram().str();
  launch.grid[0] = numbers.lookup(op.getX());
  launch.grid[1] = numbers.lookup(op.getY());
  launch.grid[2] = numbers.lookup(op.getZ());
  for (Value value : op.getArguments()) {
    FailureOr<rt::Argument> argument = readArgument(op, value);
    if (failed(argument))
      return failure();
    launch.arguments.push_back(*argument);
  }
  result.plan.launches.push_back(std::move(launch));
  return success();
}

FailureOr<KernelPlan> nsacc::readPlan(PlanOp plan, const PlanOptions &options) {
  return PlanReader(plan, options).read();
}

std::vector<rt::Assertion> nsacc::readAssertions(ModuleOp module) {
  std::vector<rt::Assertion> assertions;
  auto all = module->getAttrOfType<ArrayAttr>(kAssertionsAttrName);
  if (!all)
    return assertions;
  for (auto each : all.getAsRange<ArrayAttr>())
    assertions.push_back(
        {cast<StringAttr>(each[0]).str(),
         static_cast<uint32_t>(cast<IntegerAttr>(each[1]).getInt())});
  return assertions;
}
