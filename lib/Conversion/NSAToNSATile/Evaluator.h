//===- Evaluator.h - Values of one query tile, on demand --------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_EVALUATOR_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_EVALUATOR_H

#include "QueryTile.h"

namespace nsacc {

/// Asks for the tiles of values from the results backwards.
class Evaluator {
public:
  Evaluator(ProgramBuilder &program, const QueryTile &tile,
            nsatile::ScheduleAttr schedule)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()),
        tile(tile), schedule(schedule) {}

  /// The rows (and channels, if the tensor has them) of the tile.
  mlir::FailureOr<Tile> evaluate(mlir::Value tensor);
  /// The log-sum-exp of an attention or of a merge, without their outputs.
  mlir::FailureOr<Tile> evaluateLse(mlir::Value lse);
  TileMath getMath(nsa::NamedTensorType type) {
    return TileMath(builder, loc, tile.getRows(), getChannels(type));
  }

private:
  int64_t getChannels(nsa::NamedTensorType type);
  mlir::FailureOr<Tile> compute(mlir::Value tensor);
  mlir::FailureOr<Tile> computeMap(nsa::MapOp op);
  Demand getElementDemand(nsa::MapOp op, TileMath &math);
  mlir::LogicalResult computeMerge(nsa::MergeOp op);

  /// What each branch of a merge adds, up to a factor, and the log-sum-exp.
  struct Shares {
    llvm::SmallVector<Tile> shares;
    Tile total, lse;
  };
  Shares computeShares(TileMath &math, llvm::ArrayRef<Tile> lses);

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const QueryTile &tile;
  nsatile::ScheduleAttr schedule;
  llvm::DenseMap<mlir::Value, Tile> tiles;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_EVALUATOR_H
