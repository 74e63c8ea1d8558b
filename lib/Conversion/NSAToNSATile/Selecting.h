//===- Selecting.h - Programs that select key blocks ------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_SELECTING_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_SELECTING_H

#include "Importance.h"
#include "QueryProgram.h"

namespace nsacc {

/// A sort key orders blocks totally: its class, then the score, then the lower
/// index, from the highest bits down.
inline constexpr int64_t kKeyIndexBits = 29;
inline constexpr int64_t kKeyIndexMask = (int64_t{1} << kKeyIndexBits) - 1;
inline constexpr int64_t kClassShift = kKeyIndexBits + 32;
enum SortClass : int64_t {
  kAbsentClass = 0,
  kNaN = 1,
  kNumber = 2,
  kForced = 3
};
/// The least keys of blocks that may be chosen, and of forced ones.
inline constexpr int64_t kLeastPresent = kNaN << kClassShift;
inline constexpr int64_t kLeastForced = kForced << kClassShift;

/// The greatest keys of each part of a selection's blocks, which programs go
/// over side by side. In the plan, [x, y, batch, parts, units, top], i64: a
/// program's units, in the order of their blocks, -1 behind the last.
struct PartialLists {
  mlir::Value keys;
  mlir::OpFoldResult parts; ///< a number, or a value of the plan
};

/// Which rows select together. A tile has `tokens` tokens of `heads` heads; a
/// unit is `shareTokens` of the tokens times `shareHeads` of the heads, in the
/// tiles of `keyHeads` key heads. Those of a key head's query heads that don't
/// share may be in `parts` tiles of as many heads each.
struct Sharing {
  int64_t tokens, heads;
  int64_t shareTokens, shareHeads, keyHeads;
  int64_t parts = 1;

  int64_t getGroups() const { return tokens / shareTokens; }
  int64_t getUnitHeads() const { return heads / shareHeads; }
  int64_t getUnits() const { return getGroups() * getUnitHeads(); }
  bool isShared() const { return shareTokens * shareHeads * keyHeads > 1; }
};

/// The program of one topk.
class Selecting {
public:
  Selecting(ProgramBuilder &program, const QueryGrid &grid, nsa::TopKOp op,
            nsatile::ScheduleAttr schedule, Sharing sharing);

  llvm::LogicalResult build();
  /// The lists of one of the parts.
  llvm::LogicalResult buildPart(const PartialLists &partial);
  /// The selection from those of all parts.
  void mergeParts(const PartialLists &partial);

private:
  /// One of `count` parts of the blocks, in their order.
  struct Part {
    mlir::Value number, count;
  };
  /// The row of each unit that speaks for it where a position is needed.
  struct Representative {
    Tile token, head;
  };
  QueryTile getTile(mlir::Value keyHead);
  /// The first of a key head's heads that select here.
  mlir::Value getFirstHead(mlir::Value keyHead);
  Representative getRepresentative();

  /// Importance of blocks for each unit; -inf where absent.
  Tile getScores(const Columns &columns);
  /// The same for the rows of one key head's tile.
  Tile reduceTokens(const QueryTile &from, Tile scores, int64_t count);
  Tile keepHead(Tile scores, int64_t head, int64_t count);
  Tile isAllowed(const Columns &columns, Tile inSequence, Tile block,
                 Tile position);
  /// Whether tokens of the tile are ones of the batch row.
  Tile exists(TileMath &rows, Tile token);
  Tile getKeys(const Columns &columns);
  mlir::Value getLastBlock();
  Tile loadCounts(TileMath &rows, Representative at);
  void assertCounts();
  /// How many blocks rows choose, beside forced ones that count for
  /// themselves.
  Tile getNumbers(TileMath &rows);
  Tile getBlock(TileMath &entries, Tile keys);
  Tile trim(mlir::Value list);
  void sortTiles();
  void raiseThreshold();
  mlir::Value createLists(int64_t columns);
  void offerBlocks(mlir::Value lists, const Part *part);
  void
  forEachChosen(mlir::Value lists,
                llvm::function_ref<void(mlir::Value first, Tile keys)> body);
  void finish(mlir::Value lists);
  llvm::SmallVector<mlir::Value> getPlaceOfLists(mlir::Value column);
  /// Columns of the lists from `first` on.
  void store(mlir::Value indices, mlir::Value first);
  void storeOwn(mlir::Value indices, mlir::Value first);
  void storeShared(mlir::Value indices, mlir::Value first);

  Tile real(double value) { return getReal(math, value); }
  Tile i64(int64_t value) { return math.integer(builder.getI64Type(), value); }
  Tile index(mlir::Value value) { return {value, TileAxes::Scalar}; }
  mlir::Value importance() { return op.getImportance(); }

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const QueryShape &shape;
  nsa::TopKOp op;
  nsatile::ScheduleAttr schedule;
  Sharing sharing;
  nsa::SelectionType type;
  QueryPlace place;
  mlir::Value firstKeyHead, shift, numBlocks;
  QueryTile tile;
  ImportanceTiles tiles;
  int64_t chunk;
  TileMath math;
  Representative representative;
};

/// How the rows of a selection share it; an error where that isn't compiled.
llvm::FailureOr<Sharing> getSharing(PlanBuilder &plan, const QueryShape &shape,
                                    nsa::TopKOp op,
                                    nsatile::ScheduleAttr schedule);

/// A selection whose blocks are cut into parts, where that keeps a GPU busier.
llvm::LogicalResult buildSplitSelection(PlanBuilder &plan,
                                        const QueryGrid &grid, nsa::TopKOp op,
                                        nsatile::ScheduleAttr schedule,
                                        const Sharing &sharing);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_SELECTING_H
