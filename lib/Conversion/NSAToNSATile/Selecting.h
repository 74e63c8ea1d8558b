//===- Selecting.h - Programs that select key blocks ------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_SELECTING_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_SELECTING_H

#include "Importance.h"
#include "QueryProgram.h"

namespace nsacc {

/// A sort key orders blocks totally: by class, then by score, then by lower
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
/// Least keys of blocks that may be chosen, and of forced blocks.
inline constexpr int64_t kLeastPresent = kNaN << kClassShift;
inline constexpr int64_t kLeastForced = kForced << kClassShift;

/// The greatest keys of each part of a selection's blocks. Programs go over
/// parts side by side. In the plan, [x, y, batch, units, parts x top], i64:
/// keys in the order of their blocks, -1 behind the last.
struct PartialLists {
  mlir::Value keys;
  mlir::OpFoldResult parts; ///< a number, or a value of the plan
};

/// Rows that select together. A tile has `tokens` tokens of `heads` heads. A
/// unit has `shareTokens` of the tokens and `shareHeads` of the heads, in the
/// tiles of `keyHeads` key heads. Query heads of a key head that don't share
/// may be in `parts` tiles of as many heads each.
struct Sharing {
  int64_t tokens, heads;
  int64_t shareTokens, shareHeads, keyHeads;
  int64_t parts = 1;

  int64_t getGroups() const { return tokens / shareTokens; }
  int64_t getUnitHeads() const { return heads / shareHeads; }
  int64_t getUnits() const { return getGroups() * getUnitHeads(); }
  bool isShared() const { return shareTokens * shareHeads * keyHeads > 1; }
};

/// Builds the program of one topk.
class Selecting {
public:
  Selecting(ProgramBuilder &program, const QueryGrid &grid, nsa::TopKOp op,
            nsatile::ScheduleAttr schedule, Sharing sharing);

  llvm::LogicalResult build();
  /// Builds the lists of one of the parts.
  llvm::LogicalResult buildPart(const PartialLists &partial);
  /// Builds the selection from the lists of all parts.
  void mergeParts(const PartialLists &partial);

private:
  /// One of `count` parts of the blocks, in their order.
  struct Part {
    mlir::Value number, count;
  };
  /// Row of each unit that stands for it where a position is needed.
  struct Representative {
    Tile token, head;
  };
  QueryTile getTile(mlir::Value keyHead);
  /// First of a key head's heads that select here.
  mlir::Value getFirstHead(mlir::Value keyHead);
  Representative getRepresentative();

  /// Importance of blocks for each unit; -inf where absent.
  Tile getScores(const Columns &columns);
  /// Reduces scores of one key head's tile over the tokens of each unit.
  Tile reduceTokens(const QueryTile &from, Tile scores, int64_t count);
  Tile keepHead(Tile scores, int64_t head, int64_t count);
  Tile isAllowed(const Columns &columns, Tile inSequence, Tile block,
                 Tile position);
  /// Whether tokens of the tile exist in the batch row.
  Tile exists(TileMath &rows, Tile token);
  Tile getKeys(const Columns &columns);
  mlir::Value getLastBlock();
  Tile loadCounts(TileMath &rows, Representative at);
  void assertCounts();
  /// Number of blocks that rows choose, beside forced ones that count
  /// separately.
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
  /// Stores columns of the lists from `first` on.
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

/// Finds how the rows of a selection share it. Fails where that isn't compiled.
llvm::FailureOr<Sharing> getSharing(PlanBuilder &plan, const QueryShape &shape,
                                    nsa::TopKOp op,
                                    nsatile::ScheduleAttr schedule);

/// Builds a selection with its blocks cut into parts, where that keeps a GPU
/// busier.
llvm::LogicalResult buildSplitSelection(PlanBuilder &plan,
                                        const QueryGrid &grid, nsa::TopKOp op,
                                        nsatile::ScheduleAttr schedule,
                                        const Sharing &sharing);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_SELECTING_H
