//===- ScalarTiler.h - From scalar code to code over tiles ------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_SCALARTILER_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_SCALARTILER_H

#include "NSA/Analysis/AssertionNeed.h"
#include "PlanBuilder.h"
#include <limits>

namespace nsacc {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Axes along which a tile's value varies: rows are queries, columns keys or
/// channels.
enum class TileAxes { Scalar, Row, Column, Matrix };

/// The fewest axes that include both.
TileAxes join(TileAxes lhs, TileAxes rhs);

/// A value of a tile: a scalar, tensor<R>, tensor<C> or tensor<RxC>.
struct Tile {
  mlir::Value value;
  TileAxes axes = TileAxes::Scalar;
};

/// Tiles of `rows` x `columns`, and elementwise code over them.
class TileMath {
public:
  TileMath(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows,
           int64_t columns)
      : builder(builder), loc(loc), rows(rows), columns(columns) {}

  int64_t getRows() const { return rows; }
  int64_t getColumns() const { return columns; }
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() { return loc; }

  mlir::Type getType(TileAxes axes, mlir::Type elementType);
  /// The value repeated along more axes.
  mlir::Value broadcastTo(Tile tile, TileAxes axes);
  mlir::Value toMatrix(Tile tile) {
    return broadcastTo(tile, TileAxes::Matrix);
  }
  mlir::Value toRow(Tile tile) { return broadcastTo(tile, TileAxes::Row); }

  mlir::Value constant(TileAxes axes, double value);
  /// A scalar of an integer or index type.
  Tile integer(mlir::Type type, int64_t value);

  /// Applies `OpTy` to tiles brought to their join.
  template <typename OpTy> Tile apply(Tile lhs, Tile rhs) {
    TileAxes axes = join(lhs.axes, rhs.axes);
    return {OpTy::create(builder, loc, broadcastTo(lhs, axes),
                         broadcastTo(rhs, axes)),
            axes};
  }
  Tile compare(mlir::arith::CmpIPredicate predicate, Tile lhs, Tile rhs);
  Tile compare(mlir::arith::CmpFPredicate predicate, Tile lhs, Tile rhs);
  Tile select(Tile condition, Tile yes, Tile no);
  /// Converts all elements.
  template <typename OpTy> Tile convert(Tile tile, mlir::Type elementType) {
    return {
        OpTy::create(builder, loc, getType(tile.axes, elementType), tile.value),
        tile.axes};
  }

  /// Casts integers to another type, with the same values.
  Tile castInteger(Tile tile, mlir::Type elementType);

  /// Applies a scalar op to tiles: `op` with its operands replaced, and a
  /// result of `elementType`.
  Tile applyLike(mlir::Operation *op, llvm::ArrayRef<Tile> operands,
                 mlir::Type elementType);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t rows, columns;
};

/// Converts a tile of a tensor of type `type` from its form in memory to types
/// that scalar code computes with: reals are f32, integers of 64 bits i64, and
/// all other integers indices.
mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value value, nsa::NamedTensorType type);

/// Elements that need the value of scalar code, and their names in the error of
/// a run where they have none.
struct Demand {
  nsa::ScalarPlaces places;
  /// Elements that need the value; a null value for all.
  Tile active;
  /// "where", "score", …; empty for elementwise code.
  llvm::StringRef clause;
  /// Errors are reported in the order of the kernel's ops, of rows, of clauses,
  /// and of keys.
  int64_t op = 0, rank = 0;
  /// (b, h, t, i), or (b) for `scale`, or the element's indices for elementwise
  /// code.
  llvm::SmallVector<Tile> positions;
  /// Keys, if there are any, and the first of them.
  Tile key;
  mlir::Value firstKey;
};

/// Keys that are all in one block, with a block of `size` keys from key 0 on. 0
/// if nothing is known.
struct KeysOfBlock {
  mlir::Value first;
  int64_t size = 0;
};

/// Context of scalar code: the meaning of its tables and sizes.
struct ScalarContext {
  ProgramBuilder &program;
  /// The current batch row, for ragged tables and sizes.
  mlir::Value batchRow;
  /// Null where the code has a value everywhere.
  const Demand *demand = nullptr;
  /// Keys in the last argument of code of pairs.
  KeysOfBlock keys = {};
};

/// The greatest need of the region's ops, and whether there is any.
nsa::AssertionNeed getAssertionNeed(mlir::Region &region,
                                    const nsa::ScalarPlaces &places);
inline bool needsAssertion(mlir::Region &region,
                           const nsa::ScalarPlaces &places) {
  return getAssertionNeed(region, places) != nsa::AssertionNeed::Never;
}
/// Position of an op in its kernel.
int64_t getOpNumber(mlir::Operation *op);

/// Tiles of the values in a region of scalar code.
using TileMap = llvm::DenseMap<mlir::Value, Tile>;
/// Asserts that the code of a region has a value where it is needed.
void addScalarAssertions(mlir::Region &region, const TileMap &tiles,
                         TileMath &math, const ScalarContext &context);

/// Runs a region of scalar code over tiles. Integers that may not fit the 32
/// bits that an index has on some targets are i64. Values that depend on rows
/// alone are computed once a row, and values that depend on neither rows nor
/// columns once a tile. Table reads and divisions without a value give any, and
/// end the run if it is needed.
Tile tileRegion(mlir::Region &region, llvm::ArrayRef<Tile> arguments,
                TileMath &math, const ScalarContext &context);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_SCALARTILER_H
