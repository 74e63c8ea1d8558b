//===- QueryWalk.cpp - Queries that see a tile of keys --------------------===//

#include "QueryWalk.h"

using namespace mlir;
using namespace nsacc;

RowState QueryWalk::run(const KeyTile &keys, ValueRange initial, Step step) {
  IndexMath m = program.math();
  nsatile::FoldDomain domain = {
      .ranges = scorer.getBounds().getQueryRanges(
          keys.first, m.add(keys.first, keys.count - 1), tokens)};
  return foldSteps(
      program, domain, initial, [&](nsatile::FoldOp fold, ValueRange state) {
        QueryTile tile =
            createQueryTile(program, batchRow.dims, tokens, batchRow.group,
                            {.tokenTile = fold.getTile(),
                             .keyHead = batchRow.keyHead,
                             .batchRow = batchRow.batchRow});
        KeyTile partial = keys;
        partial.partial = fold.getPartial();
        return step(scorer.getRows(tile), partial, state);
      });
}
