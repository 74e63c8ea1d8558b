//===- Attention.cpp - One attention of a query tile ----------------------===//

#include "Attention.h"
#include "StoredStates.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

Attention::Attention(ProgramBuilder &program, const QueryTile &tile,
                     ScoringOpInterface op, nsatile::ScheduleAttr schedule,
                     bool onlyLse)
    : program(program), tile(tile), schedule(schedule),
      scorer(program, tile, op, schedule),
      fold(AttendFold::create(program, tile, scorer, op, onlyLse)) {}

RowState Attention::walk(const QueryRows &rows, std::optional<KeyPart> part) {
  auto run = [&](auto walk) { return walk.run(rows); };
  Value selection = fold->getOp().getSelection();
  if (!selection)
    return run(RangeWalk(part, program, tile, scorer, *fold, schedule));
  if (const UnionLists *lists =
          program.getPlan().getUnionLists(selection, tile.tokens))
    return run(UnionWalk(*lists, part, selection, program, tile, scorer, *fold,
                         schedule));
  if (schedule.getOrder() == nsatile::LoopOrder::BlockMajor)
    return run(
        BlockMajorWalk(selection, program, tile, scorer, *fold, schedule));
  return run(ListWalk(selection, program, tile, scorer, *fold, schedule));
}

RowState Attention::walkBlock(Value block, Value exists) {
  auto type = cast<SelectionType>(fold->getOp().getSelection().getType());
  return OneBlockWalk(type, block, exists, program, tile, scorer, *fold,
                      schedule)
      .run(getRows());
}

bool nsacc::needsOnlyLse(ScoringOpInterface op) {
  return op.isSoftmax() && op.getOutput().use_empty();
}

AttendTiles nsacc::attendTile(ProgramBuilder &program, const QueryTile &tile,
                              ScoringOpInterface op,
                              nsatile::ScheduleAttr schedule, bool onlyLse) {
  Attention attention(program, tile, op, schedule, onlyLse);
  PlanBuilder &plan = program.getPlan();
  const PartialStates *partial = plan.getPartialStates(op);
  if (!partial) {
    QueryRows rows = attention.getRows();
    return attention.getFold().finish(rows, attention.walk(rows));
  }
  StateSlices *slices = partial->selection ? plan.getStateSlices() : nullptr;
  if (slices && !tile.stateSlices)
    joinSlices(plan, *slices);
  RowState state =
      StoredStates(program, tile, attention.getFold(), *partial).merge();
  return attention.getFold().finish(attention.getRows(), state);
}
