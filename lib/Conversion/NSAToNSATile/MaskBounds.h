//===- MaskBounds.h - Bounds of loops from a mask ---------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_MASKBOUNDS_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_MASKBOUNDS_H

#include "KeyTiling.h"
#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/Analysis/NeededEntries.h"
#include "QueryTile.h"

namespace nsacc {

/// Rows of a query tile that see the same key tiles.
struct QueryRows {
  int64_t count;
  mlir::Value query;         ///< tensor<count x D>, as stored
  mlir::Value tokens, heads; ///< tensor<count x index>
  mlir::Value first, last;   ///< positions of the first and the last row
  mlir::Value exist = {};    ///< whether rows exist; null where they do
};

/// Bounds of keys. Rows look at no keys outside [low, high). All rows see
/// [fullLow, fullHigh), if the interval is exact.
struct KeyBounds {
  mlir::Value low, high, fullLow, fullHigh;
  bool exact;
};

/// One of `count` parts of the keys that a query tile sees, in their order. An
/// exact program has the parts of the program that it repairs, which has query
/// tiles of `tokens` tokens. A part begins a multiple of `keys` keys behind the
/// first key.
struct KeyPart {
  mlir::Value number, count;
  int64_t tokens, keys;
};

/// The sequence dimension of a tensor of keys or values.
mlir::Attribute getSequenceDim(mlir::Value keys);
/// The tokens of a batch row in a tensor of keys or values.
ProgramBuilder::Row getKeyRow(ProgramBuilder &program, mlir::Value keys,
                              mlir::Value batchRow);

/// Bounds of the keys that the queries of a tile see under an op's mask, tiles
/// of these keys, and bounds of the queries that see a key.
class MaskBounds {
public:
  MaskBounds(ProgramBuilder &program, const QueryTile &tile,
             nsa::ScoringOpInterface op, nsatile::ScheduleAttr schedule);

  const nsa::MaskInfo &getMask() const { return mask; }
  const ProgramBuilder::Row &getKeyRow() const { return keyRow; }
  /// First key that any row needs. Earlier ones are left out.
  int64_t getFirstKey() const { return firstKey; }
  /// Position of a query minus its token index.
  mlir::Value getShift() const { return shift; }

  /// The intervals of keys that any of the rows may see.
  llvm::SmallVector<KeyBounds> getBounds(const QueryRows &rows) const;
  /// First key past the keys that any of the rows may see.
  mlir::Value getLastKey(const QueryRows &rows) const;
  /// Whether any of the rows may see a key of [first, end).
  mlir::Value isSeen(llvm::ArrayRef<KeyBounds> bounds, mlir::Value first,
                     mlir::Value end) const;
  /// Whether a row may not see one of the keys `first` to `last`.
  mlir::Value isPartial(llvm::ArrayRef<KeyBounds> bounds, mlir::Value first,
                        mlir::Value last) const;

  /// Tokens of the batch row, of which all that may see a key from `first` to
  /// `last` are in [low, high).
  struct Queries {
    mlir::Value low, high;
  };
  Queries getQueries(mlir::Value first, mlir::Value last) const;
  /// The intervals as ranges of tiles of `tokens` queries, for keys from
  /// `first` to `last`. A tile is full if all its queries exist and see all
  /// these keys, in an exact interval.
  llvm::SmallVector<nsatile::TileRange>
  getQueryRanges(mlir::Value first, mlir::Value last, int64_t tokens) const;

  /// Tiles over the sequence of keys that the rows look at.
  KeyTiling getTiling(const QueryRows &rows) const;
  /// Tiles of a part, counted from the first key of its whole query tile.
  KeyTiling getTiling(const QueryRows &rows, const KeyPart &part) const;
  /// The intervals as ranges of tiles. A tile is full if all rows see all of
  /// it, in an exact interval.
  llvm::SmallVector<nsatile::TileRange>
  getRanges(llvm::ArrayRef<KeyBounds> bounds, const KeyTiling &tiling) const;
  /// Cuts the ranges of rows to the tiles of a part. A part has the same keys
  /// for all rows of the query tile.
  llvm::SmallVector<nsatile::TileRange>
  cut(llvm::ArrayRef<nsatile::TileRange> ranges, const QueryRows &rows,
      const KeyTiling &tiling, const KeyPart &part) const;

private:
  void leaveOut(const nsa::NeededEntries &needed, mlir::Value numTokens);
  KeyBounds getBounds(const QueryRows &rows,
                      const nsa::KeyInterval &interval) const;
  mlir::Value getOrigin(const QueryRows &rows) const;
  /// All rows of the tile, where `rows` may be the rows of one warpgroup.
  QueryRows ofTile(const QueryRows &rows) const;
  /// All rows of the query tile whose keys are cut.
  QueryRows ofPart(const QueryRows &rows, const KeyPart &part) const;
  /// Rows of neighbouring tokens, as far as they exist.
  QueryRows ofTokens(const QueryRows &rows, mlir::Value first,
                     int64_t count) const;
  mlir::Value evaluate(mlir::AffineExpr expr, const QueryRows &rows,
                       bool greatest) const;
  /// Whether an expression has one value for all rows of a tile, which indices
  /// hold.
  bool isBound(mlir::AffineExpr expr) const;
  /// Evaluates an expression over d0, d1 and the mask's symbols; null unless it
  /// is a bound.
  mlir::Value evaluate(mlir::AffineExpr expr, mlir::Value d0,
                       mlir::Value d1) const;
  /// Tokens between the bounds of an interval.
  Queries getQueries(const nsa::QueryInterval &interval, mlir::Value first,
                     mlir::Value last) const;
  Queries getQueries(const nsa::KeyInterval &interval, mlir::Value first,
                     mlir::Value last) const;
  mlir::Value getSymbol(const nsa::MaskSymbol &symbol) const;

  ProgramBuilder &program;
  const QueryTile &tile;
  nsatile::ScheduleAttr schedule;
  nsa::MaskInfo mask;
  ProgramBuilder::Row keyRow;
  int64_t firstKey = 0;
  mlir::Value shift;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_MASKBOUNDS_H
