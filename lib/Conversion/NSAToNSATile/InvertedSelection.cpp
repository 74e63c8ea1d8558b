//===- InvertedSelection.cpp - Attention block by block of a selection ----===//

#include "Attention.h"
#include "Inversion.h"
#include "NSA/Analysis/Rounding.h"
#include "StoredStates.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

namespace {

/// Bytes of one row's state.
int64_t getBytes(ArrayRef<Value> state) {
  int64_t bytes = 0;
  for (Value part : state) {
    auto type = cast<RankedTensorType>(part.getType());
    int64_t channels = type.getRank() == 2 ? type.getDimSize(1) : 1;
    bytes += channels * type.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

/// Allocates a buffer for each tensor of a state, for all list entries or the
/// entries of a slice.
PartialStates allocateStates(PlanBuilder &plan, const QueryShape &shape,
                             int64_t group, ScoringOpInterface op,
                             ArrayRef<Value> state) {
  Value selection = op.getSelection();
  int64_t top = cast<SelectionType>(selection.getType()).getTop();
  IndexMath m = plan.math();
  PartialStates partial = {.buffers = {},
                           .splits = plan.getBuilder().getIndexAttr(top),
                           .selection = selection,
                           .areScaled = isRoundedToBF16(op)};
  SmallVector<Value> sizes;
  bool isAlone = group == 1;
  if (StateSlices *slices = plan.getStateSlices()) {
    slices->setBytes(getBytes(state) * top * shape.group);
    if (shape.dims.batch)
      sizes.push_back(slices->rows);
    sizes.append({isAlone ? slices->queryHeads : slices->heads,
                  m.mul(slices->tokens, top)});
  } else {
    if (shape.dims.batch)
      sizes.push_back(plan.getSize(shape.dims.batch));
    sizes.append({plan.getSize(isAlone ? shape.dims.head : shape.keyHead),
                  m.mul(plan.getSize(shape.dims.token), top)});
  }
  for (Value part : state) {
    SmallVector<int64_t> dims(sizes.size(), ShapedType::kDynamic);
    dims.push_back(group);
    auto type = cast<RankedTensorType>(part.getType());
    if (type.getRank() == 2)
      dims.push_back(type.getDimSize(1));
    partial.buffers.push_back(
        plan.allocate(MemRefType::get(dims, type.getElementType()), sizes));
  }
  return partial;
}

/// Builds the program of a tile of a block's list. The first such program
/// creates the buffers for states.
FailureOr<nsatile::ProgramOp> buildBlockProgram(PlanBuilder &plan,
                                                const QueryShape &shape,
                                                ScoringOpInterface op,
                                                PartialStates &partial) {
  nsatile::ScheduleAttr fast = getSchedule(op), schedule = plan.getSchedule(op);
  Value selection = op.getSelection();
  auto type = cast<SelectionType>(selection.getType());
  bool perQueryHead = isPerQueryHead(type, shape.dims, shape.group);
  // Rows of heads with separate lists count as tokens.
  int64_t group = perQueryHead ? 1 : shape.group;
  auto getTokens = [&](nsatile::ScheduleAttr each) {
    return each.getTokens() * shape.group / group;
  };
  int64_t tokens = getTokens(schedule), whole = getTokens(fast);
  Inversion inversion(plan, shape, selection, whole);
  const InvertedLists *lists = plan.getInvertedLists(selection, whole);
  if (!lists) {
    plan.setInvertedLists(selection, whole, inversion.build());
    lists = plan.getInvertedLists(selection, whole);
  }

  ProgramBuilder program(plan, op.getLoc(), "partial", schedule);
  IndexMath m = program.math();
  // An exact program's tiles are parts of the tiles with the marks that it
  // reads.
  int64_t parts = whole / tokens;
  Value id = program.programId(0), head = program.programId(1);
  StateSlices *slices = plan.getStateSlices();
  if (slices)
    head = m.add(head, program.import(perQueryHead ? slices->firstQueryHead
                                                   : slices->firstHead));
  Value number = m.floorDiv(id, parts);
  bool isShared = plan.getStaticSize(type.getDims().back()) == 1;
  Inversion::BlockTile found = inversion.getTile(
      program, *lists, number, isShared ? m.constant(0) : head);
  Value skipped = m.mul(m.sub(id, m.mul(number, parts)), tokens);
  Value first = m.min(m.add(found.place.back(), skipped), found.end);
  Value exists = m.less(first, found.end);
  found.place.back() = first;
  QueryPlace place = {.tokenTile = id,
                      .keyHead = head,
                      .batchRow = found.block.batchRow,
                      .stateSlices = slices};
  if (perQueryHead) {
    place.keyHead = m.floorDiv(head, shape.group);
    place.firstHead = head;
  }
  ListedTokens listed = {.entries = program.import(lists->entries),
                         .place = found.place,
                         .end = found.end,
                         .top = static_cast<int64_t>(type.getTop()),
                         .firstToken = found.firstToken,
                         .endToken = found.endToken};
  QueryTile tile = createListedTile(program, shape.dims, tokens, group, place,
                                    std::move(listed));
  Attention attention(program, tile, op, schedule, needsOnlyLse(op));
  RowState state = attention.walkBlock(found.block.number, exists);
  if (isRoundedToBF16(op))
    state = scaleState(program, state);
  if (partial.buffers.empty())
    partial = allocateStates(plan, shape, group, op, state);
  for (auto [buffer, rows] : llvm::zip_equal(partial.buffers, state))
    storeListedState(program, tile, rows, program.import(buffer));
  program.setOps(op.getOperation());
  Value x = plan.math().mul(lists->tiles, parts);
  if (slices)
    launch(program, *slices, x,
           perQueryHead ? slices->queryHeads : slices->heads, /*z=*/{});
  else
    program.launch(x,
                   plan.getSize(perQueryHead ? shape.dims.head : shape.keyHead),
                   inversion.getGridRows());
  return program.getProgram();
}

} // namespace

/// Whether no other attention is inverted. States of two such attentions would
/// have different slices, which one program can't merge.
static bool isOnlyInverted(ScoringOpInterface op) {
  return llvm::count_if(findAttends(op->getParentOfType<KernelOp>()),
                        [](ScoringOpInterface each) {
                          return each.getSelection() &&
                                 getSchedule(each).getOrder() ==
                                     nsatile::LoopOrder::KeyMajor;
                        }) == 1;
}

/// Numbers of tokens of the query tiles that may merge states.
static SmallVector<int64_t> getTileTokens(KernelOp kernel) {
  SmallVector<ScoringOpInterface> attends = findAttends(kernel);
  SmallVector<int64_t> tokens;
  for (ScoringOpInterface attend : attends) {
    nsatile::ScheduleAttr schedule = getSchedule(attend);
    tokens.push_back(schedule.getMerging().getTokens());
    // The program may compute another attention, too.
    if (attends.size() > 1)
      tokens.push_back(schedule.getTokens());
  }
  return tokens;
}

LogicalResult nsacc::buildInvertedPrograms(PlanBuilder &plan,
                                           const QueryShape &shape,
                                           ScoringOpInterface op) {
  int64_t chunk = getSchedule(op).getChunk();
  if (chunk > 0 && isOnlyInverted(op))
    plan.setStateSlices(createSlices(plan, shape, chunk << 20,
                                     getTileTokens(plan.getKernel())));
  PartialStates partial;
  LogicalResult built = plan.buildWithExact(
      op, [&] { return buildBlockProgram(plan, shape, op, partial); });
  plan.setPartialStates(op, partial);
  return built;
}
