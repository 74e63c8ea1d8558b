//===- Edits.cpp - Ways to make a module smaller --------------------------===//

#include "Edits.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static void updateType(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  kernel.setFunctionType(
      FunctionType::get(kernel.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}

//===-- Edits -------------------------------------------------------------===//

/// Drops one of several kernels.
static bool dropKernel(Operation *op) {
  auto kernel = dyn_cast<KernelOp>(op);
  auto module = dyn_cast_or_null<ModuleOp>(op->getParentOp());
  if (!kernel || !module || llvm::hasSingleElement(*module.getBody()))
    return false;
  kernel.erase();
  return true;
}

/// nsa.return x, y -> nsa.return x
template <bool isLast> static bool dropResult(Operation *op) {
  auto kernel = dyn_cast_or_null<KernelOp>(op->getParentOp());
  unsigned count = op->getNumOperands();
  if (!isa<ReturnOp>(op) || !kernel || count < 2)
    return false;
  unsigned index = isLast ? count - 1 : 0;
  op->eraseOperand(index);
  if (ArrayAttr all = kernel.getResAttrsAttr()) {
    SmallVector<Attribute> kept(all.getValue());
    kept.erase(kept.begin() + index);
    kernel.setResAttrsAttr(ArrayAttr::get(op->getContext(), kept));
  }
  updateType(kernel);
  return true;
}

/// nsa.return (nsa.map(x, y)) -> nsa.return x, or y
template <unsigned index> static bool returnOperand(Operation *op) {
  auto kernel = dyn_cast_or_null<KernelOp>(op->getParentOp());
  if (!isa<ReturnOp>(op) || !kernel)
    return false;
  for (OpOperand &returned : op->getOpOperands()) {
    auto map = returned.get().getDefiningOp<MapOp>();
    if (!map || map->getNumOperands() <= index)
      continue;
    returned.set(map->getOperand(index));
    updateType(kernel);
    return true;
  }
  return false;
}

/// nsa.map(x, y) -> x, if the types agree
static bool forwardOperand(Operation *op) {
  if (!isa<MapOp>(op))
    return false;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand);
      return true;
    }
  return false;
}

/// Whether it is scalar code, in a region of an op of the kernel.
static bool isScalarCode(Operation *op) {
  Operation *parent = op->getParentOp();
  return parent && isa_and_present<KernelOp>(parent->getParentOp()) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

/// arith.addf x, y -> x, or y, if the types agree
template <unsigned index> static bool forwardScalar(Operation *op) {
  if (!isScalarCode(op) || op->getNumResults() != 1 ||
      op->getNumOperands() <= index ||
      op->getOperand(index).getType() != op->getResult(0).getType())
    return false;
  op->getResult(0).replaceAllUsesWith(op->getOperand(index));
  return true;
}

/// nsa.map(x, y) -> nsa.map(x), if its code doesn't read the other one
template <unsigned skipped> static bool dropUnread(Operation *op) {
  auto map = dyn_cast<MapOp>(op);
  if (!map)
    return false;
  unsigned unread = 0;
  for (BlockArgument argument : map.getBody().getArguments()) {
    if (!argument.use_empty() || unread++ < skipped)
      continue;
    unsigned index = argument.getArgNumber();
    map.getBody().eraseArgument(index);
    map->eraseOperand(index);
    return true;
  }
  return false;
}

/// nsa.merge (o0, l0), (o1, l1) -> o0, l0
static bool keepFirstBranch(Operation *op) {
  auto merge = dyn_cast<MergeOp>(op);
  if (!merge)
    return false;
  merge.getOutput().replaceAllUsesWith(merge.getOutputs().front());
  if (merge.getLse())
    merge.getLse().replaceAllUsesWith(merge.getLses().front());
  return true;
}

/// nsa.attend(…) in sel -> nsa.attend(…)
static bool dropSelection(Operation *op) {
  auto scoring = dyn_cast<ScoringOpInterface>(op);
  if (!scoring || !scoring.getValue() || !scoring.getSelection())
    return false;
  // Selections are optional, and stand behind all other operands.
  op->eraseOperand(op->getNumOperands() - 1);
  return true;
}

/// nsa.attend(…) mask … -> nsa.attend(…); likewise the other clauses
template <unsigned index> static bool dropClause(Operation *op) {
  if (!isa<ScoringOpInterface>(op) || op->getNumRegions() <= index ||
      op->getRegion(index).empty())
    return false;
  Region &clause = op->getRegion(index);
  clause.dropAllReferences();
  clause.getBlocks().clear();
  return true;
}

ArrayRef<Edit> nsacc::getEdits() {
  static constexpr Edit edits[] = {
      dropKernel,        dropResult</*isLast=*/true>,
      dropResult<false>, returnOperand<0>,
      returnOperand<1>,  returnOperand<2>,
      returnOperand<3>,  forwardOperand,
      forwardScalar<0>,  forwardScalar<1>,
      forwardScalar<2>,  dropUnread<0>,
      dropUnread<1>,     dropUnread<2>,
      keepFirstBranch,   dropSelection,
      dropClause<0>,     dropClause<1>,
      dropClause<2>,     dropClause<3>,
      dropClause<4>,     dropClause<5>};
  return edits;
}

//===-- Unused ops and arguments ------------------------------------------===//

static void eraseDeadCode(Operation &op) {
  for (Region &region : op.getRegions())
    for (Block &block : region)
      for (Operation &each : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isOpTriviallyDead(&each))
          each.erase();
}

static void eraseDeadArguments(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  llvm::BitVector unused(body.getNumArguments());
  for (BlockArgument argument : body.getArguments()) {
    auto type = cast<NamedTensorType>(argument.getType());
    bool isOffsets =
        llvm::any_of(type.getDims(), llvm::IsaPred<OffsetsDimAttr>);
    if (argument.use_empty() && !isOffsets)
      unused.set(argument.getArgNumber());
  }
  if (ArrayAttr all = kernel.getArgAttrsAttr()) {
    SmallVector<Attribute> kept;
    for (auto [index, attribute] : llvm::enumerate(all))
      if (!unused.test(index))
        kept.push_back(attribute);
    kernel.setArgAttrsAttr(ArrayAttr::get(kernel.getContext(), kept));
  }
  body.eraseArguments(unused);
  updateType(kernel);
}

void nsacc::eraseDead(ModuleOp module) {
  for (KernelOp kernel : module.getOps<KernelOp>()) {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(kernel.getBody().front()))) {
      eraseDeadCode(op);
      if (isOpTriviallyDead(&op))
        op.erase();
    }
    eraseDeadArguments(kernel);
  }
}
