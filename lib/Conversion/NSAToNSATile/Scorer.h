//===- Scorer.h - Scores and masks of one query tile ------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_SCORER_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_SCORER_H

#include "MaskBounds.h"
#include "NSA/IR/NSAClauses.h"

namespace nsacc {

/// The scores of query rows against a tile of keys, changed by the op's score
/// region where it has one. Hidden pairs have -inf. `counts` is the number of
/// keys that each row sees, tensor<R x f32>; null where it isn't asked for.
struct VisibleScores {
  mlir::Value scores, counts;
};

/// Side of the pairs that has the rows of a tile; the other has its columns.
enum class PairRows { Queries, Keys };

/// Scores, masks and weights of tiles of pairs of one op that scores pairs.
class Scorer {
public:
  Scorer(ProgramBuilder &program, const QueryTile &tile,
         nsa::ScoringOpInterface op, nsatile::ScheduleAttr schedule,
         PairRows rowsAre = PairRows::Queries);

  /// All rows of a tile of the same batch row.
  QueryRows getRows(const QueryTile &of);
  QueryRows getAllRows() { return getRows(tile); }
  /// Rows [first, first + count) of `rows`, from token `firstToken` to
  /// `lastToken`.
  QueryRows slice(const QueryRows &rows, mlir::Value first, int64_t count,
                  mlir::Value firstToken, mlir::Value lastToken);

  const MaskBounds &getBounds() const { return bounds; }

  /// Loads a tile of keys from a tensor of keys or values.
  mlir::Value loadKeys(mlir::Value tensor, const KeyTile &keys);
  /// Loads the tile's channels only.
  mlir::Value loadValues(mlir::Value tensor, const KeyTile &keys);

  bool hidesKeysBeyondEnd();

  /// Scores against a tile of keys. `rawScale` leaves the scale to the caller.
  VisibleScores scoreVisible(const QueryRows &rows, const KeyTile &tile,
                             bool rawScale, bool counts);
  /// Applies the op's weight region to scores.
  mlir::Value weigh(const QueryRows &rows, mlir::Value scores,
                    const KeyTile &tile);
  mlir::Value getScale() { return scale; }
  /// Key indices, along the keys' axis.
  Tile getKeyIndices(TileMath &math, const KeyTile &tile);
  /// The arguments (b, h, t, i) of regions over rows.
  llvm::SmallVector<Tile> getRowArguments(const QueryRows &rows);
  /// Elements for which a clause's code needs values: rows of the batch row, if
  /// given, that are `active`, against keys, if given. None if the code has
  /// values everywhere.
  std::optional<Demand> getDemand(nsa::Clause clause,
                                  const QueryRows *rows = nullptr,
                                  Tile active = {},
                                  const KeyTile *keys = nullptr);
  ScalarContext getContext(const std::optional<Demand> &demand,
                           const KeyTile *keys = nullptr) {
    ScalarContext context = {program, tile.batchRow,
                             demand ? &*demand : nullptr};
    if (keys && keys->block > 0)
      context.keys = {keys->first, keys->block};
    return context;
  }

  /// Whether queries and keys are stored as different types.
  bool hasMixedTypes();

private:
  mlir::Value loadChannels(mlir::Value tensor, const KeyTile &keys,
                           const std::optional<ChannelSlice> &slice);
  TileAxes getQueryAxes() const {
    return rowsAre == PairRows::Queries ? TileAxes::Row : TileAxes::Column;
  }
  TileAxes getKeyAxes() const {
    return rowsAre == PairRows::Queries ? TileAxes::Column : TileAxes::Row;
  }
  /// Tiles of pairs of so many query rows and keys.
  TileMath getMath(int64_t queries, int64_t keys);
  const ProgramBuilder::Row &getKeyRow() const { return bounds.getKeyRow(); }
  mlir::Value getShift() const { return bounds.getShift(); }
  /// Query rows times keys.
  Tile multiply(const QueryRows &rows, const KeyTile &tile, bool rawScale);
  /// Applies the op's score region to scores. It has to have a value for
  /// `active` pairs.
  Tile changeScores(const QueryRows &rows, const KeyTile &tile, Tile scores,
                    Tile active);
  /// The visible pairs; none where all are visible. In a full tile neither the
  /// mask nor the end of the sequence hides any. With `ofAllRows`, all rows
  /// count as looking at the tile.
  std::optional<Tile> getVisible(const QueryRows &rows, const KeyTile &tile,
                                 bool isFull, bool ofAllRows);
  /// The pairs that the mask shows. It has to have a value for `active` pairs.
  Tile evaluateMask(const QueryRows &rows, const KeyTile &tile,
                    llvm::ArrayRef<Tile> arguments, TileMath &math,
                    Tile active);
  nsa::ScalarPlaces getPlaces(nsa::Clause clause);
  mlir::Region &getRegion(nsa::Clause clause);
  llvm::SmallVector<Tile> getPairArguments(const QueryRows &rows, Tile keys);

  ProgramBuilder &program;
  const QueryTile &tile;
  nsa::ScoringOpInterface op;
  nsatile::ScheduleAttr schedule;
  PairRows rowsAre;
  MaskBounds bounds;
  mlir::Value scale;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_SCORER_H
