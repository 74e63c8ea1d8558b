//===- Selection.cpp - nsa.declare_selection, nsa.union and nsa.indices ---===//
//
// docs/spec.md, 3.6 and 3.7.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "NSA/IR/NSANames.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

/// "expected -1 or 0 to 63: S has 4096 tokens in batch row 2"
static std::string describeRange(nsa::SelectionType type, int64_t blocks,
                                 int64_t tokens, int64_t b) {
  std::string text = "expected -1";
  if (blocks > 0)
    text += " or 0 to " + std::to_string(blocks - 1);
  return text + ": " + type.getOf().str() + " has " + std::to_string(tokens) +
         " tokens in batch row " + std::to_string(b) + ", " +
         std::to_string(blocks) + " blocks of " +
         std::to_string(type.getBlock());
}

namespace {

/// The entries of one row's list: every `stride`-th position from `first` on.
struct ListEntries {
  int64_t first = 0, stride = 1, count = 0;
};

/// The lists of a selection that is an input.
class HandedIn {
public:
  HandedIn(nsa::DeclareSelectionOp op, const Context &context)
      : op(op), environment(context.environment),
        type(cast<nsa::SelectionType>(op.getResult().getType())),
        indices(context.getTensor(op.getIndices())),
        count(op.getCount() ? &context.getTensor(op.getCount()) : nullptr),
        offsets(op.getOffsets() ? &context.getTensor(op.getOffsets())
                                : nullptr),
        rows(environment.getRows(type.getDims())),
        heads(environment.getSize(type.getDims().back())) {}

  llvm::Expected<SelectionValue> evaluate();

private:
  /// Offset `place` of a head and batch row, 0 to the number of entries.
  llvm::Expected<int64_t> getOffset(int64_t b, int64_t place, int64_t head);
  /// The flat position in `tensor`, offsets or entries, of element `place` of a
  /// batch row and head.
  int64_t getPosition(const TensorValue &tensor, int64_t b, int64_t place,
                      int64_t head);
  /// Number of entries of a batch row.
  int64_t getNumEntries(int64_t b) {
    return indices.shape.size() == 3
               ? indices.shape[op.hasHeadsFirst(op.getIndices()) ? 2 : 1]
               : environment.getRows({op.getEntryDim()}).getLength(b);
  }
  llvm::Expected<ListEntries> findEntries(int64_t b, int64_t row, int64_t head);
  llvm::Expected<SmallVector<int64_t>> getBlocks(int64_t b,
                                                 const ListEntries &entries);

  nsa::DeclareSelectionOp op;
  const Environment &environment;
  nsa::SelectionType type;
  const TensorValue &indices;
  const TensorValue *count, *offsets;
  RowOffsets rows;
  int64_t heads;
};

} // namespace

/// Stores blocks as a set: order and repetition don't matter.
static void storeSet(SmallVectorImpl<int64_t> &blocks,
                     MutableArrayRef<int64_t> row) {
  llvm::sort(blocks);
  blocks.erase(llvm::unique(blocks), blocks.end());
  llvm::copy(blocks, row.begin());
}

static std::string describeElement(Value tensor, int64_t position,
                                   const TensorValue &value) {
  return nsa::describeTensor(tensor) + " at " +
         describePosition(position, value.shape, nsa::getDeclaredOrder(tensor));
}

llvm::Error nsacc::interpreter::checkCounts(Value tensor,
                                            const TensorValue &counts,
                                            int64_t top) {
  for (auto [position, count] : llvm::enumerate(counts.integers))
    if (count < 0 || count > top)
      return makeError("count " + describeElement(tensor, position, counts) +
                       " is " + llvm::Twine(count) + ", but must be 0 to " +
                       llvm::Twine(top) + " (top)");
  return llvm::Error::success();
}

int64_t HandedIn::getPosition(const TensorValue &tensor, int64_t b,
                              int64_t place, int64_t head) {
  Value of = &tensor == offsets ? op.getOffsets() : op.getIndices();
  if (op.hasHeadsFirst(of))
    return (b * heads + head) * tensor.shape.back() + place;
  Attribute dim = &tensor == offsets ? type.getRowDim() : op.getEntryDim();
  int64_t start = tensor.shape.size() == 3
                      ? b * tensor.shape[1]
                      : environment.getRows({dim}).getStart(b);
  return (start + place) * heads + head;
}

llvm::Expected<int64_t> HandedIn::getOffset(int64_t b, int64_t place,
                                            int64_t head) {
  int64_t position = getPosition(*offsets, b, place, head);
  int64_t offset = offsets->integers[position], most = getNumEntries(b);
  if (offset >= 0 && offset <= most)
    return offset;
  return makeError(
      "offset " + describeElement(op.getOffsets(), position, *offsets) +
      " is " + llvm::Twine(offset) + ", but must be 0 to " + llvm::Twine(most) +
      ", the number of indices of batch row " + llvm::Twine(b));
}

llvm::Expected<ListEntries> HandedIn::findEntries(int64_t b, int64_t row,
                                                  int64_t head) {
  if (!offsets) {
    int64_t width = type.getTop(), line = row * heads + head;
    return ListEntries{line * width, 1, count ? count->integers[line] : width};
  }
  int64_t list = row - rows.getStart(b);
  if (list + 1 == rows.getLength(b))
    return ListEntries();
  llvm::Expected<int64_t> start = getOffset(b, list, head);
  if (!start)
    return start.takeError();
  llvm::Expected<int64_t> end = getOffset(b, list + 1, head);
  if (!end)
    return end.takeError();
  int64_t size = *end - *start;
  if (size < 0 || size > type.getTop()) {
    std::string problem = "offsets don't decrease";
    if (size > 0)
      problem = "a list has at most " + std::to_string(type.getTop()) +
                " (top) indices, found " + std::to_string(size);
    return makeError("offset " +
                     describeElement(op.getOffsets(),
                                     getPosition(*offsets, b, list + 1, head),
                                     *offsets) +
                     " is " + llvm::Twine(*end) + " behind " +
                     llvm::Twine(*start) + ": " + problem);
  }
  return ListEntries{getPosition(indices, b, *start, head),
                     op.hasHeadsFirst(op.getIndices()) ? 1 : heads, size};
}

llvm::Expected<SmallVector<int64_t>>
HandedIn::getBlocks(int64_t b, const ListEntries &entries) {
  int64_t tokens = environment.getLength(type.getOf(), b);
  int64_t blocks = llvm::divideCeil(tokens, type.getBlock());
  SmallVector<int64_t> chosen;
  for (int64_t k = 0; k < entries.count; ++k) {
    int64_t position = entries.first + k * entries.stride;
    int64_t block = indices.integers[position];
    if (block < -1 || block >= blocks)
      return makeError("selection " +
                       describeElement(op.getIndices(), position, indices) +
                       " is " + llvm::Twine(block) + "; " +
                       describeRange(type, blocks, tokens, b));
    if (block >= 0)
      chosen.push_back(block);
  }
  return chosen;
}

llvm::Expected<SelectionValue> HandedIn::evaluate() {
  if (count)
    if (llvm::Error error = checkCounts(op.getCount(), *count, type.getTop()))
      return std::move(error);
  SelectionValue result(heads, type.getTop(), rows.getNumRows());
  for (int64_t row = 0; row < rows.getNumRows(); ++row) {
    int64_t b = rows.findBatch(row);
    for (int64_t head = 0; head < heads; ++head) {
      llvm::Expected<ListEntries> entries = findEntries(b, row, head);
      if (!entries)
        return entries.takeError();
      llvm::Expected<SmallVector<int64_t>> chosen = getBlocks(b, *entries);
      if (!chosen)
        return chosen.takeError();
      storeSet(*chosen, result.get(row, head));
    }
  }
  return result;
}

llvm::Expected<SelectionValue>
nsacc::interpreter::evaluateDeclareSelection(nsa::DeclareSelectionOp op,
                                             const Context &context) {
  return HandedIn(op, context).evaluate();
}

/// The row of `part` for row `row` of a batch row's union.
static ArrayRef<int64_t> getPart(const SelectionValue &part,
                                 const RowOffsets &rows, int64_t b, int64_t row,
                                 int64_t head) {
  if (row >= rows.getLength(b))
    return {};
  return part.get(rows.getStart(b) + row, part.heads == 1 ? 0 : head);
}

SelectionValue nsacc::interpreter::evaluateUnion(nsa::UnionOp op,
                                                 const Context &context) {
  auto type = cast<nsa::SelectionType>(op.getResult().getType());
  RowOffsets rows = context.environment.getRows(type.getDims());
  int64_t heads = context.environment.getSize(type.getDims().back());
  SelectionValue result(heads, type.getTop(), rows.getNumRows());
  for (int64_t row = 0; row < rows.getNumRows(); ++row) {
    int64_t b = rows.findBatch(row);
    bool isBehind = row + 1 == rows.getStart(b) + rows.getLength(b) &&
                    nsa::hasRowsOfOffsets(op.getResult());
    if (isBehind)
      continue;
    for (int64_t head = 0; head < heads; ++head) {
      SmallVector<int64_t> chosen;
      for (Value each : op.getParts()) {
        auto own = cast<nsa::SelectionType>(each.getType());
        int64_t place = (row - rows.getStart(b)) * type.getTokens();
        for (int64_t block : getPart(context.getSelection(each),
                                     context.environment.getRows(own.getDims()),
                                     b, place / own.getTokens(), head))
          if (block >= 0)
            chosen.push_back(block);
      }
      storeSet(chosen, result.get(row, head));
    }
  }
  return result;
}

TensorValue nsacc::interpreter::evaluateIndices(nsa::IndicesOp op,
                                                const Context &context) {
  auto type = cast<nsa::NamedTensorType>(op.getResult().getType());
  const SelectionValue &selection = context.getSelection(op.getSelection());
  TensorValue result =
      TensorValue::makeInteger(context.environment.getShape(type.getDims()));
  llvm::fill(result.integers, -1);
  int64_t width = result.shape.back(), lines = 0;
  if (selection.width > 0)
    lines = selection.blocks.size() / selection.width;
  for (int64_t line = 0; line < lines; ++line)
    llvm::copy(ArrayRef(selection.blocks)
                   .slice(line * selection.width, selection.width),
               result.integers.begin() + line * width);
  return result;
}
