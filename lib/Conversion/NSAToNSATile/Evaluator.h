//===- Evaluator.h - Values of one query tile, on demand --------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_EVALUATOR_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_EVALUATOR_H

#include "AttendFold.h"
#include "QueryTile.h"
#include "TileSource.h"

namespace nsacc {

/// A log-sum-exp, and the digits that f32 lacks for it where scores are large.
/// Behind the largest score, lse + residual has the logarithm of the sum to
/// f32's precision. exp(s - lse - residual) adds up to 1 at any score.
struct Normalizer {
  Tile lse, residual;
};

/// Tiles of the rows of one query tile, asked for from the results backwards.
class Evaluator : public TileSource {
public:
  /// `schedule` is the program's.
  Evaluator(ProgramBuilder &program, const QueryTile &tile,
            nsatile::ScheduleAttr schedule)
      : TileSource(program), tile(tile), schedule(schedule) {}

  using TileSource::evaluate;
  /// Evaluates the rows (and channels, if the tensor has them) of the tile.
  mlir::FailureOr<Tile> evaluate(mlir::Value tensor);
  /// Evaluates the log-sum-exp of an op, without its other results.
  mlir::FailureOr<Tile> evaluateLse(mlir::Value lse);
  mlir::FailureOr<Normalizer> evaluateNormalizer(mlir::Value lse);

  const QueryTile &getTile() const { return tile; }
  /// Ops that the program computes in tiles of their schedules.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  /// Adds an op. `compute` gets the op's schedule in this program. Ops that it
  /// builds have the op's place.
  void computeOp(mlir::Operation *op,
                 llvm::function_ref<void(nsatile::ScheduleAttr)> compute);

  /// The tile of a result of an op; empty until it's computed.
  Tile &getRowTile(mlir::Value result);
  void setNormalizer(mlir::Value lse, const Normalizer &normalizer);
  /// Sets the largest score and the sum that a log-sum-exp was made of.
  void setState(mlir::Value lse, const AttendTiles &state) {
    states[lse] = state;
  }

  TileMath getMath(nsa::NamedTensorType type) {
    return getMath(type, getRowDims(type));
  }
  TileMath getMath(nsa::NamedTensorType type, const nsa::DimSet &dims) override;
  Tile load(mlir::Value tensor, mlir::Value buffer, nsa::NamedTensorType type,
            const nsa::DimSet &dims) override;
  mlir::Value getBatchRow() override { return tile.batchRow; }
  Demand getElementDemand(nsa::MapOp op, const nsa::DimSet &dims,
                          TileMath &math) override;
  Evaluator *getRows() override { return this; }

private:
  const QueryTile &tile;
  nsatile::ScheduleAttr schedule;
  llvm::SmallVector<mlir::Operation *> ops;
  /// For each log-sum-exp the residual, or the largest score and the sum to
  /// make it of.
  llvm::DenseMap<mlir::Value, Tile> residuals;
  llvm::DenseMap<mlir::Value, AttendTiles> states;
};

/// (most - lse) + logarithm, with an exact difference. 0 where the log-sum-exp
/// isn't finite.
Tile computeResidual(TileMath &math, Tile lse, Tile most, Tile logarithm);

/// A row of a real number.
inline Tile realRow(TileMath &math, double value) {
  return {math.constant(TileAxes::Row, value), TileAxes::Row};
}

/// The merge of attentions over disjoint keys, for the evaluator's rows.
mlir::LogicalResult computeMerge(Evaluator &rows, nsa::MergeOp op);
/// The log-sum-exp of a merge, without its output.
mlir::LogicalResult computeMergedLse(Evaluator &rows, nsa::MergeOp op);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_EVALUATOR_H
