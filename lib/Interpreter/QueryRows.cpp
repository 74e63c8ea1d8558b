//===- QueryRows.cpp - Query rows that are independent --------------------===//

#include "QueryRows.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

/// Whether rows of `dims` come first among a tensor's dimensions.
static bool startsWith(ArrayRef<Attribute> tensorDims,
                       ArrayRef<Attribute> dims) {
  return tensorDims.size() >= dims.size() &&
         tensorDims.take_front(dims.size()) == dims;
}

static ArrayRef<Attribute> getDims(Value value) {
  if (auto selection = dyn_cast<nsa::SelectionType>(value.getType()))
    return selection.getDims();
  return cast<nsa::NamedTensorType>(value.getType()).getDims();
}

/// Dimensions of the rows that an op computes one by one.
static ArrayRef<Attribute> getRowDims(Operation &op) {
  return llvm::TypeSwitch<Operation *, ArrayRef<Attribute>>(&op)
      .Case([](nsa::ScoringOpInterface op) {
        return getDims(op.getQuery()).drop_back(2);
      })
      .Case<nsa::BlocksOp, nsa::TopKOp>(
          [](auto op) { return getDims(op.getImportance()).drop_back(2); })
      .Default([](Operation *) { return ArrayRef<Attribute>(); });
}

/// Operands of which any row may be read for each row of an op's result.
/// (Scalar code reads only arguments of the kernel.)
static SmallVector<Value> getReadWhole(Operation &op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(&op)
      .Case([](nsa::ScoringOpInterface op) {
        SmallVector<Value> read = {op.getKey()};
        if (op.getValue())
          read.push_back(op.getValue());
        return read;
      })
      .Case<nsa::PoolOp, nsa::DeclarePooledOp>(
          [](auto op) { return SmallVector<Value>{op.getInput()}; })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

/// The dimensions of the rows of all ops; empty if rows depend on each other.
static ArrayRef<Attribute> findSeparateRows(nsa::KernelOp kernel) {
  ArrayRef<Attribute> rows;
  DenseSet<Value> computedByRow;
  auto isByRow = [&](Value value) { return computedByRow.contains(value); };
  for (Operation &op : kernel.getBody().front()) {
    ArrayRef<Attribute> dims = getRowDims(op);
    if (rows.empty())
      rows = dims;
    auto topk = dyn_cast<nsa::TopKOp>(op);
    if ((!dims.empty() && dims != rows) ||
        (topk && topk.getShareTokens() != 1) ||
        llvm::any_of(getReadWhole(op), isByRow))
      return {};
    if (dims.empty() && llvm::none_of(op.getOperands(), isByRow))
      continue;
    for (Value result : op.getResults()) {
      if (!startsWith(getDims(result), rows))
        return {};
      computedByRow.insert(result);
    }
  }
  return rows;
}

QueryRows::QueryRows(nsa::KernelOp kernel, const Environment &environment)
    : dims(findSeparateRows(kernel)) {
  if (!dims.empty())
    numRows = environment.getRows(dims).getNumRows();
}

std::optional<int64_t> QueryRows::find(nsa::NamedTensorType type,
                                       int64_t element,
                                       int64_t numElements) const {
  if (dims.empty() || !startsWith(type.getDims(), dims))
    return std::nullopt;
  return element * numRows / numElements;
}
