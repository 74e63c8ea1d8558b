//===- Selecting.h - Programs that select key blocks ------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_SELECTING_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_SELECTING_H

#include "Importance.h"
#include "QueryProgram.h"

namespace nsacc {

/// Which rows select together. A tile has `tokens` tokens of `heads` heads; a
/// unit is `shareTokens` of the tokens times `shareHeads` of the heads, in the
/// tiles of `keyHeads` key heads.
struct Sharing {
  int64_t tokens, heads;
  int64_t shareTokens, shareHeads, keyHeads;

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

private:
  /// The row of each unit that speaks for it where a position is needed.
  struct Representative {
    Tile token, head;
  };
  QueryTile getTile(mlir::Value keyHead);
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
  Tile trim(mlir::Value list);
  void store(mlir::Value indices);
  void storeShared(mlir::Value indices);

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

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_SELECTING_H
