//===- ScalarTables.cpp - Dimensions and table reads in scalar code -------===//

#include "Context.h"
#include "NSA/IR/NSANames.h"
#include "NSA/IR/NSAOps.h"
#include "ScalarOps.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

StepFunction nsacc::interpreter::makeDimStep(Operation *op, unsigned result,
                                             const Context &context) {
  const Environment *environment = &context.environment;
  std::string name = cast<nsa::DimOp>(op).getDim().str();
  return [=](Frame &frame) {
    std::fill_n(frame.getRegister<int64_t>(result), frame.getLanes(),
                environment->getLength(name, frame.getBatchRow()));
  };
}

namespace {

/// A tensor from which scalar code reads single elements.
struct Table {
  std::string name;
  SmallVector<std::string> dimNames;
  SmallVector<int64_t> sizes;
  /// For each index, its dimension in the program's order.
  SmallVector<int64_t> order;
  /// The first row of each batch entry in a packed dimension.
  std::optional<RowOffsets> rows;
  unsigned packedDim = 0;

  /// The flat position of an element; -1 if an index is out of range.
  int64_t find(ArrayRef<int64_t> indices, int64_t row) const;
  std::string describe(ArrayRef<int64_t> indices, int64_t row) const;

private:
  bool isPacked(unsigned dim) const { return rows && dim == packedDim; }
  int64_t getSize(unsigned dim, int64_t row) const {
    return isPacked(dim) ? rows->getLength(row) : sizes[dim];
  }
};

} // namespace

int64_t Table::find(ArrayRef<int64_t> indices, int64_t row) const {
  if (rows && (row < 0 || row >= rows->getBatch()))
    return -1;
  int64_t position = 0;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (index < 0 || index >= getSize(dim, row))
      return -1;
    int64_t start = isPacked(dim) ? rows->getStart(row) : 0;
    position = position * sizes[dim] + start + index;
  }
  return position;
}

std::string Table::describe(ArrayRef<int64_t> indices, int64_t row) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto declared = llvm::map_range(
      order, [&](int64_t dim) -> int64_t { return indices[dim]; });
  os << "table " << name << " is read at [" << llvm::interleaved(declared)
     << "]";
  if (rows && (row < 0 || row >= rows->getBatch())) {
    os << " of batch row " << row << ", but there are " << rows->getBatch();
    return text;
  }
  for (int64_t dim : order) {
    int64_t size = getSize(dim, row);
    if (indices[dim] >= 0 && indices[dim] < size)
      continue;
    os << ", but dimension " << dimNames[dim] << " has size " << size;
    break;
  }
  return text;
}

template <typename T>
static StepFunction makeRead(Table table, const std::vector<T> &data,
                             unsigned result, SmallVector<unsigned> indices,
                             std::optional<unsigned> row) {
  return [=, &data](Frame &frame) {
    T *out = frame.getRegister<T>(result);
    SmallVector<const int64_t *, 4> columns;
    for (unsigned index : indices)
      columns.push_back(frame.getRegister<int64_t>(index));
    const int64_t *rows = row ? frame.getRegister<int64_t>(*row) : nullptr;
    SmallVector<int64_t, 4> at(columns.size());
    for (size_t lane = 0, e = frame.getLanes(); lane != e; ++lane) {
      for (auto [index, column] : llvm::zip_equal(at, columns))
        index = column[lane];
      int64_t batchRow = rows ? rows[lane] : frame.getBatchRow();
      int64_t position = table.find(at, batchRow);
      if (position < 0)
        frame.fail(lane, [&] { return table.describe(at, batchRow); });
      out[lane] = position < 0 ? T() : data[position];
    }
  };
}

StepFunction nsacc::interpreter::makeTableReadStep(Operation *op,
                                                   unsigned result,
                                                   ArrayRef<unsigned> operands,
                                                   const Context &context) {
  auto read = cast<nsa::TableReadOp>(op);
  auto type = cast<nsa::NamedTensorType>(read.getTable().getType());
  Table table;
  table.name = nsa::describeTensor(read.getTable());
  table.order = nsa::getDeclaredOrder(read.getTable());
  for (size_t dim = 0; dim < type.getRank(); ++dim)
    table.dimNames.push_back(nsa::describeDim(read.getTable(), dim));
  table.sizes = context.environment.getShape(type.getDims());
  for (auto [index, dim] : llvm::enumerate(type.getDims())) {
    auto named = dyn_cast<nsa::NamedDimAttr>(dim);
    if (!named || !named.getRagged())
      continue;
    table.rows = context.environment.getRaggedRows(named.getName());
    table.packedDim = index;
  }

  SmallVector<unsigned> indices(operands.take_front(read.getIndices().size()));
  std::optional<unsigned> row;
  if (read.getRow())
    row = operands.back();
  if (isa<FloatType>(type.getElementType()))
    return makeRead(std::move(table), context.getTensor(read.getTable()).reals,
                    result, std::move(indices), row);
  return makeRead(std::move(table), context.getTensor(read.getTable()).integers,
                  result, std::move(indices), row);
}
