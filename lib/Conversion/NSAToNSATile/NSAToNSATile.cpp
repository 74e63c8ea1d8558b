//===- NSAToNSATile.cpp - From whole tensors to programs over tiles -------===//

#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "PlanBuilder.h"
#include "QueryProgram.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
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
  explicit KernelConverter(KernelOp kernel)
      : kernel(kernel), plan(kernel, OpBuilder(kernel.getContext())) {}

  LogicalResult run();

private:
  nsatile::ScheduleAttr getSchedule(const QueryShape &shape);
  /// Results that programs over query tiles compute, and importances among
  /// them. Those that are shared values themselves are written in place.
  struct Computed {
    SmallVector<unsigned> fused, importances;
  };
  Computed bindResults();
  LogicalResult materialize(Operation *op, const QueryShape &shape,
                            nsatile::ScheduleAttr schedule);

  KernelOp kernel;
  PlanBuilder plan;
};

} // namespace

nsatile::ScheduleAttr KernelConverter::getSchedule(const QueryShape &shape) {
  if (auto given = kernel->getAttrOfType<nsatile::ScheduleAttr>(
          nsatile::NSATileDialect::getScheduleAttrName()))
    return given;
  // A wide tile lets tokens share the blocks that they selected.
  bool selects = kernel
                     .walk([](AttendOp op) {
                       return op.getSelection() ? WalkResult::interrupt()
                                                : WalkResult::advance();
                     })
                     .wasInterrupted();
  int64_t rows = kPartRows * (selects ? 4 : 1);
  int64_t tokens = std::max<int64_t>(1, rows / shape.group);
  return nsatile::ScheduleAttr::get(kernel.getContext(),
                                    nsatile::LoopOrder::QueryMajor, tokens,
                                    /*keys=*/64, /*splits=*/1);
}

/// Of pooled keys or blocks for each query.
static bool isImportance(Value result) {
  auto type = cast<NamedTensorType>(result.getType());
  return isa<PooledDimAttr, BlocksDimAttr>(type.getDims().back());
}

KernelConverter::Computed KernelConverter::bindResults() {
  Computed computed;
  auto ret = cast<ReturnOp>(kernel.getBody().front().getTerminator());
  for (auto [index, result] : llvm::enumerate(ret.getResults())) {
    Value shared = result;
    if (auto indices = result.getDefiningOp<IndicesOp>())
      shared = indices.getSelection();
    bool isShared =
        isa<SelectionType>(shared.getType()) || shared.getDefiningOp<PoolOp>();
    if (isShared && !plan.isMaterialized(shared))
      plan.bind(shared, plan.getResultBuffer(index));
    else
      (isImportance(result) ? computed.importances : computed.fused)
          .push_back(index);
  }
  return computed;
}

/// Selecting gains nothing from a wide tile.
static nsatile::ScheduleAttr getPartSchedule(nsatile::ScheduleAttr schedule,
                                             int64_t group) {
  return nsatile::ScheduleAttr::get(schedule.getContext(), schedule.getOrder(),
                                    getPartTokens(schedule.getTokens(), group),
                                    schedule.getKeys(), schedule.getSplits());
}

LogicalResult KernelConverter::materialize(Operation *op,
                                           const QueryShape &shape,
                                           nsatile::ScheduleAttr schedule) {
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
      .Case([&](TopKOp topk) {
        allocate(topk.getResult());
        return buildTopKProgram(plan, shape, topk,
                                getPartSchedule(schedule, shape.group));
      })
      .Case([&](AttendOp attend) {
        if (schedule.getOrder() == nsatile::LoopOrder::KeyMajor &&
            !attend->use_empty())
          buildKeyMajorProgram(plan, shape, attend, schedule);
        return success();
      })
      .Case([&](DeclareSelectionOp declare) {
        allocate(declare.getResult());
        return buildDeclaredSelectionProgram(plan, declare);
      })
      .Default(success());
}

LogicalResult KernelConverter::run() {
  FailureOr<QueryShape> shape = getQueryShape(plan);
  if (failed(shape))
    return failure();
  nsatile::ScheduleAttr schedule = getSchedule(*shape);
  auto [computed, importances] = bindResults();
  for (Operation &op : kernel.getBody().front())
    if (failed(materialize(&op, *shape, schedule)))
      return failure();
  for (unsigned result : importances)
    if (failed(buildImportanceProgram(plan, *shape, result, schedule)))
      return failure();
  if (!computed.empty() &&
      failed(buildQueryProgram(plan, *shape, computed, schedule)))
    return failure();
  plan.finish();
  kernel.erase();
  return success();
}

namespace {

struct ConvertNSAToNSATile
    : nsacc::impl::ConvertNSAToNSATileBase<ConvertNSAToNSATile> {
  void runOnOperation() override {
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (failed(KernelConverter(kernel).run()))
        return signalPassFailure();
  }
};

} // namespace
