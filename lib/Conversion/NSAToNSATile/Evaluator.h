//===- Evaluator.h - Values of one query tile, on demand --------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_EVALUATOR_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_EVALUATOR_H

#include "AttendTiles.h"
#include "QueryTile.h"

namespace nsacc {

/// A log-sum-exp, and what f32 has no digits for where the scores are large:
/// lse + rest is the logarithm to f32's precision of the sum behind the largest
/// score. exp(s - lse - rest) adds up to 1 at any score.
struct Normalizer {
  Tile lse, rest;
};

/// Asks for the tiles of values from the results backwards.
class Evaluator {
public:
  /// `schedule` is the program's. In an exact program, attentions have the
  /// tiles of exact ones.
  Evaluator(ProgramBuilder &program, const QueryTile &tile,
            nsatile::ScheduleAttr schedule, bool isExact = false)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()),
        tile(tile), schedule(schedule), isExact(isExact) {}

  /// The rows (and channels, if the tensor has them) of the tile.
  mlir::FailureOr<Tile> evaluate(mlir::Value tensor);
  /// The same of a tensor with dimensions `dims` of [batch, tokens, heads,
  /// channels].
  mlir::FailureOr<Tile> evaluate(mlir::Value tensor, const nsa::DimSet &dims);
  /// The log-sum-exp of an attention or of a merge, without their outputs.
  mlir::FailureOr<Tile> evaluateLse(mlir::Value lse);
  mlir::FailureOr<Normalizer> evaluateNormalizer(mlir::Value lse);
  /// Those that were computed.
  llvm::ArrayRef<mlir::Operation *> getAttends() const { return attends; }
  TileMath getMath(nsa::NamedTensorType type) {
    return getMath(type, getRowDims(type));
  }

private:
  TileMath getMath(nsa::NamedTensorType type, const nsa::DimSet &dims);
  mlir::FailureOr<Tile> compute(mlir::Value tensor, const nsa::DimSet &dims);
  mlir::FailureOr<Tile> computeMap(nsa::MapOp op, const nsa::DimSet &dims);
  Demand getElementDemand(nsa::MapOp op, const nsa::DimSet &dims,
                          TileMath &math);
  mlir::LogicalResult computeMerge(nsa::MergeOp op);

  /// What each branch of a merge adds, up to a factor, and the log-sum-exp.
  struct Shares {
    llvm::SmallVector<Tile> shares;
    Tile total;
    Normalizer all;
  };
  Shares computeShares(TileMath &math, llvm::ArrayRef<Normalizer> branches);
  mlir::FailureOr<llvm::SmallVector<Normalizer>>
  evaluateBranches(nsa::MergeOp op);
  void setNormalizer(mlir::Value lse, const Normalizer &normalizer);
  /// The tile of a result of an attention or a merge.
  Tile &getRowTile(mlir::Value tensor);
  Tile loadScale(mlir::Value output, nsa::DimSet dims);
  /// Computes an attention.
  void attend(nsa::AttendOp op, bool onlyLse);
  /// Notes the tiles of an attention's results.
  void setTiles(nsa::AttendOp op, const AttendTiles &computed);
  Tile computeRest(TileMath &math, Tile lse, Tile most, Tile logarithm);

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const QueryTile &tile;
  nsatile::ScheduleAttr schedule;
  bool isExact;
  llvm::SmallVector<mlir::Operation *> attends;
  /// Of tensors in their dimensions.
  llvm::DenseMap<std::pair<mlir::Value, nsa::DimSet>, Tile> tiles;
  /// Of log-sum-exps: the rest, or the largest score and the sum to make it of.
  llvm::DenseMap<mlir::Value, Tile> rests;
  llvm::DenseMap<mlir::Value, AttendTiles> states;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_EVALUATOR_H
