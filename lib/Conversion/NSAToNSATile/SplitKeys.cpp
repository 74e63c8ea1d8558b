//===- SplitKeys.cpp - Attention over parts of the keys, side by side -----===//

#include "Attention.h"
#include "NSATile/Transforms/Passes.h"
#include "StoredStates.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <numeric>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Most keys that a query sees in intervals that move along with it. None where
/// an interval doesn't move, or has a size that isn't known.
static std::optional<int64_t> getWidth(AttendOp op) {
  MaskInfo mask = analyzeMask(op);
  int64_t width = 0;
  for (const KeyInterval &interval : mask.intervals) {
    std::optional<int64_t> least;
    for (AffineExpr lower : interval.lower)
      for (AffineExpr upper : interval.upper)
        if (auto size = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(
                upper - lower, /*numDims=*/1, mask.symbols.size())))
          least = std::min(least.value_or(size.getValue()), size.getValue());
    if (!least)
      return std::nullopt;
    width += std::max<int64_t>(*least, 0);
  }
  return width;
}

/// Most keys that a query tile goes over, as far as sizes tell.
static Value countKeys(PlanBuilder &plan, const QueryShape &shape,
                       AttendOp op) {
  int64_t tokens = getSchedule(op).getTokens();
  IndexMath m = plan.math();
  auto keys = cast<NamedTensorType>(op.getKey().getType());
  Value all = plan.getSize(keys.getDims()[keys.isRagged() ? 0 : 1]);
  if (Value selection = op.getSelection()) {
    auto type = cast<SelectionType>(selection.getType());
    TileLists lists(type, shape.dims, tokens, shape.group);
    // Few queries don't fill a tile.
    Value there = m.min(plan.getSize(shape.dims.token), m.constant(tokens));
    Value count = m.ceilDiv(m.mul(there, lists.count), tokens);
    return m.min(all, m.mul(m.mul(count, static_cast<int64_t>(type.getTop())),
                            static_cast<int64_t>(type.getBlock())));
  }
  if (std::optional<int64_t> width = getWidth(op))
    return m.min(all, m.constant(*width + tokens));
  return all;
}

/// Number of parts of the keys: as many as blocks that run at once have room
/// for. If that leaves more than an eighth of the blocks idle, it is as many as
/// two rounds have room for, at least three: two parts for each tile take no
/// less time than one. A part is long enough to be worth its fixed cost. One
/// program merges all parts, and a part adds as much to its time as 8 keys to a
/// part's own.
static Value countSplits(PlanBuilder &plan, const QueryShape &shape,
                         AttendOp op) {
  constexpr int64_t most = 64, least = 3, leastTiles = 2, mergedKeys = 8,
                    mostIdle = 8;
  nsatile::ScheduleAttr schedule = getSchedule(op);
  IndexMath m = plan.math();
  Value one = m.constant(1);
  Value tiles = m.mul(plan.getSize(shape.keyHead),
                      countHeadParts(shape, schedule.getHeads()));
  for (Value size : getTileSizes(plan, shape, schedule.getTokens()))
    tiles = m.mul(tiles, size);
  tiles = m.max(tiles, one);
  int64_t blocks = plan.getMultiprocessors() * schedule.getBlocksPerSM();
  Value inOne = m.floorDiv(m.constant(blocks), tiles);
  Value inTwo = m.floorDiv(m.constant(2 * blocks), tiles);
  Value busy = m.mul(m.mul(inOne, tiles), mostIdle);
  Value splits =
      m.select(m.less(busy, m.constant((mostIdle - 1) * blocks)),
               m.select(m.less(inTwo, m.constant(least)), one, inTwo), inOne);

  Value walked = countKeys(plan, shape, op);
  Value merged = m.constant(2);
  for (int64_t count = 4; count <= most; count *= 2)
    merged = m.select(m.less(walked, m.constant(count * count * mergedKeys)),
                      merged, m.constant(count));
  Value parts = m.ceilDiv(walked, leastTiles * schedule.getKeys());
  return m.clamp(splits, one, m.max(m.min(parts, merged), one));
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
                                                      AttendOp op,
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
                                       const QueryShape &shape, AttendOp op) {
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
