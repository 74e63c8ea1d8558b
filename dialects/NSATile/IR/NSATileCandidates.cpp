//===- NSATileCandidates.cpp - Candidates of a selection ------------------===//

#include "NSATile/IR/NSATileOps.h"

using namespace mlir;
using namespace nsacc::nsatile;

LogicalResult
CandidatesType::verify(function_ref<InFlightDiagnostic()> emitError,
                       int64_t rows, int64_t keep, int64_t room) {
  if (rows < 1 || keep < 1)
    return emitError() << "expected at least 1 list, of at least 1 key, found "
                       << rows << " lists of " << keep;
  if (room <= keep)
    return emitError() << "expected room for more than the " << keep
                       << " keys that are kept, found " << room;
  return success();
}

/// Checks that a tile of keys or of numbers has a row for each list.
static LogicalResult verifyRows(Operation *op, StringRef what, Type tile,
                                CandidatesType lists) {
  auto type = cast<RankedTensorType>(tile);
  if (!type.hasStaticShape())
    return op->emitOpError("expected ")
           << what << " of static shape, found " << tile;
  if (type.getDimSize(0) != lists.getRows())
    return op->emitOpError("expected ")
           << what << " for each of the " << lists.getRows()
           << " lists, found rows for " << type.getDimSize(0);
  return success();
}

LogicalResult OfferOp::verify() {
  CandidatesType lists = getCandidates().getType();
  if (failed(verifyRows(*this, "keys", getKeys().getType(), lists)))
    return failure();
  int64_t spare = lists.getRoom() - lists.getKeep();
  if (int64_t columns = getKeys().getType().getDimSize(1); columns > spare)
    return emitOpError("expected at most ")
           << spare << " keys for each list, which have room for so many "
           << "beside the " << lists.getKeep() << " that are kept, found "
           << columns;
  return success();
}

LogicalResult ChooseOp::verify() {
  return verifyRows(*this, "a number", getNumbers().getType(),
                    getCandidates().getType());
}

LogicalResult ChosenOp::verify() {
  return verifyRows(*this, "keys", getKeys().getType(),
                    getCandidates().getType());
}
