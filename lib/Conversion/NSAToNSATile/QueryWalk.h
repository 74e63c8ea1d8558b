//===- QueryWalk.h - Queries that see a tile of keys ------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_QUERYWALK_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_QUERYWALK_H

#include "PairFold.h"

namespace nsacc {

/// The inner axis of a program whose rows are keys: the tiles of query tokens
/// that may see one of these keys, ascending.
/// An op of another dialect walks so (test/lib/TileTest); gradients of keys and
/// values will.
class QueryWalk {
public:
  /// `scorer` scores pairs with keys as rows, and `batchRow` is its tile
  /// (getBatchRowTile). A tile has `tokens` tokens and all query heads of the
  /// key head.
  QueryWalk(ProgramBuilder &program, const QueryTile &batchRow, Scorer &scorer,
            int64_t tokens)
      : program(program), batchRow(batchRow), scorer(scorer), tokens(tokens) {}

  /// Folds over the tiles, from `initial` on. `step` gets the rows of a query
  /// tile, as columns of the pairs, and the keys.
  using Step = llvm::function_ref<RowState(
      const QueryRows &queries, const KeyTile &keys, mlir::ValueRange state)>;
  RowState run(const KeyTile &keys, mlir::ValueRange initial, Step step);

private:
  ProgramBuilder &program;
  const QueryTile &batchRow;
  Scorer &scorer;
  int64_t tokens;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_QUERYWALK_H
