//===- NSAToNSATile.cpp - From whole tensors to programs over tiles -------===//

#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "NSATile/Transforms/Passes.h"
#include "PlanBuilder.h"
#include "QueryProgram.h"
#include "SelectionLists.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "nsacc/Schedule/ScalarCost.h"
#include "llvm/ADT/TypeSwitch.h"

namespace nsacc {
#define GEN_PASS_DEF_CONVERTNSATONSATILE
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"
} // namespace nsacc

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

namespace {

/// One kernel: what is shared gets a buffer and a program, the rest is fused
/// into one program over query tiles.
class KernelConverter {
public:
  KernelConverter(KernelOp kernel, bool exactPrograms,
                  const ShapeLimits &limits)
      : kernel(kernel), plan(kernel, OpBuilder(kernel.getContext())),
        exactPrograms(exactPrograms), limits(limits) {}

  LogicalResult run();

private:
  nsatile::ScheduleAttr getSchedule(const QueryShape &shape);
  /// Results that are shared values themselves are written in place; the
  /// others remain.
  SmallVector<Target> bindResults();
  LogicalResult materialize(Operation *op);
  LogicalResult materializeOperands(Operation *op);
  LogicalResult materializeTensor(Value tensor);
  /// Attentions over other query tiles than those of the program that uses
  /// them.
  LogicalResult materializeAttentions(ArrayRef<Operation *> ops);
  /// Computes tensors into their buffers, those of the same query tiles in one
  /// program.
  LogicalResult compute(ArrayRef<Target> targets);
  LogicalResult computeTogether(const QueryShape &shape,
                                ArrayRef<Target> targets);

  KernelOp kernel;
  PlanBuilder plan;
  bool exactPrograms;
  ShapeLimits limits;
};

} // namespace

nsatile::ScheduleAttr KernelConverter::getSchedule(const QueryShape &shape) {
  if (auto given = kernel->getAttrOfType<nsatile::ScheduleAttr>(
          nsatile::NSATileDialect::getScheduleAttrName()))
    return given;
  schedule::Choice choice = schedule::chooseForCPU(kernel, shape.group);
  return nsatile::ScheduleAttr::get(kernel.getContext(), choice.order,
                                    choice.tokens, choice.keys, choice.splits,
                                    choice.warps, choice.stages);
}

/// Of pooled keys or blocks for each query.
static bool isImportance(Value tensor) {
  auto type = cast<NamedTensorType>(tensor.getType());
  return isa<PooledDimAttr, BlocksDimAttr>(type.getDims().back());
}

SmallVector<Target> KernelConverter::bindResults() {
  SmallVector<Target> computed;
  auto ret = cast<ReturnOp>(kernel.getBody().front().getTerminator());
  for (auto [index, result] : llvm::enumerate(ret.getResults())) {
    Value shared = result, buffer = plan.getResultBuffer(index);
    if (auto indices = result.getDefiningOp<IndicesOp>())
      shared = indices.getSelection();
    bool isShared =
        isa<SelectionType>(shared.getType()) || shared.getDefiningOp<PoolOp>();
    if (isShared && !plan.isMaterialized(shared))
      plan.bind(shared, buffer);
    else
      computed.push_back({result, buffer});
  }
  return computed;
}

/// Selecting gains nothing from a wide tile. Its warps follow from its rows.
static nsatile::ScheduleAttr getPartSchedule(nsatile::ScheduleAttr schedule,
                                             int64_t group) {
  auto get = [&](int64_t tokens) {
    return nsatile::ScheduleAttr::get(
        schedule.getContext(), schedule.getOrder(), tokens, schedule.getKeys(),
        schedule.getSplits(), /*warps=*/0, schedule.getStages());
  };
  return get(
      getPartTokens(get(schedule.getTokens()), schedule.getTokens(), group));
}

LogicalResult KernelConverter::compute(ArrayRef<Target> targets) {
  SmallVector<std::pair<QueryShape, SmallVector<Target>>> fused;
  for (const Target &target : targets) {
    FoundShape found = findQueryShape(plan, target.tensor);
    std::optional<QueryShape> shape = found.shape;
    if (failed(materializeAttentions(found.others.getArrayRef())))
      return failure();
    if (!shape) {
      if (failed(buildMapProgram(plan, target.tensor, target.buffer)))
        return failure();
    } else if (isImportance(target.tensor)) {
      if (failed(buildImportanceProgram(plan, *shape, target.tensor,
                                        target.buffer, getSchedule(*shape))))
        return failure();
    } else {
      auto *group = llvm::find_if(
          fused, [&](auto &entry) { return entry.first == *shape; });
      if (group == fused.end()) {
        fused.push_back({*shape, {}});
        group = &fused.back();
      }
      group->second.push_back(target);
    }
  }
  for (auto &[shape, group] : fused)
    if (failed(computeTogether(shape, group)))
      return failure();
  return success();
}

/// Smaller tiles of the same rows, which registers hold along with all that
/// products need to look at each pair.
static nsatile::ScheduleAttr getExactSchedule(nsatile::ScheduleAttr schedule,
                                              int64_t group) {
  int64_t mostKeys = 32;
  // It is rarely run: lists of its own tiles aren't worth a program. Tokens
  // that walk their blocks one by one have a state of their own beside the
  // tile's.
  nsatile::LoopOrder order = schedule.getOrder();
  if (order == nsatile::LoopOrder::Union) {
    order = nsatile::LoopOrder::QueryMajor;
    mostKeys = 16;
  }
  int64_t tokens =
      std::clamp<int64_t>(kPartRows / group, 1, schedule.getTokens());
  while (schedule.getTokens() % tokens != 0)
    --tokens;
  return nsatile::ScheduleAttr::get(schedule.getContext(), order, tokens,
                                    std::min(schedule.getKeys(), mostKeys),
                                    schedule.getSplits(),
                                    /*warps=*/0, schedule.getStages());
}

/// Whether products ask which pairs are visible, as those of a softmax will.
static bool looksAtPairs(nsatile::ProgramOp program) {
  return program
      ->walk([](Operation *op) {
        auto dot = dyn_cast<nsatile::DotOp>(op);
        auto yield = dyn_cast<nsatile::YieldScoresOp>(op);
        return (dot && dot.getVisible()) || (yield && yield.getValues())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult KernelConverter::computeTogether(const QueryShape &shape,
                                               ArrayRef<Target> targets) {
  nsatile::ScheduleAttr schedule = getSchedule(shape);
  FailureOr<nsatile::ProgramOp> program =
      buildQueryProgram(plan, shape, targets, schedule);
  if (failed(program))
    return failure();
  if (!exactPrograms || !looksAtPairs(*program))
    return success();
  FailureOr<nsatile::ProgramOp> exact = buildQueryProgram(
      plan, shape, targets, getExactSchedule(schedule, shape.group));
  if (failed(exact))
    return failure();
  (*program)->setAttr(nsatile::kExactProgramAttrName,
                      FlatSymbolRefAttr::get(exact->getSymNameAttr()));
  return success();
}

LogicalResult
KernelConverter::materializeAttentions(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    if (!isa<AttendOp, MergeOp>(op))
      return op->emitError("an importance of other query or key heads isn't "
                           "compiled yet in arithmetic");
    for (Value result : op->getResults())
      if (!result.use_empty() && failed(materializeTensor(result)))
        return failure();
  }
  return success();
}

LogicalResult KernelConverter::materializeTensor(Value tensor) {
  if (plan.isMaterialized(tensor))
    return success();
  // The log-sum-exp and pooled keys have programs of their own.
  Operation *op = tensor.getDefiningOp();
  if (!isa<MapOp, AttendOp, MergeOp, BlocksOp, ImportanceOp, IndicesOp>(op))
    return success();
  // What it is computed from is looked up before it stands in memory itself.
  Value buffer = plan.createBuffer(tensor);
  // Of all tensors a program reads, importances and merges take log-sum-exps.
  auto dividesBy = [&](Operation *user) {
    auto merge = dyn_cast<MergeOp>(user);
    auto importance = dyn_cast<ImportanceOp>(user);
    return (merge && llvm::is_contained(merge.getLses(), tensor)) ||
           (importance && importance.getLse() == tensor);
  };
  if (llvm::any_of(tensor.getUsers(), dividesBy))
    plan.addRest(tensor);
  if (failed(compute(Target{tensor, buffer})))
    return failure();
  plan.bind(tensor, buffer);
  return success();
}

/// Everything but elementwise code reads its operands from memory.
LogicalResult KernelConverter::materializeOperands(Operation *op) {
  SmallVector<Value> operands;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](AttendOp attend) {
        operands = {attend.getQuery(), attend.getKey(), attend.getValue()};
      })
      .Case([&](ImportanceOp importance) {
        operands = {importance.getQuery(), importance.getKey()};
      })
      .Case([&](TopKOp topk) {
        if (topk.getCount())
          operands.push_back(topk.getCount());
      })
      .Case<PoolOp, DeclarePooledOp, DeclareSelectionOp, DeclareBlocksOp>(
          [&](Operation *declare) { operands = declare->getOperands(); });
  for (Value operand : operands)
    if (failed(materializeTensor(operand)))
      return failure();
  return success();
}

LogicalResult KernelConverter::materialize(Operation *op) {
  if (failed(materializeOperands(op)))
    return failure();
  auto allocate = [&](Value tensor) {
    if (!plan.isMaterialized(tensor))
      plan.allocate(tensor);
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](PoolOp pool) {
        allocate(pool.getResult());
        return buildPoolProgram(plan, pool);
      })
      .Case([&](DeclarePooledOp declare) {
        plan.bind(declare.getResult(), plan.getBuffer(declare.getInput()));
        return success();
      })
      .Case([&](TopKOp topk) -> LogicalResult {
        FailureOr<QueryShape> shape = getSelectionShape(plan, topk);
        if (failed(shape))
          return failure();
        allocate(topk.getResult());
        return buildTopKProgram(
            plan, *shape, topk,
            getPartSchedule(getSchedule(*shape), shape->group));
      })
      .Case([&](AttendOp attend) -> LogicalResult {
        QueryShape shape = getQueryShape(
            plan, cast<ScoringOpInterface>(attend.getOperation()));
        nsatile::ScheduleAttr schedule = getSchedule(shape);
        if (attend->use_empty())
          return success();
        if (schedule.getOrder() == nsatile::LoopOrder::KeyMajor)
          buildKeyMajorProgram(plan, shape, attend, schedule);
        if (schedule.getOrder() == nsatile::LoopOrder::Union &&
            attend.getSelection())
          return buildUnionLists(plan, shape, attend, schedule.getTokens());
        return success();
      })
      .Case([&](DeclareSelectionOp declare) {
        allocate(declare.getResult());
        return buildDeclaredSelectionProgram(plan, declare);
      })
      .Default(success());
}

LogicalResult KernelConverter::run() {
  if (failed(checkQueryShapes(plan, limits)))
    return failure();
  SmallVector<Target> computed = bindResults();
  for (Operation &op : kernel.getBody().front())
    if (failed(materialize(&op)))
      return failure();
  if (failed(compute(computed)))
    return failure();
  plan.finish();
  kernel.erase();
  return success();
}

namespace {

struct ConvertNSAToNSATile
    : nsacc::impl::ConvertNSAToNSATileBase<ConvertNSAToNSATile> {
  using ConvertNSAToNSATileBase::ConvertNSAToNSATileBase;

  void runOnOperation() override {
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (failed(checkLimits(kernel)) ||
          failed(
              KernelConverter(kernel, exactPrograms, {mostChannels, mostGroup})
                  .run()))
        return signalPassFailure();
    for (auto program : getOperation().getOps<nsatile::ProgramOp>())
      if (failed(checkLength(program)))
        return signalPassFailure();
  }

  LogicalResult checkLength(nsatile::ProgramOp program) {
    int64_t count = countInstructions(program);
    if (count <= mostInstructions)
      return success();
    InFlightDiagnostic error = program.emitError("this takes about ");
    error << count << " instructions of a thread in one program, and at most "
          << mostInstructions.getValue() << " are compiled for this target";
    error.attachNote()
        << "formulas are written out for each of a thread's elements, and "
           "attentions that are added or merged share a program; sin, cos and "
           "pow are the longest functions";
    return error;
  }

  /// A row's list is held as a whole where it is sorted, and so are the rows
  /// that share one.
  LogicalResult checkLimits(KernelOp kernel) {
    WalkResult result = kernel.walk([&](Operation *op) {
      auto pool = dyn_cast<PoolOp>(op);
      if (pool && pool.getLen() > static_cast<uint64_t>(longestWindow)) {
        op->emitError("windows have at most ")
            << longestWindow.getValue() << " tokens on this target, found "
            << pool.getLen();
        return WalkResult::interrupt();
      }
      auto topk = dyn_cast<TopKOp>(op);
      if (topk && topk.getShareTokens() > static_cast<uint64_t>(mostShared)) {
        op->emitError("at most ")
            << mostShared.getValue() << " tokens share a selection on this "
            << "target, found " << topk.getShareTokens();
        return WalkResult::interrupt();
      }
      for (Value value : op->getResults()) {
        auto type = dyn_cast<SelectionType>(value.getType());
        if (!type || type.getTop() <= mostSelected)
          continue;
        op->emitError("a row selects at most ")
            << mostSelected.getValue() << " blocks on this target, found "
            << type.getTop();
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
