//===- ReadPlan.cpp - From a plan's ops to its steps ----------------------===//

#include "LaunchPlan.h"
#include "NSA/IR/NSADialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::cpu;
using namespace nsacc::nsatile;
using Kind = PlanStep::Kind;

static std::optional<DType> getDType(Type type) {
  if (type.isInteger(8) || type.isInteger(1))
    return DType::Bool;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64))
    return DType::I64;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  return std::nullopt;
}

static std::optional<Kind> getKind(Operation *op) {
  using Result = std::optional<Kind>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([](arith::AddIOp) { return Kind::Add; })
      .Case([](arith::SubIOp) { return Kind::Sub; })
      .Case([](arith::MulIOp) { return Kind::Mul; })
      .Case([](arith::DivSIOp) { return Kind::Div; })
      .Case([](arith::FloorDivSIOp) { return Kind::FloorDiv; })
      .Case([](arith::CeilDivSIOp) { return Kind::CeilDiv; })
      .Case([](arith::RemSIOp) { return Kind::Rem; })
      .Case([](arith::MinSIOp) { return Kind::Min; })
      .Case([](arith::MaxSIOp) { return Kind::Max; })
      .Case([](arith::AndIOp) { return Kind::And; })
      .Case([](arith::OrIOp) { return Kind::Or; })
      .Case([](arith::SelectOp) { return Kind::Select; })
      .Case<arith::IndexCastOp, arith::ExtSIOp>(
          [](Operation *) { return Kind::Copy; })
      .Default([](Operation *) { return Result(); });
}

/// Comparisons as equal, not equal, less, less or equal; the latter two with
/// swapped operands for greater.
static std::optional<std::pair<Kind, bool>>
getComparison(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return std::pair(Kind::Equal, false);
  case arith::CmpIPredicate::ne:
    return std::pair(Kind::NotEqual, false);
  case arith::CmpIPredicate::slt:
    return std::pair(Kind::Less, false);
  case arith::CmpIPredicate::sle:
    return std::pair(Kind::LessEqual, false);
  case arith::CmpIPredicate::sgt:
    return std::pair(Kind::Less, true);
  case arith::CmpIPredicate::sge:
    return std::pair(Kind::LessEqual, true);
  default:
    return std::nullopt;
  }
}

/// The arguments of a program that it may write to.
static llvm::SmallBitVector findWritten(ProgramOp program) {
  llvm::SmallBitVector written(program.getArgumentTypes().size());
  program.getBody().walk([&](Operation *op) {
    if (isa<LoadOp, GatherOp>(op) || isMemoryEffectFree(op) ||
        isa<ViewLikeOpInterface>(op))
      return;
    for (Value operand : op->getOperands()) {
      while (auto view = operand.getDefiningOp<ViewLikeOpInterface>())
        operand = view.getViewSource();
      auto argument = dyn_cast<BlockArgument>(operand);
      if (argument && isa<MemRefType>(argument.getType()) &&
          argument.getOwner() == &program.getBody().front())
        written.set(argument.getArgNumber());
    }
  });
  return written;
}

namespace {

class PlanReader {
public:
  explicit PlanReader(PlanOp op) : op(op) {}

  FailureOr<LaunchPlan> read() {
    for (BlockArgument argument : op.getBody().getArguments())
      if (failed(readArgument(argument)))
        return failure();
    for (Operation &each : op.getBody().front().without_terminator()) {
      if (failed(readStep(&each)))
        return failure();
      for (Value workspace : dying.lookup(&each)) {
        PlanStep release;
        release.kind = Kind::Release;
        release.operands.push_back(values.lookup(workspace));
        plan.steps.push_back(release);
      }
    }
    return std::move(plan);
  }

private:
  using Operand = PlanStep::Operand;

  LogicalResult readArgument(BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<MemRefType>(argument.getType());
    std::optional<DType> dtype =
        type ? getDType(type.getElementType()) : std::nullopt;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!dtype || failed(type.getStridesAndOffset(strides, offset)))
      return emitError(argument.getLoc())
             << "a plan's argument of type " << argument.getType()
             << " isn't supported by the CPU target; expected strided buffers";
    auto name = op.getArgAttrOfType<StringAttr>(
        number, nsa::NSADialect::getNameAttrName());
    Argument &read = plan.arguments.emplace_back();
    read.name = name ? name.str() : "argument " + std::to_string(number);
    read.dtype = *dtype;
    read.order = getOrder(number, type.getRank());
    for (int64_t dim : read.order) {
      int64_t size = type.getShape()[dim];
      read.shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
    }
    plan.argumentTypes.push_back({getSize(*dtype),
                                  llvm::to_vector<4>(type.getShape()),
                                  llvm::to_vector<4>(strides)});
    define(argument);
    return success();
  }

  std::vector<int64_t> getOrder(unsigned number, int64_t rank) {
    auto declared = op.getArgAttrOfType<DenseI64ArrayAttr>(
        number, nsa::NSADialect::getOrderAttrName());
    auto identity = llvm::seq<int64_t>(0, rank);
    return declared ? declared.asArrayRef().vec()
                    : std::vector<int64_t>(identity.begin(), identity.end());
  }

  Operand define(Value value) {
    bool isBuffer = isa<MemRefType>(value.getType());
    unsigned &count = isBuffer ? plan.numBuffers : plan.numNumbers;
    return values[value] = {isBuffer, count++};
  }

  PlanStep &addStep(Kind kind, Operation *from) {
    PlanStep &step = plan.steps.emplace_back();
    step.kind = kind;
    for (Value operand : from->getOperands())
      step.operands.push_back(values.lookup(operand));
    if (from->getNumResults() == 1)
      step.result = define(from->getResult(0)).index;
    return step;
  }

  LogicalResult readStep(Operation *each) {
    if (auto constant = dyn_cast<arith::ConstantOp>(each))
      return readConstant(constant);
    if (auto compare = dyn_cast<arith::CmpIOp>(each))
      return readComparison(compare);
    if (auto dim = dyn_cast<memref::DimOp>(each))
      return readDim(dim);
    if (auto workspace = dyn_cast<WorkspaceOp>(each))
      return readWorkspace(workspace);
    if (auto launch = dyn_cast<LaunchOp>(each))
      return readLaunch(launch);
    std::optional<Kind> kind = getKind(each);
    if (!kind)
      return each->emitOpError("in a plan isn't supported by the CPU target");
    addStep(*kind, each);
    return success();
  }

  LogicalResult readConstant(arith::ConstantOp constant) {
    int64_t value;
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      value = integer.getType().isInteger(1)
                  ? integer.getValue().getZExtValue()
                  : integer.getValue().getSExtValue();
    else if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
      value = real.getValue().bitcastToAPInt().getZExtValue();
    else
      return constant.emitOpError("of this type isn't supported in a plan");
    addStep(Kind::Constant, constant).value = value;
    return success();
  }

  LogicalResult readComparison(arith::CmpIOp compare) {
    auto kind = getComparison(compare.getPredicate());
    if (!kind)
      return compare.emitOpError(
          "of unsigned numbers isn't supported in a plan");
    PlanStep &step = addStep(kind->first, compare);
    if (kind->second)
      std::swap(step.operands[0], step.operands[1]);
    return success();
  }

  LogicalResult readDim(memref::DimOp dim) {
    std::optional<int64_t> index = dim.getConstantIndex();
    auto type = cast<MemRefType>(dim.getSource().getType());
    if (!index || *index < 0 || *index >= type.getRank())
      return dim.emitOpError("expected a constant dimension of the buffer");
    addStep(Kind::Dim, dim).value = *index;
    return success();
  }

  LogicalResult readWorkspace(WorkspaceOp workspace) {
    auto type = cast<MemRefType>(workspace.getBuffer().getType());
    std::optional<DType> dtype = getDType(type.getElementType());
    if (!dtype || !type.getLayout().isIdentity())
      return workspace.emitOpError("expected a contiguous buffer of numbers");
    PlanStep &step = addStep(Kind::Workspace, workspace);
    step.type.elementBytes = getSize(*dtype);
    step.type.sizes.assign(type.getShape().begin(), type.getShape().end());
    Operation *last = nullptr;
    for (Operation *user : workspace.getBuffer().getUsers())
      if (!last || last->isBeforeInBlock(user))
        last = user;
    dying[last ? last : workspace.getOperation()].push_back(
        workspace.getBuffer());
    return success();
  }

  LogicalResult readLaunch(LaunchOp launch) {
    auto program = SymbolTable::lookupNearestSymbolFrom<ProgramOp>(
        launch, launch.getProgramAttr());
    PlanStep &step = addStep(Kind::Launch, launch);
    auto *known = llvm::find(programs, launch.getProgram());
    if (known == programs.end())
      plan.programs.push_back(launch.getProgram().str()),
          programs.push_back(launch.getProgram()), known = &programs.back();
    step.program = known - programs.begin();
    llvm::SmallBitVector written = findWritten(program);
    for (auto [index, operand] : llvm::enumerate(launch.getArguments())) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (argument && written.test(index))
        plan.arguments[argument.getArgNumber()].isWritten = true;
    }
    return success();
  }

  PlanOp op;
  LaunchPlan plan;
  SmallVector<StringRef> programs;
  DenseMap<Value, Operand> values;
  DenseMap<Operation *, SmallVector<Value>> dying;
};

} // namespace

FailureOr<LaunchPlan> nsacc::cpu::readPlan(PlanOp plan) {
  return PlanReader(plan).read();
}
