//===- SplitKeys.cpp - Attention over parts of the keys, side by side -----===//

#include "Attention.h"
#include "StoredStates.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "nsacc/Schedule/PartCounts.h"
#include <numeric>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Number of parts of the keys, which a call's sizes tell.
static Value countSplits(PlanBuilder &plan, const QueryShape &shape,
                         ScoringOpInterface op) {
  nsatile::ScheduleAttr schedule = getSchedule(op);
  IndexMath m = plan.math();
  Value tiles = m.mul(plan.getSize(shape.keyHead),
                      countHeadParts(shape, schedule.getHeads()));
  for (Value size : getTileSizes(plan, shape, schedule.getTokens()))
    tiles = m.mul(tiles, size);
  Value walked = schedule::countWalkedKeys(
      m, op, shape, schedule.getTokens(),
      [&](Attribute dim) { return plan.getSize(dim); });
  return schedule::countSplits(m, tiles, walked, schedule.getKeys(),
                               plan.getMultiprocessors() *
                                   schedule.getBlocksPerSM());
}

static OpFoldResult multiply(PlanBuilder &plan, OpFoldResult number,
                             int64_t factor) {
  if (std::optional<int64_t> known = getConstantIntValue(number))
    return plan.getBuilder().getIndexAttr(*known * factor);
  return plan.math().mul(cast<Value>(number), factor);
}

/// Builds the program of a query tile and a part, which stores a state. The
/// first such program creates the buffers.
static FailureOr<nsatile::ProgramOp> buildPartProgram(PlanBuilder &plan,
                                                      const QueryShape &shape,
                                                      ScoringOpInterface op,
                                                      PartialStates &partial) {
  nsatile::ScheduleAttr fast = getSchedule(op), schedule = plan.getSchedule(op);
  bool onlyLse = needsOnlyLse(op);
  ProgramBuilder program(plan, op.getLoc(), "partial", schedule);
  // An exact program's tiles are parts of the tiles with the marks that it
  // reads.
  QueryGrid grid = {.shape = shape,
                    .tokens = schedule.getTokens(),
                    .whole = fast.getTokens(),
                    .headParts = countHeadParts(shape, fast.getHeads()),
                    .parts = partial.splits,
                    .stateSlices = plan.findResultSlices(op->getResult(0))};
  IndexMath m = program.math();
  int64_t slices = onlyLse ? 1 : countSlices(plan, op.getOutput(), fast);
  if (slices > 1)
    grid.parts = multiply(plan, partial.splits, slices);
  QueryPlace place = getPlace(program, grid);
  Value number = place.part;
  if (slices > 1)
    number = m.divideUnsigned(number, m.constant(slices));
  // Both programs cut keys at the same places, since only some rows of some
  // parts are repaired.
  KeyPart part = {.number = number,
                  .count = program.importNumber(partial.splits),
                  .tokens = fast.getTokens(),
                  .keys = std::lcm(fast.getKeys(),
                                   std::max<int64_t>(fast.getExactKeys(), 1))};
  QueryTile tile = createQueryTile(program, shape.dims, grid.tokens,
                                   shape.group / grid.headParts, place);
  if (slices > 1)
    tile.slice =
        getSlice(program, m.sub(place.part, m.mul(number, slices)), fast);
  Attention attention(program, tile, op, schedule, onlyLse);
  RowState state = attention.walk(attention.getRows(), part);
  if (partial.buffers.empty())
    partial = allocatePartialStates(plan, shape.dims, partial.splits, state,
                                    attention.getFold().getAllChannels());
  StoredStates(program, tile, attention.getFold(), partial)
      .store(part.number, state);
  program.setOps(op.getOperation());
  launch(program, grid);
  return program.getProgram();
}

LogicalResult nsacc::buildSplitProgram(PlanBuilder &plan,
                                       const QueryShape &shape,
                                       ScoringOpInterface op) {
  nsatile::ScheduleAttr schedule = getSchedule(op);
  if (op.getSelection() && schedule.getOrder() != nsatile::LoopOrder::Union)
    return op.emitError("'splits' cuts ranges of keys or the lists of "
                        "order=union, and order=")
           << stringifyLoopOrder(schedule.getOrder()) << " has neither";
  // Lists of other tiles would be cut at other places.
  if (op.getSelection() && schedule.getExactTokens() > 0 &&
      schedule.getExactTokens() != schedule.getTokens())
    return op.emitError("'splits' cuts the lists of tiles of ")
           << schedule.getTokens()
           << " tokens, and its exact program, of tokens="
           << schedule.getExactTokens() << " has other lists";
  PartialStates partial;
  if (schedule.getSplits() > 0)
    partial.splits = plan.getBuilder().getIndexAttr(schedule.getSplits());
  else
    partial.splits = countSplits(plan, shape, op);
  LogicalResult built = plan.buildWithExact(
      op, [&] { return buildPartProgram(plan, shape, op, partial); });
  plan.setPartialStates(op, partial);
  return built;
}
