//===- Pool.cpp - nsa.pool ------------------------------------------------===//
//
// docs/spec.md, 3.2.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "Parallel.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

namespace {

/// Data that the windows of a pool share.
struct Pool {
  nsa::PoolKind kind;
  nsa::PooledDimAttr dim;
  const TensorValue *input, *weights;
  RowOffsets tokenRows, pooledRows;
  int64_t heads, depth;
  Rounding rounding{};

  void run(int64_t row, MutableArrayRef<double> out) const;

private:
  double getWeight(int64_t head, int64_t offset) const;
  double pool(ArrayRef<double> column, int64_t head, int64_t firstOffset) const;
};

} // namespace

/// Weights are [len] or [H, len].
double Pool::getWeight(int64_t head, int64_t offset) const {
  int64_t line = weights->shape.size() == 2 ? head : 0;
  return weights->reals[line * weights->shape.back() + offset];
}

/// NaN if either is.
static double maximum(double x, double y) {
  return std::isnan(x) || x > y ? x : y;
}

/// One element, from the tokens that exist; `firstOffset` is the index of the
/// first of them in the window.
double Pool::pool(ArrayRef<double> column, int64_t head,
                  int64_t firstOffset) const {
  bool complete = static_cast<int64_t>(column.size()) == dim.getLen();
  bool zeros = !complete && dim.getTail() != nsa::Tail::Average;
  switch (kind) {
  case nsa::PoolKind::Mean: {
    double sum = 0;
    for (double x : column)
      sum = rounding(sum + x);
    return rounding(sum / (zeros ? dim.getLen() : column.size()));
  }
  case nsa::PoolKind::Max: {
    double most = zeros ? 0 : column.front();
    for (double x : column)
      most = maximum(x, most);
    return most;
  }
  case nsa::PoolKind::Weighted: {
    double sum = 0;
    for (auto [index, x] : llvm::enumerate(column))
      sum = rounding(sum + rounding(getWeight(head, firstOffset + index) * x));
    return sum;
  }
  }
  llvm_unreachable("unknown pool");
}

/// One pooled row: all heads and depths of a window.
void Pool::run(int64_t row, MutableArrayRef<double> out) const {
  int64_t b = pooledRows.findBatch(row);
  int64_t entry = row - pooledRows.getStart(b);
  int64_t start = dim.getStart(entry);
  int64_t begin = std::max<int64_t>(start, 0);
  int64_t end = std::min(dim.getEnd(entry), tokenRows.getLength(b));
  int64_t inner = heads * depth;
  std::vector<double> column(end - begin);
  for (int64_t element = 0; element < inner; ++element) {
    for (int64_t token = begin; token < end; ++token)
      column[token - begin] =
          input->reals[(tokenRows.getStart(b) + token) * inner + element];
    out[element] = pool(column, element / depth, begin - start);
  }
}

llvm::Expected<TensorValue>
nsacc::interpreter::evaluatePool(nsa::PoolOp op, const Context &context) {
  const Environment &environment = context.environment;
  auto inputType = cast<nsa::NamedTensorType>(op.getInput().getType());
  auto type = cast<nsa::NamedTensorType>(op.getResult().getType());
  TensorValue result =
      TensorValue::makeReal(environment.getShape(type.getDims()));
  Pool pool{
      .kind = op.getKind(),
      .dim = cast<nsa::PooledDimAttr>(type.getDims()[type.isRagged() ? 0 : 1]),
      .input = &context.getTensor(op.getInput()),
      .weights =
          op.getWeights() ? &context.getTensor(op.getWeights()) : nullptr,
      .tokenRows = environment.getRows(inputType.getDims()),
      .pooledRows = environment.getRows(type.getDims()),
      .heads = result.shape.end()[-2],
      .depth = result.shape.back(),
      .rounding = context.rounding};

  int64_t inner = pool.heads * pool.depth;
  auto runRow = [&](int64_t row) {
    pool.run(row, MutableArrayRef(result.reals).slice(row * inner, inner));
    return llvm::Error::success();
  };
  if (llvm::Error error =
          forEachRow(pool.pooledRows.getNumRows(), context.threads,
                     [&]() -> RowWorker { return runRow; }))
    return std::move(error);
  return result;
}
