//===- Selection.cpp - nsa.declare_selection and nsa.indices --------------===//
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

/// A set: order and repetition don't matter, -1 is padding.
llvm::Expected<SelectionValue>
nsacc::interpreter::evaluateDeclareSelection(nsa::DeclareSelectionOp op,
                                             const Context &context) {
  const Environment &environment = context.environment;
  const TensorValue &indices = context.getTensor(op.getIndices());
  auto type = cast<nsa::SelectionType>(op.getResult().getType());
  RowOffsets rows = environment.getRows(
      cast<nsa::NamedTensorType>(op.getIndices().getType()).getDims());
  int64_t heads = environment.getSize(type.getDims().back());
  int64_t width = indices.shape.back();
  SelectionValue result(heads, width, rows.getNumRows());

  for (int64_t row = 0; row < rows.getNumRows(); ++row) {
    int64_t b = rows.findBatch(row);
    int64_t tokens = environment.getLength(type.getOf(), b);
    int64_t blocks = llvm::divideCeil(tokens, type.getBlock());
    for (int64_t head = 0; head < heads; ++head) {
      SmallVector<int64_t> chosen;
      for (int64_t k = 0; k < width; ++k) {
        int64_t position = (row * heads + head) * width + k;
        int64_t block = indices.integers[position];
        if (block < -1 || block >= blocks)
          return makeError(
              "selection " + nsa::describeTensor(op.getIndices()) + " at " +
              describePosition(position, indices.shape,
                               nsa::getDeclaredOrder(op.getIndices())) +
              " is " + llvm::Twine(block) + "; " +
              describeRange(type, blocks, tokens, b));
        if (block >= 0)
          chosen.push_back(block);
      }
      llvm::sort(chosen);
      chosen.erase(llvm::unique(chosen), chosen.end());
      llvm::copy(chosen, result.get(row, head).begin());
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
