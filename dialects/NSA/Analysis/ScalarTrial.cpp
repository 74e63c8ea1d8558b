//===- ScalarTrial.cpp - Scalar code evaluated at trial values ------------===//

#include "NSA/Analysis/ScalarTrial.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include <iterator>
#include <limits>

using namespace mlir;
using namespace nsacc::nsa;

/// Trials find likely mistakes, which don't occur in longer code. Each trial
/// evaluates dozens of values.
static constexpr unsigned kMostTriedOps = 4096;

ScalarTrial::ScalarTrial(Region &region)
    : region(region),
      isShort(region.empty() ||
              std::distance(region.front().begin(), region.front().end()) <=
                  kMostTriedOps) {}

Attribute ScalarTrial::evaluate(Operation &op, std::optional<int64_t> size) {
  if (isa<nsa::DimOp>(op) && size)
    return IntegerAttr::get(IndexType::get(op.getContext()), *size);
  if (auto read = dyn_cast<nsa::TableReadOp>(op); read && table) {
    Type type = read.getType();
    if (auto real = dyn_cast<FloatType>(type))
      return FloatAttr::get(real, *table);
    return type.isIndex() ? IntegerAttr::get(type, int64_t(*table))
                          : Attribute();
  }
  // Folding doesn't change these.
  if (isa<math::SqrtOp, math::LogOp, math::Log2Op>(op))
    if (auto operand =
            dyn_cast_or_null<FloatAttr>(values.lookup(op.getOperand(0)));
        operand && operand.getValueAsDouble() < 0)
      return FloatAttr::get(operand.getType(),
                            std::numeric_limits<double>::quiet_NaN());
  if (op.getNumResults() != 1 || op.getNumRegions() != 0)
    return {};
  OwningOpRef<Operation *> &copy = copies[&op];
  if (!copy)
    copy = op.clone();
  SmallVector<OpFoldResult> results;
  bool isChanged = false;
  constexpr int most = 3; // number of in-place changes
  for (int i = 0; i < most && results.empty(); ++i) {
    auto operands = llvm::map_to_vector(
        copy->getOperands(), [&](Value value) { return values.lookup(value); });
    if (failed(copy->fold(operands, results)))
      break;
    isChanged |= results.empty();
  }
  // Results for these values don't hold for the next ones.
  if (isChanged)
    copy = {};
  if (results.size() != 1)
    return {};
  if (auto value = dyn_cast<Value>(results.front()))
    return values.lookup(value);
  return cast<Attribute>(results.front());
}

Attribute ScalarTrial::evaluate(ArrayRef<Attribute> arguments,
                                std::optional<int64_t> size) {
  values.clear();
  Block &body = region.front();
  if (!isShort)
    return {};
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : body.without_terminator())
    if (Attribute result = evaluate(op, size))
      values[op.getResult(0)] = result;
  return values.lookup(body.getTerminator()->getOperand(0));
}

Attribute ScalarTrial::evaluate(std::optional<int64_t> size) {
  SmallVector<Attribute> unknown(region.getNumArguments());
  return evaluate(unknown, size);
}

std::optional<bool> MaskTrial::isVisible(int64_t query, int64_t key) {
  if (mask.empty())
    return true;
  auto index = IndexType::get(mask.getContext());
  auto at = [&](std::optional<int64_t> value) {
    return value ? Attribute(IntegerAttr::get(index, *value)) : Attribute();
  };
  // Arguments: batch row, head, row of the query, its position, key.
  auto visible = dyn_cast_or_null<IntegerAttr>(
      code.evaluate({at(place), at(place), at(query), at(query), at(key)}));
  return visible ? std::optional(!visible.getValue().isZero()) : std::nullopt;
}

std::optional<double> nsacc::nsa::evaluateAt(ScalarTrial &trial,
                                             MLIRContext *context, double s,
                                             int64_t query, int64_t key) {
  constexpr int64_t heads = 8;
  Builder builder(context);
  auto at = [&](int64_t value) { return builder.getIndexAttr(value); };
  // Arguments: score, batch row, head, row of the query, its position, key.
  auto value = dyn_cast_or_null<FloatAttr>(trial.evaluate(
      {builder.getF32FloatAttr(s), at(0), at(0), at(query), at(query), at(key)},
      heads));
  return value ? std::optional(value.getValueAsDouble()) : std::nullopt;
}
