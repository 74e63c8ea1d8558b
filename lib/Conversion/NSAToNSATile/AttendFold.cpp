//===- AttendFold.cpp - States of an attention's rows ---------------------===//

#include "AttendFold.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

AttendFold::AttendFold(ProgramBuilder &program, const QueryTile &tile,
                       Scorer &scorer, ScoringOpInterface op, bool onlyLse)
    : program(program), builder(program.getBuilder()), loc(program.getLoc()),
      tile(tile), scorer(scorer), op(op), onlyLse(onlyLse) {
  auto type = cast<NamedTensorType>(op.getValue().getType());
  allChannels = *program.getPlan().getStaticSize(type.getDims().back());
  channels = tile.slice ? tile.slice->count : allChannels;
}

std::unique_ptr<AttendFold>
AttendFold::create(ProgramBuilder &program, const QueryTile &tile,
                   Scorer &scorer, ScoringOpInterface op, bool onlyLse) {
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
