//===- TileTestDialect.cpp - An op that tiles itself ----------------------===//

#include "TileTestDialect.h"
#include "Evaluator.h"
#include "KeyWalk.h"
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
    return foldSteps(program, domain, inits, getKeys,
                     [&](const KeyTile &keys, ValueRange state) {
                       return merge(state, sum(rows, keys));
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
  /// The sums over one tile of keys.
  Value sum(const QueryRows &rows, const KeyTile &keys) {
    TileMath math = getMath(rows.count, keys.count);
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
    return nsatile::ReduceOp::create(
        math.getBuilder(), math.getLoc(),
        math.getType(TileAxes::Row, math.getBuilder().getF32Type()),
        nsatile::ReduceKind::Sum, visible, /*dim=*/1);
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
