//===- AttendFold.cpp - States of an attention's rows ---------------------===//

#include "AttendFold.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

RowState nsacc::foldSteps(
    ProgramBuilder &program, const nsatile::FoldDomain &domain,
    ValueRange initial,
    llvm::function_ref<RowState(nsatile::FoldOp, ValueRange)> step) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  OpBuilder::InsertionGuard guard(builder);
  auto fold = nsatile::FoldOp::create(builder, loc, domain, initial.getTypes(),
                                      initial);
  builder.setInsertionPointToEnd(&fold.getBody().front());
  nsatile::YieldOp::create(builder, loc, step(fold, fold.getState()));
  return RowState(fold.getResults());
}

RowState nsacc::foldKeys(
    ProgramBuilder &program, const nsatile::FoldDomain &domain,
    ValueRange initial, PairFold::GetKeys getKeys,
    llvm::function_ref<RowState(const KeyTile &, ValueRange)> step) {
  return foldSteps(program, domain, initial,
                   [&](nsatile::FoldOp fold, ValueRange state) {
                     KeyTile keys = getKeys(fold.getTile(), fold.getWords());
                     keys.partial = fold.getPartial();
                     return step(keys, state);
                   });
}

AttendFold::AttendFold(ProgramBuilder &program, const QueryTile &tile,
                       Scorer &scorer, AttendOp op, bool onlyLse)
    : program(program), builder(program.getBuilder()), loc(program.getLoc()),
      tile(tile), scorer(scorer), op(op), onlyLse(onlyLse) {
  auto type = cast<NamedTensorType>(op.getValue().getType());
  allChannels = *program.getPlan().getStaticSize(type.getDims().back());
  channels = tile.slice ? tile.slice->count : allChannels;
}

std::unique_ptr<AttendFold> AttendFold::create(ProgramBuilder &program,
                                               const QueryTile &tile,
                                               Scorer &scorer, AttendOp op,
                                               bool onlyLse) {
  if (op.isSoftmax())
    return std::make_unique<SoftmaxFold>(program, tile, scorer, op, onlyLse);
  return std::make_unique<WeightFold>(program, tile, scorer, op, onlyLse);
}

void AttendFold::loadShared(KeyTile &keys) {
  keys.keys = scorer.loadKeys(op.getKey(), keys);
  if (!onlyLse)
    keys.values = scorer.loadValues(op.getValue(), keys);
}

Value AttendFold::loadValues(const KeyTile &keys) {
  return keys.values ? keys.values : scorer.loadValues(op.getValue(), keys);
}

Value AttendFold::takesPart(Value scores) {
  auto type = cast<RankedTensorType>(scores.getType());
  TileMath math(builder, loc, type.getDimSize(0), type.getDimSize(1));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, scores,
                               math.constant(TileAxes::Matrix, -kInfinity));
}
