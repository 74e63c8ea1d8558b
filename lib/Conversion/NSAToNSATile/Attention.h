//===- Attention.h - One attention of a query tile --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_ATTENTION_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_ATTENTION_H

#include "AttendFold.h"
#include "KeyWalk.h"
#include "QueryProgram.h"

namespace nsacc {

/// One attention of a query tile: scores of pairs, the states of rows, and the
/// walk over keys that its schedule asks for.
class Attention {
public:
  Attention(ProgramBuilder &program, const QueryTile &tile,
            nsa::ScoringOpInterface op, nsatile::ScheduleAttr schedule,
            bool onlyLse);

  AttendFold &getFold() { return *fold; }
  const MaskBounds &getBounds() const { return scorer.getBounds(); }
  QueryRows getRows() { return scorer.getAllRows(); }

  /// The rows' state after their keys, or after a part of them.
  RowState walk(const QueryRows &rows, std::optional<KeyPart> part = {});
  /// The rows' state after the keys of a block of the selection; the initial
  /// state if `exists` is false.
  RowState walkBlock(mlir::Value block, mlir::Value exists);

private:
  ProgramBuilder &program;
  const QueryTile &tile;
  nsatile::ScheduleAttr schedule;
  Scorer scorer;
  std::unique_ptr<AttendFold> fold;
};

/// Computes an attention for the rows of a tile: walks the keys, or merges
/// the states that other programs left.
AttendTiles attendTile(ProgramBuilder &program, const QueryTile &tile,
                       nsa::ScoringOpInterface op,
                       nsatile::ScheduleAttr schedule, bool onlyLse);

/// Whether only the log-sum-exp of an attention is read.
bool needsOnlyLse(nsa::ScoringOpInterface op);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ATTENTION_H
