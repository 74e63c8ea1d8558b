//===- NSAToNSATile.cpp - From whole tensors to programs over tiles -------===//

#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "NSA/Analysis/Rounding.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/Transforms/Passes.h"
#include "PlanBuilder.h"
#include "QueryProgram.h"
#include "ScaledF16.h"
#include "SelectionLists.h"
#include "TileOpInterface.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "nsacc/Schedule/ScalarCost.h"
#include "llvm/Support/FormatVariadic.h"

namespace nsacc {
#define GEN_PASS_DEF_CONVERTNSATONSATILE
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"
} // namespace nsacc

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

using nsatile::PassRemarks;

static constexpr PassRemarks kScaledRemarks = {"convert-nsa-to-nsatile",
                                               "ResultsInF16"};
static constexpr PassRemarks kSliceRemarks = {"convert-nsa-to-nsatile",
                                              "ResultSlices"};

namespace {

/// Converts one kernel. Shared values get buffers and programs. The rest is
/// fused into programs over query tiles.
class KernelConverter {
public:
  KernelConverter(KernelOp kernel, const ShapeLimits &limits,
                  int64_t multiprocessors)
      : kernel(kernel),
        plan(kernel, OpBuilder(kernel.getContext()), multiprocessors),
        limits(limits) {}

  LogicalResult run();

private:
  /// Binds results that are shared values to their buffers, where they are
  /// written in place. Returns the others.
  SmallVector<Target> bindResults();
  LogicalResult materialize(Operation *op);
  LogicalResult materializeTensor(Value tensor);
  /// Creates a buffer for a tensor, which compute() fills.
  Target createTarget(Value tensor);
  /// Cuts the call where only tiles of the same queries read results of
  /// attentions with their own programs.
  void cutResults();
  /// Computes the results of an op with its own program.
  LogicalResult materializeResults(Operation *op);
  /// Computes attentions over other query tiles than the program that uses
  /// them.
  LogicalResult materializeAttentions(ArrayRef<Operation *> ops);
  /// Computes tensors into their buffers. Tensors over the same query tiles
  /// share a program.
  LogicalResult compute(ArrayRef<Target> targets);
  LogicalResult computeTogether(const FoundShape &found,
                                ArrayRef<Target> targets);

  KernelOp kernel;
  PlanBuilder plan;
  ShapeLimits limits;
};

} // namespace

/// Whether a tensor has importances of pooled keys or blocks for each query.
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
    auto tiled = shared.getDefiningOp<TileOpInterface>();
    if (tiled && tiled.writesResults() && !plan.isMaterialized(shared))
      plan.bind(shared, buffer);
    else
      computed.push_back({result, buffer});
  }
  return computed;
}

LogicalResult KernelConverter::compute(ArrayRef<Target> targets) {
  SmallVector<std::pair<FoundShape, SmallVector<Target>>> fused;
  SmallVector<Target> behind;
  for (const Target &target : targets) {
    FoundShape found = findQueryShape(plan, target.tensor);
    if (failed(materializeAttentions(found.others.getArrayRef())))
      return failure();
    if (!found.shape && plan.findResultSlices(target.tensor)) {
      behind.push_back(target);
    } else if (!found.shape) {
      if (failed(buildMapProgram(plan, target.tensor, target.buffer)))
        return failure();
    } else if (isImportance(target.tensor)) {
      if (failed(buildImportanceProgram(plan, found, target.tensor,
                                        target.buffer)))
        return failure();
    } else {
      auto *group = llvm::find_if(
          fused, [&](auto &entry) { return entry.first.shape == found.shape; });
      if (group == fused.end()) {
        fused.push_back({found, {}});
        group = &fused.back();
      }
      group->second.push_back(target);
    }
  }
  for (auto &[found, group] : fused)
    if (failed(computeTogether(found, group)))
      return failure();
  // Elementwise code reads lists that a loop over slices has made.
  for (const Target &target : behind)
    if (failed(buildMapProgram(plan, target.tensor, target.buffer)))
      return failure();
  return success();
}

LogicalResult KernelConverter::computeTogether(const FoundShape &found,
                                               ArrayRef<Target> targets) {
  return plan.buildWithExact(
      found.first, [&] { return buildQueryProgram(plan, found, targets); });
}

LogicalResult
KernelConverter::materializeAttentions(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    if (isa<ImportanceOp>(op))
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
  // Its sources are looked up before the tensor stands in memory itself.
  Target target = createTarget(tensor);
  if (failed(compute(target)))
    return failure();
  plan.bind(tensor, target.buffer);
  return success();
}

Target KernelConverter::createTarget(Value tensor) {
  // Importances and merges are the only readers of log-sum-exps as such.
  auto dividesBy = [&](Operation *user) {
    auto merge = dyn_cast<MergeOp>(user);
    auto importance = dyn_cast<ImportanceOp>(user);
    return (merge && llvm::is_contained(merge.getLses(), tensor)) ||
           (importance && importance.getLse() == tensor);
  };
  auto attend = tensor.getDefiningOp<ScoringOpInterface>();
  if (attend && attend.getOutput() == tensor) {
    StringRef reason;
    if (!isRoundedToBF16(attend))
      reason = "not all readers round their sums of them to bf16";
    else if (countSlices(plan, tensor, getSchedule(attend)) != 1)
      reason = "programs side by side have slices of their channels";
    if (reason.empty()) {
      kScaledRemarks.passed(attend, "results stand in memory in 16 bits");
      return {tensor, plan.createScaledF16(tensor)};
    }
    kScaledRemarks.missed(attend, "results stand in memory in f32: " + reason);
  }
  Target target = {tensor, plan.createBuffer(tensor)};
  if (llvm::any_of(tensor.getUsers(), dividesBy))
    plan.addResidual(tensor);
  return target;
}

LogicalResult KernelConverter::materializeResults(Operation *op) {
  SmallVector<Target> targets;
  for (Value result : op->getResults())
    if (!result.use_empty() && !plan.isMaterialized(result))
      targets.push_back(createTarget(result));
  if (failed(compute(targets)))
    return failure();
  for (const Target &target : targets)
    plan.bind(target.tensor, target.buffer);
  return success();
}

LogicalResult KernelConverter::materialize(Operation *op) {
  auto tiled = dyn_cast<TileOpInterface>(op);
  if (!tiled)
    return success();
  if (auto scheduled = dyn_cast<schedule::ScheduleOpInterface>(op))
    for (Value operand : scheduled.getOperandsInMemory())
      if (failed(materializeTensor(operand)))
        return failure();
  if (tiled.writesResults())
    for (Value result : op->getResults())
      if (!plan.isMaterialized(result))
        plan.allocate(result);
  return tiled.addPrograms(plan);
}

/// Whether the schedule gives the op its own program. The op's results are
/// otherwise computed in the programs of its readers.
static bool hasOwnProgram(Operation *op) {
  auto tiled = dyn_cast<TileOpInterface>(op);
  return tiled && !tiled.writesResults() && getSchedule(op) &&
         getSchedule(op).getProgram() == nsatile::ProgramUse::Own;
}

/// Bytes per token that an attention leaves in memory: of its output, or of its
/// log-sum-exps if nobody reads the output.
static int64_t countTokenBytes(PlanBuilder &plan, ScoringOpInterface op) {
  bool hasOutput = !op.getOutput().use_empty();
  Value result = hasOutput ? op.getOutput() : op.getComputedLse();
  int64_t bytes = hasOutput && isRoundedToBF16(op) ? 2 : 4;
  auto type = cast<NamedTensorType>(result.getType());
  for (Attribute dim : type.getDims().drop_front(2))
    bytes *= plan.getStaticSize(dim).value_or(1);
  return std::max<int64_t>(bytes, 1);
}

/// Reports attentions with results that stand whole in memory.
static void reportWhole(KernelOp kernel, const schedule::ResultSlices &found) {
  for (ScoringOpInterface op : findAttends(kernel)) {
    if (!hasOwnProgram(op))
      continue;
    bool isRagged = cast<NamedTensorType>(op.getQuery().getType()).isRagged();
    if (llvm::is_contained(found.attends, op))
      kSliceRemarks.passed(op, "results stand in memory for some of the "
                               "tokens at a time");
    else
      kSliceRemarks.missed(op, Twine("results stand whole in memory: ") +
                                   (isRagged ? "rows are ragged"
                                    : found.areListsMerged
                                        ? "the states of another attention's "
                                          "lists are merged in slices"
                                        : "a reader needs more than its own "
                                          "token's"));
  }
}

void KernelConverter::cutResults() {
  auto isKeyMajor = [](ScoringOpInterface op) {
    return getSchedule(op).getOrder() == nsatile::LoopOrder::KeyMajor;
  };
  schedule::ResultSlices found =
      schedule::findResultSlices(kernel, {hasOwnProgram, isKeyMajor});
  int64_t mostTokens = INT64_MAX;
  for (ScoringOpInterface op : found.attends) {
    int64_t chunk = getSchedule(op).getChunk();
    if (chunk == 0)
      return;
    mostTokens = std::min(
        mostTokens,
        std::max<int64_t>((chunk << 20) / countTokenBytes(plan, op), 1));
  }
  reportWhole(kernel, found);
  if (found.attends.empty())
    return;
  SmallVector<int64_t> tileTokens;
  for (Operation &op : kernel.getBody().front()) {
    bool isComputed = llvm::any_of(op.getResults(), [&](Value result) {
      return found.values.contains(result);
    });
    // An importance has the tiles of its selection.
    auto scoring = dyn_cast<ScoringOpInterface>(op);
    if (!isComputed || !(isa<TopKOp>(op) || (scoring && scoring.getValue())))
      continue;
    tileTokens.push_back(getSchedule(&op).getTokens());
    if (getSchedule(&op).getSplits() != 1)
      tileTokens.push_back(getSchedule(&op).getMerging().getTokens());
  }
  StateSlices slices =
      createResultSlices(plan, found.dims, mostTokens, tileTokens);
  plan.setResultSlices(std::move(found), slices);
}

LogicalResult KernelConverter::run() {
  if (failed(checkQueryShapes(plan, limits)))
    return failure();
  cutResults();
  SmallVector<Target> computed = bindResults();
  for (Operation &op : kernel.getBody().front())
    if (failed(materialize(&op)) ||
        (hasOwnProgram(&op) && failed(materializeResults(&op))))
      return failure();
  if (failed(compute(computed)))
    return failure();
  plan.finish();
  kernel.erase();
  return success();
}

/// Checks that each tiled op has a schedule with the fields of its tiles.
static LogicalResult checkSchedules(KernelOp kernel) {
  using schedule::Field;
  StringRef name = nsatile::NSATileDialect::getScheduleAttrName();
  for (Operation &op : kernel.getBody().front()) {
    auto tiled = dyn_cast<TileOpInterface>(op);
    SmallVector<Field> sizes =
        tiled ? tiled.getTileFields() : SmallVector<Field>();
    auto found = op.getAttrOfType<nsatile::ScheduleAttr>(name);
    if (sizes.empty() || (found && llvm::all_of(sizes, [&](Field field) {
                            return found.has(field);
                          })))
      continue;
    InFlightDiagnostic error = op.emitOpError("needs ");
    error << name << " = #nsatile.schedule<";
    llvm::interleaveComma(sizes, error, [&](Field field) {
      error << schedule::getInfo(field).name << " = …";
    });
    error << "> to be tiled, found ";
    if (Attribute other = op.getAttr(name))
      error << other;
    else
      error << "none";
    error.attachNote() << "nsa-set-schedule sets it";
    return failure();
  }
  return success();
}

namespace {

struct ConvertNSAToNSATile
    : nsacc::impl::ConvertNSAToNSATileBase<ConvertNSAToNSATile> {
  using ConvertNSAToNSATileBase::ConvertNSAToNSATileBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    ConvertNSAToNSATileBase::getDependentDialects(registry);
    registerTileModels(registry);
  }

  void runOnOperation() override {
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (failed(checkLimits(kernel)) || failed(checkSchedules(kernel)) ||
          failed(KernelConverter(kernel, {mostChannels, mostGroup, mostScores},
                                 multiprocessors)
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

  /// Names larger blocks that have as many tokens.
  std::string adviseBlocks(SelectionType type) {
    int64_t most = mostSelected, block = type.getBlock(), top = type.getTop();
    return llvm::formatv("larger blocks: {0} of {1} tokens are as many as {2} "
                         "of {3}",
                         most, llvm::divideCeil(top * block, most), top, block);
  }

  LogicalResult rejectTop(TopKOp op) {
    SelectionType type = op.getResult().getType();
    InFlightDiagnostic error = op->emitError("a row selects at most ");
    error << mostSelected.getValue() << " blocks on this target, found "
          << type.getTop();
    error.attachNote() << "one program has a row's list as a whole: take a top "
                          "of at most "
                       << mostSelected.getValue()
                       << ", forced blocks included, or " << adviseBlocks(type);
    return error;
  }

  /// Names the op or setting because of which a handed-in list is sorted.
  LogicalResult rejectList(Operation *reader, Value selection) {
    auto type = cast<SelectionType>(selection.getType());
    nsatile::ScheduleAttr schedule = isa<ScoringOpInterface>(reader)
                                         ? getSchedule(reader)
                                         : nsatile::ScheduleAttr();
    bool isUnion = schedule && schedule.getOrder() == nsatile::LoopOrder::Union;
    InFlightDiagnostic error = reader->emitError();
    if (isUnion)
      error << "the exact program, with tokens=" << schedule.getExactTokens()
            << " beside tokens=" << schedule.getTokens() << ",";
    else if (schedule)
      error << "order=" << stringifyLoopOrder(schedule.getOrder());
    else
      error << "'" << reader->getName().stripDialect() << "'";
    error << " sorts each row's blocks, which are at most "
          << mostSelected.getValue() << " on this target, found "
          << type.getTop();
    Diagnostic &note = error.attachNote();
    if (isUnion)
      note << "with tokens=" << schedule.getTokens()
           << " for it, too, order=union takes rows of any length";
    else if (schedule)
      note << "order=union takes rows of any length";
    else
      note << (selection.getDefiningOp<UnionOp>()
                   ? "take the indices of each selection that is united; or "
                     "unite shorter rows, or "
                   : "take the indices that were handed in, which name the "
                     "same blocks unsorted; or hand in shorter rows, or ")
           << adviseBlocks(type);
    return error;
  }

  LogicalResult checkMethod(TopKOp op) {
    auto schedule = op->getAttrOfType<nsatile::ScheduleAttr>(
        nsatile::NSATileDialect::getScheduleAttrName());
    int64_t top = op.getResult().getType().getTop();
    if (!schedule || schedule.getMethod() != nsatile::SelectMethod::Sort ||
        top <= mostSorted)
      return success();
    return op.emitError("method=sort has room for lists of at most ")
           << mostSorted.getValue() << " blocks on this target, found " << top
           << "; set method=threshold";
  }

  /// Checks the length of lists. A row's list is held as a whole where it is
  /// sorted. A handed-in list is sorted for ops that walk it.
  LogicalResult checkSelected(Value value) {
    auto type = dyn_cast<SelectionType>(value.getType());
    if (!type || type.getTop() <= mostSelected)
      return success();
    if (auto topk = value.getDefiningOp<TopKOp>())
      return rejectTop(topk);
    Operation *reader = findOrderedReader(value);
    return reader ? rejectList(reader, value) : success();
  }

  /// Checks windows, selections and lists. Rows that share a selection are held
  /// together.
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
      if (topk && failed(checkMethod(topk)))
        return WalkResult::interrupt();
      for (Value value : op->getResults())
        if (failed(checkSelected(value)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
