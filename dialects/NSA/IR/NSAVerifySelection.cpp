//===- NSAVerifySelection.cpp - Checks of block selection ops -------------===//

#include "NSA/IR/NSAVerify.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc::nsa;

/// Scores are f32 of [batch, tokens, heads, keys] or [ragged tokens, heads,
/// keys].
static LogicalResult verifyScores(Operation *op, NamedTensorType type) {
  if (type.getRank() == (type.isRagged() ? 3u : 4u) &&
      type.getElementType().isF32())
    return success();
  return op->emitOpError(
             "expected an importance, f32 of [batch, tokens, heads, "
             "keys] or [ragged tokens, heads, keys], found ")
         << type;
}

//===----------------------------------------------------------------------===//
// BlocksOp, DeclareBlocksOp
//===----------------------------------------------------------------------===//

/// Checks that `result` is `input` with its last dimension replaced by `last`.
static LogicalResult expectLastDim(Operation *op, NamedTensorType result,
                                   NamedTensorType input, Attribute last,
                                   StringRef reason) {
  SmallVector<Attribute> dims(input.getDims());
  dims.back() = last;
  return expectTensor(op, "the result", result, dims, input.getElementType(),
                      reason);
}

LogicalResult BlocksOp::verify() {
  NamedTensorType input = getImportance().getType();
  if (failed(verifyScores(*this, input)))
    return failure();
  auto pooled = dyn_cast<PooledDimAttr>(input.getDims().back());
  if (!pooled)
    return emitOpError("expected the importance of pooled keys, found '")
           << toString(input.getDims().back())
           << "'; only pooled keys stand for several tokens";
  return expectLastDim(
      *this, getResult().getType(), input,
      BlocksDimAttr::get(getContext(), pooled.getBase(), getBlock()),
      "its blocks are of the tokens that were pooled");
}

LogicalResult DeclareBlocksOp::verify() {
  NamedTensorType input = getInput().getType();
  if (failed(verifyScores(*this, input)))
    return failure();
  Attribute last = input.getDims().back();
  if (!isa<NamedDimAttr, IntegerAttr>(last))
    return emitOpError(
               "expected scores whose keys have no meaning yet, found '")
           << toString(last) << "'; use nsa.blocks for pooled keys";
  NamedTensorType result = getResult().getType();
  auto blocks = result.getRank() == 0
                    ? BlocksDimAttr()
                    : dyn_cast<BlocksDimAttr>(result.getDims().back());
  if (!blocks)
    return emitOpError("expected a result whose last dimension is blocks(…), "
                       "found ")
           << toString(result.getDims());
  if (failed(expectKernelDim(*this, blocks.getBase())))
    return failure();
  return expectLastDim(*this, result, input, blocks,
                       "only the last dimension gets a meaning");
}

//===----------------------------------------------------------------------===//
// TopKOp
//===----------------------------------------------------------------------===//

namespace {
/// The blocks of an importance's entries.
struct BlockEntries {
  StringRef of;
  int64_t block;
};
} // namespace

static FailureOr<BlockEntries> getBlockEntries(TopKOp op, Attribute keys) {
  if (auto blocks = dyn_cast<BlocksDimAttr>(keys))
    return BlockEntries{blocks.getBase(), blocks.getBlock()};
  auto pooled = dyn_cast<PooledDimAttr>(keys);
  if (pooled && pooled.getLen() == pooled.getStride() &&
      pooled.getOffset() == 0 && pooled.getMemory() == 0)
    return BlockEntries{pooled.getBase(), pooled.getLen()};
  return op.emitOpError("expected the importance of blocks, or of pooled keys "
                        "that don't overlap and start at token 0, found '")
         << toString(keys) << "'; map it with nsa.blocks first";
}

/// Checks that the forced blocks have room, and that `top` of the result counts
/// all.
static LogicalResult verifyTop(TopKOp op) {
  uint64_t top = op.getTop();
  uint64_t forced = llvm::SaturatingAdd<uint64_t>(op.getFirst(), op.getLast());
  if (!op.getPlus() && forced > top)
    return op.emitOpError("expected at most ")
           << top << " forced blocks within top " << top << ", found first "
           << op.getFirst() << " and last " << op.getLast()
           << "; raise top, or add them to it with 'plus'";
  uint64_t all =
      op.getPlus() ? llvm::SaturatingAdd<uint64_t>(top, forced) : top;
  auto found = static_cast<uint64_t>(op.getResult().getType().getTop());
  if (found == all)
    return success();
  return op.emitOpError("expected a selection of top = ")
         << all << (op.getPlus() ? ", top plus the forced blocks" : "")
         << ", found top = " << found;
}

/// Checks that heads that share a selection fill the heads; names are checked
/// at run time.
static LogicalResult verifySharedHeads(TopKOp op, Attribute heads) {
  auto size = dyn_cast<IntegerAttr>(heads);
  if (!size || size.getInt() % op.getShareHeads() == 0)
    return success();
  return op.emitOpError("expected a number of heads that share a selection "
                        "which divides the ")
         << size.getInt() << " heads, found " << op.getShareHeads();
}

/// `count` may be null.
static LogicalResult verifyCount(Operation *op, Value count,
                                 ArrayRef<Attribute> rows) {
  if (!count)
    return success();
  auto type = cast<NamedTensorType>(count.getType());
  Type element = type.getElementType();
  if (!element.isInteger(64))
    element = IntegerType::get(op->getContext(), 32);
  return expectTensor(op, "the count", type, rows, element,
                      "there is one for each row of the selection");
}

LogicalResult TopKOp::verify() {
  NamedTensorType importance = getImportance().getType();
  if (failed(verifyScores(*this, importance)))
    return failure();
  ArrayRef<Attribute> rows = importance.getDims().drop_back();
  FailureOr<BlockEntries> entries =
      getBlockEntries(*this, importance.getDims().back());
  if (failed(entries) || failed(verifyTop(*this)) ||
      failed(verifySharedHeads(*this, rows.back())) ||
      failed(verifyCount(*this, getCount(), rows)))
    return failure();
  SelectionType result = getResult().getType();
  if (result.getBlock() != entries->block || result.getOf() != entries->of)
    return emitOpError("expected a selection of blocks of ")
           << entries->block << " tokens of '" << entries->of
           << "', which the importance is of, found blocks of "
           << result.getBlock() << " tokens of '" << result.getOf().getValue()
           << "'";
  if (result.getDims() != rows)
    return emitOpError("expected a selection for each row of the importance, ")
           << toString(rows) << ", found " << toString(result.getDims());
  if (result.getTokens() != 1)
    return emitOpError("expected a selection for each token, found one for "
                       "each of ")
           << result.getTokens();
  return success();
}

LogicalResult TopKOp::verifyRegions() {
  return verifyClause(*this, Clause::Mask, getMask());
}

//===----------------------------------------------------------------------===//
// DeclareSelectionOp, UnionOp, IndicesOp
//===----------------------------------------------------------------------===//

static bool isIndex(Type element) {
  return element.isInteger(32) || element.isInteger(64);
}

/// Checks consecutive lists: `offsets` has their bounds, and the same
/// dimensions as the entries except for the tokens' dimension.
static LogicalResult verifyOffsets(DeclareSelectionOp op,
                                   NamedTensorType entries) {
  auto offsets = cast<NamedTensorType>(op.getOffsets().getType());
  ArrayRef<Attribute> dims = offsets.getDims();
  size_t rank = offsets.isRagged() ? 2 : 3;
  bool isAlike = dims.size() == rank && entries.getRank() == rank &&
                 offsets.isRagged() == entries.isRagged() &&
                 llvm::any_of(dims.take_back(2),
                              [&](Attribute dim) {
                                return llvm::is_contained(
                                    entries.getDims().take_back(2), dim);
                              }) &&
                 (rank == 3 || dims.back() == entries.getDims().back()) &&
                 dims.drop_back(2) == entries.getDims().drop_back(2);
  if (!isAlike || !isIndex(offsets.getElementType()))
    return op.emitOpError(
               "expected i32 or i64 offsets of [batch, offsets, "
               "heads] beside indices of [batch, entries, heads], "
               "with heads first in either, or [ragged offsets, heads] "
               "beside [ragged entries, heads], found ")
           << offsets << " beside " << entries;
  if (op.getCount())
    return op.emitOpError("expected no count beside offsets, which say how "
                          "many indices a row has");
  return success();
}

/// Checks lists that all have the same number of entries.
static LogicalResult verifyWidth(DeclareSelectionOp op,
                                 NamedTensorType indices) {
  ArrayRef<Attribute> dims = indices.getDims();
  if (dims.size() != (indices.isRagged() ? 3u : 4u))
    return op.emitOpError("expected block indices of [batch, tokens, heads, "
                          "indices] or [ragged tokens, heads, indices], found ")
           << toString(dims);
  SelectionType result = op.getResult().getType();
  auto top = dyn_cast<IntegerAttr>(dims.back());
  if (top && top.getInt() == result.getTop())
    return success();
  return op.emitOpError("expected as many indices for each row as the "
                        "selection's top = ")
         << result.getTop() << ", found '" << toString(dims.back())
         << "'; make it a compile-time integer";
}

LogicalResult DeclareSelectionOp::verify() {
  NamedTensorType indices = getIndices().getType();
  if (!isIndex(indices.getElementType()))
    return emitOpError("expected block indices of i32 or i64, found ")
           << indices.getElementType();
  SmallVector<Attribute> rows(indices.getDims().drop_back());
  if (getOffsets()) {
    if (failed(verifyOffsets(*this, indices)))
      return failure();
    rows = llvm::to_vector(
        cast<NamedTensorType>(getOffsets().getType()).getDims());
    if (hasHeadsFirst(getOffsets()))
      std::swap(rows[1], rows[2]);
  } else if (failed(verifyWidth(*this, indices))) {
    return failure();
  }
  SelectionType result = getResult().getType();
  if (result.getDims() != ArrayRef(rows))
    return emitOpError("expected a selection for each row of indices, ")
           << toString(ArrayRef(rows)) << ", found "
           << toString(result.getDims());
  if (failed(verifyCount(*this, getCount(), rows)))
    return failure();
  return expectKernelDim(*this, result.getOf());
}

LogicalResult UnionOp::verify() {
  if (getParts().empty())
    return emitOpError("expected at least one selection to unite");
  SelectionType result = getResult().getType();
  Attribute one = Builder(getContext()).getI64IntegerAttr(1);
  uint64_t top = 0;
  bool hasRows = false;
  for (Value part : getParts()) {
    auto type = cast<SelectionType>(part.getType());
    top = llvm::SaturatingAdd<uint64_t>(top, type.getTop());
    if (type.getBlock() != result.getBlock() || type.getOf() != result.getOf())
      return emitOpError("expected selections of blocks of ")
             << result.getBlock() << " tokens of '" << result.getOf().getValue()
             << "', as the result is, found blocks of " << type.getBlock()
             << " tokens of '" << type.getOf().getValue() << "'";
    if (type.getDims().drop_back(2) != result.getDims().drop_back(2) ||
        (type.getDims().back() != result.getDims().back() &&
         type.getDims().back() != one))
      return emitOpError("expected selections of the result's batch and heads, "
                         "or for all heads, ")
             << toString(result.getDims()) << ", found "
             << toString(type.getDims());
    if (type.getTokens() % result.getTokens() != 0)
      return emitOpError("expected a multiple of the result's tokens for each "
                         "row, ")
             << result.getTokens() << ", found " << type.getTokens();
    hasRows |= type.getRowDim() == result.getRowDim() &&
               type.getTokens() == result.getTokens();
  }
  if (!hasRows)
    return emitOpError("expected the rows of one of the selections, found '")
           << toString(result.getRowDim()) << "'";
  if (top != static_cast<uint64_t>(result.getTop()))
    return emitOpError("expected room for all selections, top = ")
           << top << ", found top = " << result.getTop();
  return success();
}

LogicalResult IndicesOp::verify() {
  SelectionType selection = getSelection().getType();
  SmallVector<Attribute> dims(selection.getDims());
  dims.push_back(
      IntegerAttr::get(IntegerType::get(getContext(), 64), selection.getTop()));
  return expectTensor(*this, "the indices", getResult().getType(), dims,
                      IntegerType::get(getContext(), 32),
                      "there are top of them for each row");
}
