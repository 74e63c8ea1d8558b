//===- SelectionWalk.cpp - Walks over the lists of a selection ------------===//

#include "KeyWalk.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

Value SelectionWalk::getToken(Value unit) {
  IndexMath m = program.math();
  return m.add(tile.firstToken,
               perQueryHead ? m.floorDiv(unit, tile.group) : unit);
}

Value SelectionWalk::countUnits() {
  Value tokens = countTokens();
  return perQueryHead ? program.math().mul(tokens, tile.group) : tokens;
}

RowState SelectionWalk::forEachUnit(
    ValueRange initial, llvm::function_ref<RowState(Value, ValueRange)> body) {
  IndexMath m = program.math();
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), countUnits(), m.constant(1), initial,
      [&](OpBuilder &, Location, Value unit, ValueRange carried) {
        scf::YieldOp::create(builder, loc, body(unit, carried));
      });
  return RowState(loop.getResults());
}

RowState ListWalk::run(const QueryRows &rows) {
  IndexMath m = program.math();
  int64_t count = getUnitRows();
  Value list = program.getBuffer(selection);
  return forEachUnit(fold.getInitialState(rows.count), [&](Value unit,
                                                           ValueRange carried) {
    Value firstRow = m.mul(unit, count);
    Value token = getToken(unit);
    // Tokens behind the batch row's end have no list.
    Value listed = m.min(token, m.add(tile.numTokens, -1));
    QueryRows few = scorer.slice(rows, firstRow, count, token, token);
    nsatile::FoldDomain domain = {
        .ranges = bounds.getRanges(bounds.getBounds(few), tiling),
        .list = list,
        .indices = tile.getBatch(),
        .parts = tiling.parts};
    domain.indices.push_back(getListOfToken(program, tile, selection, listed));
    Value head = getListHead(program, tile, selection);
    if (perQueryHead)
      head =
          m.add(m.mul(tile.keyHead, tile.group),
                m.sub(unit, m.mul(m.floorDiv(unit, tile.group), tile.group)));
    domain.indices.push_back(head);
    return insert(foldTiles(few, domain, tiling), carried, firstRow);
  });
}
