//===- PairFold.cpp - States of rows over pairs ---------------------------===//

#include "PairFold.h"

using namespace mlir;
using namespace nsacc;

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
