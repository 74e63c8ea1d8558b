//===- TileSource.h - Tiles of tensors in one program -----------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_TILESOURCE_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_TILESOURCE_H

#include "ScalarTiler.h"

namespace nsacc {

class Evaluator;

/// Gives tiles of tensors in one program: loads them where they stand in
/// memory, and asks their ops (TileOpInterface) for others. A tile that several
/// readers share is computed once.
class TileSource {
public:
  virtual ~TileSource();

  ProgramBuilder &getProgram() { return program; }

  /// Evaluates a tile of a tensor that has the dimensions `dims` of the tile.
  mlir::FailureOr<Tile> evaluate(mlir::Value tensor, const nsa::DimSet &dims);
  /// Loads these elements of a buffer, which stands for `tensor` and has
  /// elements of `type`.
  virtual Tile load(mlir::Value tensor, mlir::Value buffer,
                    nsa::NamedTensorType type, const nsa::DimSet &dims) = 0;

  virtual TileMath getMath(nsa::NamedTensorType type,
                           const nsa::DimSet &dims) = 0;
  /// Batch row of all elements; null where they are in several.
  virtual mlir::Value getBatchRow() = 0;
  /// Elements for which elementwise code has to have a value.
  virtual Demand getElementDemand(nsa::MapOp op, const nsa::DimSet &dims,
                                  TileMath &math) = 0;
  /// Evaluator of a tile of rows; null where tiles have any elements.
  virtual Evaluator *getRows() { return nullptr; }

  /// Says that such tiles of an op's results aren't compiled.
  mlir::LogicalResult reject(mlir::Operation *op);

protected:
  explicit TileSource(ProgramBuilder &program)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()) {
  }

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Tiles of tensors in their dimensions.
  llvm::DenseMap<std::pair<mlir::Value, nsa::DimSet>, Tile> tiles;

private:
  mlir::FailureOr<Tile> compute(mlir::Value tensor, const nsa::DimSet &dims);
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_TILESOURCE_H
