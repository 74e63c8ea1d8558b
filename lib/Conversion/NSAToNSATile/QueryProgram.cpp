//===- QueryProgram.cpp - Programs that run over query tiles --------------===//

#include "QueryProgram.h"
#include "Evaluator.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/NSATileUses.h"
#include "ScaledF16.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using schedule::ProgramRole;

bool nsacc::multipliesIn16Bits(ScoringOpInterface op) {
  auto has16Bits = [](Value tensor) {
    Type type = cast<NamedTensorType>(tensor.getType()).getElementType();
    return type.getIntOrFloatBitWidth() == 16;
  };
  return has16Bits(op.getQuery()) && has16Bits(op.getKey()) &&
         (!op.getValue() || has16Bits(op.getValue()));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static Attribute getHeadDim(Value keys) {
  auto type = cast<NamedTensorType>(keys.getType());
  return type.getDims()[type.isRagged() ? 1 : 2];
}

/// Returns the size of `dim`, which compiled programs need to know.
static FailureOr<int64_t> requireSize(PlanBuilder &plan, Operation *op,
                                      Attribute dim) {
  if (std::optional<int64_t> size = plan.getStaticSize(dim))
    return *size;
  InFlightDiagnostic error = op->emitOpError("needs the size of dimension '")
                             << toString(dim) << "' to be compiled";
  error.attachNote() << "fix it, for example with --dims " << toString(dim)
                     << "=64";
  return error;
}

/// Checks the size of selected blocks.
static LogicalResult checkSelection(ScoringOpInterface op) {
  constexpr int64_t most = 1024;
  if (!op.getValue() || !op.getSelection())
    return success();
  int64_t block = cast<SelectionType>(op.getSelection().getType()).getBlock();
  if (block <= most)
    return success();
  return op.emitError("attention in selected blocks of ")
         << block << " tokens isn't compiled: blocks have at most " << most
         << "; select several smaller ones";
}

/// Checks that a tile's scores fit the registers, before all of them are
/// written out. Marks the op if they don't.
static LogicalResult checkTile(ScoringOpInterface op, ProgramRole program,
                               int64_t tokens, int64_t group, int64_t keys,
                               int64_t mostScores) {
  if (group == 0 || keys == 0 || tokens <= mostScores / group / keys)
    return success();
  bool isMain = program == ProgramRole::Main;
  StringRef name = isMain ? "" : schedule::getName(program);
  op->setAttr(kTooLargeAttrName, StringAttr::get(op->getContext(), name));
  InFlightDiagnostic error = op.emitError("a tile of ");
  if (!isMain)
    error << "the " << name << " program, of ";
  error << tokens << " tokens, " << group << " query heads and " << keys
        << " keys has " << tokens * group * keys
        << " scores, and a block of the target has room for " << mostScores;
  error.attachNote() << "set fewer tokens or keys; where neither is set, both "
                        "are chosen to fit";
  return failure();
}

static LogicalResult checkTiles(ScoringOpInterface op, int64_t group,
                                int64_t mostScores) {
  nsatile::ScheduleAttr schedule = getSchedule(op);
  return success(
      succeeded(checkTile(op, ProgramRole::Main, schedule.getTokens(), group,
                          schedule.getKeys(), mostScores)) &&
      succeeded(checkTile(op, ProgramRole::Exact, schedule.getExactTokens(),
                          group, schedule.getExactKeys(), mostScores)));
}

static LogicalResult checkShape(PlanBuilder &plan, ScoringOpInterface op,
                                const ShapeLimits &limits) {
  if (failed(checkSelection(op)))
    return failure();
  auto query = cast<NamedTensorType>(op.getQuery().getType());
  FailureOr<int64_t> queryHeads =
      requireSize(plan, op, QueryDims::get(query).head);
  FailureOr<int64_t> keyHeads = requireSize(plan, op, getHeadDim(op.getKey()));
  if (failed(queryHeads) || failed(keyHeads))
    return failure();
  SmallVector<Value> tensors = {op.getQuery(), op.getKey()};
  if (op.getValue())
    tensors.push_back(op.getValue());
  for (Value tensor : tensors) {
    Attribute dim = cast<NamedTensorType>(tensor.getType()).getDims().back();
    FailureOr<int64_t> channels = requireSize(plan, op, dim);
    if (failed(channels))
      return failure();
    if (*channels <= limits.channels)
      continue;
    InFlightDiagnostic error = op.emitError("heads are at most ");
    error << limits.channels << " wide on this target, found ";
    if (!isa<IntegerAttr>(dim))
      error << toString(dim) << " = ";
    return error << *channels;
  }
  if (*keyHeads == 0 ? *queryHeads != 0 : *queryHeads % *keyHeads != 0)
    return op.emitError("expected a number of query heads that is a multiple "
                        "of the number of key heads, found ")
           << *queryHeads << " and " << *keyHeads;
  if (*keyHeads != 0 && *queryHeads / *keyHeads > limits.group)
    return op.emitError("at most ")
           << limits.group << " query heads share a key head on this target, "
           << "found " << *queryHeads << " and " << *keyHeads;
  int64_t group = *keyHeads == 0 ? 0 : *queryHeads / *keyHeads;
  if (int64_t heads = getSchedule(op).getHeads())
    group = std::min(group, heads);
  return checkTiles(op, group, limits.scores);
}

LogicalResult nsacc::checkQueryShapes(PlanBuilder &plan,
                                      const ShapeLimits &limits) {
  WalkResult result = plan.getKernel().walk([&](ScoringOpInterface op) {
    return failed(checkShape(plan, op, limits)) ? WalkResult::interrupt()
                                                : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

FoundShape nsacc::findQueryShape(PlanBuilder &plan, Value tensor) {
  return findQueryShape(plan.getKernel(), tensor, [&](Value value) {
    return plan.isMaterialized(value);
  });
}

FailureOr<QueryShape> nsacc::getSelectionShape(PlanBuilder &plan, TopKOp op) {
  FoundShape found = findQueryShape(plan, op.getImportance());
  if (!found.others.empty()) {
    InFlightDiagnostic error = found.others.front()->emitError(
        "importances of attentions of different query or key heads aren't "
        "compiled in one selection yet");
    error.attachNote(op.getLoc()) << "the selection stands here";
    return error;
  }
  if (found.shape)
    return *found.shape;
  // Scores were handed in: every head selects for itself.
  auto type = cast<NamedTensorType>(op.getImportance().getType());
  ArrayRef<Attribute> dims = type.getDims();
  QueryShape shape;
  shape.dims.head = shape.keyHead = dims.end()[-2];
  shape.dims.token = dims.end()[-3];
  if (!type.isRagged())
    shape.dims.batch = dims.front();
  if (failed(requireSize(plan, op, shape.keyHead)))
    return failure();
  return shape;
}

/// Whether tensors are computed from attentions that all stand in memory as
/// states.
static bool onlyMerges(PlanBuilder &plan, ArrayRef<Target> targets) {
  bool merges = false;
  for (const Target &target : targets) {
    WalkResult result = nsatile::walkSources(target.tensor, [&](Value value) {
      if (value != target.tensor && plan.isMaterialized(value))
        return WalkResult::skip();
      auto attend = value.getDefiningOp<ScoringOpInterface>();
      if (!attend || !attend.getValue())
        return WalkResult::advance();
      merges = true;
      return plan.getPartialStates(attend) ? WalkResult::skip()
                                           : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return false;
  }
  return merges;
}

/// Whether some attention that tensors are computed from stands in memory as
/// states of list entries.
static bool readsListedStates(PlanBuilder &plan, ArrayRef<Target> targets) {
  auto isListed = [&](Value value) {
    if (plan.isMaterialized(value))
      return WalkResult::skip();
    auto attend = value.getDefiningOp<ScoringOpInterface>();
    const PartialStates *partial =
        attend ? plan.getPartialStates(attend) : nullptr;
    return partial && partial->selection ? WalkResult::interrupt()
                                         : WalkResult::advance();
  };
  return llvm::any_of(targets, [&](const Target &target) {
    return nsatile::walkSources(target.tensor, isListed).wasInterrupted();
  });
}

/// Slices of states or results that tensors are computed from. Null where there
/// are none, or where the computing program can't stand in their loop.
static StateSlices *findStateSlices(PlanBuilder &plan, ArrayRef<Target> targets,
                                    int64_t tileTokens) {
  for (const Target &target : targets)
    if (StateSlices *slices = plan.findResultSlices(target.tensor))
      return slices;
  StateSlices *slices = plan.getStateSlices();
  bool isReady = slices && canMergeNext(*slices, tileTokens);
  return isReady && readsListedStates(plan, targets) ? slices : nullptr;
}

/// Stores the residual of a log-sum-exp, where other programs need more than
/// f32 holds.
static LogicalResult storeResidual(Evaluator &evaluator,
                                   ProgramBuilder &program,
                                   const QueryTile &tile, Value tensor) {
  Value buffer = program.getPlan().getResidual(tensor);
  if (!buffer)
    return success();
  FailureOr<Normalizer> normalizer = evaluator.evaluateNormalizer(tensor);
  if (failed(normalizer))
    return failure();
  auto type = cast<NamedTensorType>(tensor.getType());
  TileMath math = evaluator.getMath(type);
  storeQueryTile(program, getTileInBuffer(program, tile, tensor),
                 normalizer->residual, type, program.import(buffer), math);
  return success();
}

/// Stores a tensor in its form in memory.
static LogicalResult storeTarget(Evaluator &evaluator, ProgramBuilder &program,
                                 const QueryTile &tile, const Target &target) {
  FailureOr<Tile> value = evaluator.evaluate(target.tensor);
  if (failed(value))
    return failure();
  auto type = cast<NamedTensorType>(target.tensor.getType());
  TileMath math = evaluator.getMath(type);
  Value scales = program.getPlan().getScale(target.tensor);
  QueryTile stored = getTileInBuffer(program, tile, target.tensor);
  if (!scales) {
    storeQueryTile(program, stored, *value, type, program.import(target.buffer),
                   math);
    return storeResidual(evaluator, program, tile, target.tensor);
  }
  ScaledF16 scaled = packScaledF16(math, math.toMatrix(*value));
  storeQueryTile(program, stored, {scaled.elements, TileAxes::Matrix}, type,
                 program.import(target.buffer), math);
  NamedTensorType rows = getScaleType(type);
  TileMath rowMath = evaluator.getMath(rows);
  storeQueryTile(program, stored, {scaled.scale, TileAxes::Row}, rows,
                 program.import(scales), rowMath);
  return success();
}

FailureOr<nsatile::ProgramOp>
nsacc::buildQueryProgram(PlanBuilder &plan, const FoundShape &found,
                         ArrayRef<Target> targets) {
  const QueryShape &shape = *found.shape;
  nsatile::ScheduleAttr main = getSchedule(found.first);
  bool merges = onlyMerges(plan, targets);
  nsatile::ScheduleAttr schedule =
      merges ? main.getMerging() : plan.getSchedule(found.first);
  // Tiles of an exact program are parts of the tiles with the marks that it
  // reads.
  QueryGrid grid = {shape, schedule.getTokens(),
                    merges ? schedule.getTokens() : main.getTokens()};
  int64_t slices = 1;
  for (const Target &target : targets)
    slices = std::max(slices, countSlices(plan, target.tensor, schedule));
  if (slices > 1)
    grid.parts = plan.getBuilder().getIndexAttr(slices);
  grid.stateSlices = findStateSlices(plan, targets, grid.tokens);
  // States of list entries stand in memory by whole key heads.
  if (!merges || !readsListedStates(plan, targets))
    grid.headParts =
        countHeadParts(shape, merges ? main.getMergeHeads() : main.getHeads());
  ProgramBuilder program(plan, targets.front().tensor.getLoc(), "attend",
                         schedule);
  QueryPlace place = getPlace(program, grid);
  QueryTile tile = createQueryTile(program, shape.dims, grid.tokens,
                                   shape.group / grid.headParts, place);
  if (slices > 1)
    tile.slice = getSlice(program, place.part, schedule);
  Evaluator evaluator(program, tile, schedule);
  for (const Target &target : targets)
    if (failed(storeTarget(evaluator, program, tile, target)))
      return failure();
  program.setOps(evaluator.getOps());
  // Products behind the states are in other programs.
  if (merges && llvm::all_of(evaluator.getOps(), [](Operation *op) {
        return multipliesIn16Bits(cast<ScoringOpInterface>(op));
      }))
    program.getProgram()->setAttr(nsatile::kOfRoundedAttrName,
                                  program.getBuilder().getUnitAttr());
  launch(program, grid);
  return program.getProgram();
}

LogicalResult nsacc::materializeLse(PlanBuilder &plan, const QueryShape &shape,
                                    Value lse, nsatile::ScheduleAttr schedule) {
  ProgramBuilder program(plan, lse.getLoc(), "lse", schedule);
  QueryGrid grid = {.shape = shape,
                    .tokens = schedule.getTokens(),
                    .stateSlices = plan.findResultSlices(lse)};
  QueryTile tile = createQueryTile(program, shape.dims, grid.tokens,
                                   shape.group, getPlace(program, grid));
  Evaluator evaluator(program, tile, schedule);
  FailureOr<Tile> rows = evaluator.evaluateLse(lse);
  if (failed(rows))
    return failure();
  auto type = cast<NamedTensorType>(lse.getType());
  TileMath math = evaluator.getMath(type);
  plan.addResidual(lse);
  if (failed(storeResidual(evaluator, program, tile, lse)))
    return failure();
  Value buffer = plan.allocate(lse);
  storeQueryTile(program, tile, *rows, type, program.import(buffer), math);
  launch(program, grid);
  return success();
}
