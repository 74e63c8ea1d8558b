//===- KeyMajor.cpp - Attention with loops over keys outside --------------===//

#include "Attention.h"
#include "StoredStates.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Steps over one tile of keys: loads, changes and stores the state of `split`
/// where any of the rows sees a key of the tile.
static void step(ProgramBuilder &program, Attention &attention,
                 StoredStates &states, Value split, int64_t keys, Value unit) {
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  const MaskBounds &bounds = attention.getBounds();
  QueryRows rows = attention.getRows();
  SmallVector<KeyBounds> seen = bounds.getBounds(rows);
  KeyTiling tiling = {.width = keys, .origin = m.constant(0)};
  nsatile::FoldDomain domain = {.ranges = bounds.getRanges(seen, tiling),
                                .at = unit};
  Value first = m.mul(unit, keys);
  auto branch = scf::IfOp::create(
      builder, program.getLoc(), bounds.isSeen(seen, first, m.add(first, keys)),
      /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  states.store(split, attention.getFold().fold(rows, domain, states.load(split),
                                               [&](Value number, ValueRange) {
                                                 return tiling.getTile(
                                                     program.math(), number);
                                               }));
}

void nsacc::buildKeyMajorProgram(PlanBuilder &plan, const QueryShape &shape,
                                 ScoringOpInterface op) {
  nsatile::ScheduleAttr schedule = getSchedule(op);
  ProgramBuilder program(plan, op.getLoc(), "partial", schedule);
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  int64_t tokens = schedule.getTokens(), keys = schedule.getKeys(),
          splits = schedule.getSplits();
  Value split = program.programId(0), keyHead = program.programId(1),
        batchRow = program.programId(2);

  auto forEach = [&](Value begin, Value end,
                     llvm::function_ref<void(Value)> body) {
    scf::ForOp::create(builder, program.getLoc(), begin, end, m.constant(1),
                       ValueRange(),
                       [&](OpBuilder &, Location, Value index, ValueRange) {
                         body(index);
                         scf::YieldOp::create(builder, program.getLoc());
                       });
  };
  // Walks the query tiles that have one of the tokens [low, high).
  auto forEachTile =
      [&](Value low, Value high,
          llvm::function_ref<void(Attention &, const QueryTile &)> body) {
        forEach(m.floorDiv(low, tokens), m.ceilDiv(high, tokens),
                [&](Value number) {
                  QueryTile tile =
                      createQueryTile(program, shape.dims, tokens, shape.group,
                                      {.tokenTile = number,
                                       .keyHead = keyHead,
                                       .batchRow = batchRow});
                  Attention attention(program, tile, op, schedule,
                                      needsOnlyLse(op));
                  body(attention, tile);
                });
      };

  QueryTile row =
      getBatchRowTile(program, shape.dims, shape.group, keyHead, batchRow);
  PartialStates partial;
  forEachTile(m.constant(0), row.numTokens,
              [&](Attention &attention, const QueryTile &tile) {
                AttendFold &fold = attention.getFold();
                RowState state = fold.getInitialState(tile.getRows());
                partial = allocatePartialStates(plan, shape.dims,
                                                builder.getIndexAttr(splits),
                                                state, fold.getAllChannels());
                StoredStates(program, tile, fold, partial).store(split, state);
              });
  // Each split is a range of neighbouring tiles of keys.
  MaskBounds bounds(program, row, op, schedule);
  Value units = m.ceilDiv(bounds.getKeyRow().size, keys);
  Value share = m.ceilDiv(units, splits);
  Value first = m.mul(split, share);
  forEach(first, m.min(m.add(first, share), units), [&](Value unit) {
    Value firstKey = m.mul(unit, keys);
    MaskBounds::Queries queries =
        bounds.getQueries(firstKey, m.add(firstKey, keys - 1));
    forEachTile(queries.low, queries.high,
                [&](Attention &attention, const QueryTile &tile) {
                  StoredStates states(program, tile, attention.getFold(),
                                      partial);
                  step(program, attention, states, split, keys, unit);
                });
  });
  plan.setPartialStates(op, partial);
  program.setOps(op.getOperation());
  program.launch(plan.math().constant(splits), plan.getSize(shape.keyHead),
                 getNumBatchRows(plan, shape));
}
