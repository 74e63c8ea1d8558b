//===- TileTestDialect.cpp - An op that tiles itself ----------------------===//

#include "TileTestDialect.h"
#include "Evaluator.h"
#include "NSA/IR/NSADialect.h"
#include "NSA/IR/NSAOps.h"
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

SmallVector<schedule::Field> SumVisibleOp::getTileFields() {
  return {schedule::Field::Tokens, schedule::Field::Keys};
}

/// Adds a tile of keys to the sums of the rows.
static Value addTile(Scorer &scorer, TileMath &math, const QueryRows &rows,
                     const KeyTile &keys, Value sums) {
  OpBuilder &builder = math.getBuilder();
  Tile scores = {
      scorer.scoreVisible(rows, keys, /*rawScale=*/false, /*counts=*/false)
          .scores,
      TileAxes::Matrix};
  auto scalar = [&](double value) {
    return Tile{math.constant(TileAxes::Scalar, value), TileAxes::Scalar};
  };
  Tile isHidden =
      math.compare(arith::CmpFPredicate::OEQ, scores, scalar(-kInfinity));
  Value visible = math.toMatrix(math.select(isHidden, scalar(0.0), scores));
  Value added = nsatile::ReduceOp::create(
      builder, math.getLoc(), sums.getType(), nsatile::ReduceKind::Sum, visible,
      /*dim=*/1);
  return arith::AddFOp::create(builder, math.getLoc(), sums, added);
}

FailureOr<Tile> SumVisibleOp::computeTile(TileSource &source, Value,
                                          const nsa::DimSet &) {
  Evaluator *evaluator = source.getRows();
  if (!evaluator)
    return source.reject(*this);
  ProgramBuilder &program = source.getProgram();
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Value sums;
  evaluator->computeOp(*this, [&](nsatile::ScheduleAttr schedule) {
    Scorer scorer(program, evaluator->getTile(),
                  cast<nsa::ScoringOpInterface>(getOperation()), schedule);
    QueryRows rows = scorer.getAllRows();
    KeyTiling tiling = scorer.getTiling(rows);
    nsatile::FoldDomain domain = {
        .ranges = scorer.getRanges(scorer.getBounds(rows), tiling)};
    TileMath rowMath(builder, loc, rows.count, /*columns=*/1);
    Value zero = rowMath.constant(TileAxes::Row, 0.0);
    auto fold = nsatile::FoldOp::create(builder, loc, domain, zero.getType(),
                                        ValueRange(zero));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&fold.getBody().front());
    KeyTile keys = tiling.getTile(program.math(), fold.getTile());
    keys.partial = fold.getPartial();
    TileMath math(builder, loc, rows.count, keys.count);
    nsatile::YieldOp::create(
        builder, loc, addTile(scorer, math, rows, keys, fold.getState()[0]));
    sums = fold.getResult(0);
  });
  return Tile{sums, TileAxes::Row};
}
