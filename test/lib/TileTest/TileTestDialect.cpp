//===- TileTestDialect.cpp - An op that tiles itself ----------------------===//

#include "TileTestDialect.h"
#include "Chooser.h"
#include "Evaluator.h"
#include "KeyWalk.h"
#include "NSA/IR/NSADialect.h"
#include "NSA/IR/NSAOps.h"
#include "QueryGrid.h"
#include "QueryWalk.h"
#include "TileOpInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::tiletest;

#include "TileTestDialect.h.inc"
#define GET_OP_CLASSES
#include "TileTestOps.h.inc"

#include "TileTestDialect.cpp.inc"
#define GET_OP_CLASSES
#include "TileTestOps.cpp.inc"

void TileTestDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "TileTestOps.cpp.inc"
      >();
}

void tiletest::registerTileTestDialect(DialectRegistry &registry) {
  registry.insert<TileTestDialect>();
}

SmallVector<Value> SumVisibleOp::getOperandsInMemory() {
  return {getQuery(), getKey()};
}

std::vector<schedule::Field> SumVisibleOp::getFields() {
  using schedule::Field;
  return {Field::Tokens, Field::Keys, Field::Warps, Field::Stages,
          Field::Program};
}

/// Chooses tiles as for any op with scores, with keys of its own: sums have one
/// column, and leave registers for more scores.
llvm::Error SumVisibleOp::choose(schedule::Chooser &chooser,
                                 schedule::OpChoice &choice) {
  if (llvm::Error error = schedule::chooseDefault(chooser, choice))
    return error;
  chooser.put(choice, schedule::Field::Keys, 48, "sums have one column");
  return llvm::Error::success();
}

SmallVector<schedule::Field> SumVisibleOp::getTileFields() {
  return {schedule::Field::Tokens, schedule::Field::Keys};
}

/// Sums the scores of the visible pairs of a tile along a dimension.
static Value sumScores(ProgramBuilder &program, Scorer &scorer,
                       const QueryRows &queries, const KeyTile &keys,
                       int64_t dim, Type sums) {
  Value scores = scorer
                     .scoreVisible(queries, keys, /*rawScale=*/false,
                                   /*counts=*/false)
                     .scores;
  auto type = cast<RankedTensorType>(scores.getType());
  TileMath math(program.getBuilder(), program.getLoc(), type.getDimSize(0),
                type.getDimSize(1));
  auto scalar = [&](double value) {
    return Tile{math.constant(TileAxes::Scalar, value), TileAxes::Scalar};
  };
  Tile pairs = {scores, TileAxes::Matrix};
  Tile isHidden =
      math.compare(arith::CmpFPredicate::OEQ, pairs, scalar(-kInfinity));
  return nsatile::ReduceOp::create(
      program.getBuilder(), program.getLoc(), sums, nsatile::ReduceKind::Sum,
      math.toMatrix(math.select(isHidden, scalar(0.0), pairs)), dim);
}

namespace {
/// Sums of the scores of the pairs that each row sees.
class VisibleSums : public PairFold {
public:
  VisibleSums(ProgramBuilder &program, Scorer &scorer, Value key)
      : program(program), scorer(scorer), key(key) {}

  RowState getInitialState(int64_t rows) override {
    return {getMath(rows, 1).constant(TileAxes::Row, 0.0)};
  }
  RowState fold(const QueryRows &rows, const nsatile::FoldDomain &domain,
                ValueRange initial, GetKeys getKeys) override {
    RowState inits(initial);
    if (inits.empty())
      inits = getInitialState(rows.count);
    return foldKeys(program, domain, inits, getKeys,
                    [&](const KeyTile &keys, ValueRange state) {
                      return merge(state,
                                   sumScores(program, scorer, rows, keys,
                                             /*dim=*/1, inits[0].getType()));
                    });
  }
  void loadShared(KeyTile &keys) override {
    keys.keys = scorer.loadKeys(key, keys);
  }
  RowState merge(ValueRange lhs, ValueRange rhs) override {
    return {arith::AddFOp::create(program.getBuilder(), program.getLoc(),
                                  lhs[0], rhs[0])};
  }

private:
  TileMath getMath(int64_t rows, int64_t columns) {
    return TileMath(program.getBuilder(), program.getLoc(), rows, columns);
  }
  ProgramBuilder &program;
  Scorer &scorer;
  Value key;
};
} // namespace

FailureOr<Tile> SumVisibleOp::computeTile(TileSource &source, Value,
                                          const nsa::DimSet &) {
  Evaluator *evaluator = source.getRows();
  if (!evaluator)
    return source.reject(*this);
  ProgramBuilder &program = source.getProgram();
  const QueryTile &tile = evaluator->getTile();
  Value sums;
  evaluator->computeOp(*this, [&](nsatile::ScheduleAttr schedule) {
    Scorer scorer(program, tile, cast<nsa::ScoringOpInterface>(getOperation()),
                  schedule);
    VisibleSums fold(program, scorer, getKey());
    RangeWalk walk(/*part=*/std::nullopt, program, tile, scorer, fold,
                   schedule);
    sums = walk.run(scorer.getAllRows()).front();
  });
  return Tile{sums, TileAxes::Row};
}

SmallVector<Value> SumQueriesOp::getOperandsInMemory() {
  return {getQuery(), getKey()};
}

SmallVector<schedule::Field> SumQueriesOp::getTileFields() {
  return {schedule::Field::Tokens, schedule::Field::Keys};
}

std::vector<schedule::Field> SumQueriesOp::getFields() {
  return {schedule::Field::Tokens, schedule::Field::Keys};
}

bool SumQueriesOp::isShared() { return true; }
bool SumQueriesOp::writesResults() { return true; }

/// Each program has a tile of keys, and walks the queries that see one of them.
LogicalResult SumQueriesOp::addPrograms(PlanBuilder &plan) {
  auto scoring = cast<nsa::ScoringOpInterface>(getOperation());
  nsatile::ScheduleAttr schedule = plan.getSchedule(*this);
  QueryShape shape = getQueryShape(plan.getKernel(), scoring);
  ProgramBuilder program(plan, getLoc(), "keys", schedule);
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  RowGrid grid = {.dim = getSequenceDim(getKey()),
                  .rows = getNumBatchRows(plan, shape),
                  .tokens = schedule.getKeys()};
  RowTile at = getRowTile(program, grid);
  QueryTile batchRow = getBatchRowTile(program, shape.dims, shape.group,
                                       program.programId(1), at.batchRow);
  Scorer scorer(program, batchRow, scoring, schedule, PairRows::Keys);
  KeyTile keys = {.first = m.mul(at.number, schedule.getKeys()),
                  .count = schedule.getKeys()};
  keys.keys = scorer.loadKeys(getKey(), keys);
  TileMath rows(builder, getLoc(), keys.count, /*columns=*/1);
  QueryWalk walk(program, batchRow, scorer, schedule.getTokens());
  RowState sums = walk.run(
      keys, rows.constant(TileAxes::Row, 0.0),
      [&](const QueryRows &queries, const KeyTile &keys, ValueRange state) {
        Value sum = sumScores(program, scorer, queries, keys, /*dim=*/1,
                              state[0].getType());
        return RowState{
            arith::AddFOp::create(builder, getLoc(), state[0], sum)};
      });
  const ProgramBuilder::Row &row = scorer.getBounds().getKeyRow();
  SmallVector<Value> offsets = {m.add(row.start, keys.first), batchRow.keyHead};
  if (shape.dims.batch)
    offsets.insert(offsets.begin(), at.batchRow);
  nsatile::storeTile(builder, getLoc(), sums[0], program.getBuffer(getSums()),
                     {.offsets = offsets,
                      .limits = {m.add(row.start, row.size)},
                      .dims = {static_cast<int64_t>(offsets.size()) - 2}});
  program.setOps(getOperation());
  launch(program, grid, plan.getSize(shape.keyHead));
  return success();
}
