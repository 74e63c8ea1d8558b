//===- QueryShape.cpp - Query tiles that values are computed over ---------===//

#include "nsacc/Schedule/QueryShape.h"
#include "NSA/Transforms/Passes.h"
#include <numeric>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

std::optional<int64_t> nsacc::getStaticSize(KernelOp kernel, Attribute dim) {
  if (auto size = dyn_cast<IntegerAttr>(dim))
    return size.getInt();
  auto named = dyn_cast<NamedDimAttr>(dim);
  auto sizes = kernel->getAttrOfType<DictionaryAttr>(kSizesAttrName);
  if (!named || named.getRagged() || !sizes)
    return std::nullopt;
  if (auto size = sizes.getAs<IntegerAttr>(named.getName()))
    return size.getInt();
  return std::nullopt;
}

SmallVector<ScoringOpInterface> nsacc::findAttends(KernelOp kernel) {
  SmallVector<ScoringOpInterface> found;
  for (auto op : kernel.getBody().getOps<ScoringOpInterface>())
    if (op.getValue())
      found.push_back(op);
  return found;
}

QueryDims QueryDims::get(NamedTensorType query) {
  ArrayRef<Attribute> dims = query.getDims();
  if (query.isRagged())
    return {Attribute(), dims[0], dims[1]};
  return {dims[0], dims[1], dims[2]};
}

DimSet nsacc::getRowDims(NamedTensorType type) {
  int64_t first = type.isRagged() ? kToken : kBatch;
  DimSet dims(std::max<int64_t>(first + type.getRank(), kRowDims));
  dims.set(first, first + type.getRank());
  return dims;
}

QueryShape nsacc::getQueryShape(KernelOp kernel, ScoringOpInterface op) {
  auto query = cast<NamedTensorType>(op.getQuery().getType());
  auto keys = cast<NamedTensorType>(op.getKey().getType());
  QueryShape shape = {QueryDims::get(query),
                      keys.getDims()[keys.isRagged() ? 1 : 2]};
  int64_t queryHeads = getStaticSize(kernel, shape.dims.head).value_or(1);
  int64_t keyHeads = getStaticSize(kernel, shape.keyHead).value_or(1);
  shape.group =
      std::max<int64_t>(1, queryHeads / std::max<int64_t>(1, keyHeads));
  return shape;
}

namespace {

/// Walks from a tensor to the attentions that it's computed from.
class ShapeFinder {
public:
  ShapeFinder(KernelOp kernel, Value tensor,
              llvm::function_ref<bool(Value)> isInMemory)
      : kernel(kernel), isInMemory(isInMemory),
        hasRows(hasRowDims(cast<NamedTensorType>(tensor.getType()))) {
    visit(tensor, getOwnDims(tensor));
  }

  FoundShape found;

private:
  static DimSet getOwnDims(Value tensor) {
    return getRowDims(cast<NamedTensorType>(tensor.getType()));
  }

  /// Visits a value that is read at dimensions `dims` of the tensor.
  void visit(Value value, const DimSet &dims) {
    Operation *op = value.getDefiningOp();
    if (!op || isInMemory(value) || !visited.insert({value, dims}).second)
      return;
    if (auto map = dyn_cast<MapOp>(op)) {
      for (Value input : map.getInputs())
        visit(input, compose(dims, map.getPlaces(input)));
      return;
    }
    if (!isa<ScoringOpInterface, MergeOp, BlocksOp, DeclareBlocksOp>(op))
      return;
    if (!hasRows || dims != getOwnDims(value)) {
      found.others.insert(op);
      return;
    }
    if (auto scoring = dyn_cast<ScoringOpInterface>(op))
      return add(scoring);
    for (Value operand : op->getOperands())
      visit(operand, getOwnDims(operand));
    // A merge of values in memory has the query tiles of the attentions behind
    // them.
    if (auto merge = dyn_cast<MergeOp>(op); merge && !found.shape)
      if (ScoringOpInterface attend = findAttend(merge))
        add(attend);
  }

  static ScoringOpInterface findAttend(MergeOp merge) {
    for (Value output : merge.getOutputs()) {
      if (auto attend = output.getDefiningOp<ScoringOpInterface>())
        return attend;
      if (auto inner = output.getDefiningOp<MergeOp>())
        if (ScoringOpInterface attend = findAttend(inner))
          return attend;
    }
    return {};
  }

  void add(ScoringOpInterface op) {
    QueryShape own = getQueryShape(kernel, op);
    if (!found.shape) {
      found.shape = own;
      found.first = op;
    } else if (*found.shape != own) {
      found.others.insert(op);
    }
  }

  KernelOp kernel;
  llvm::function_ref<bool(Value)> isInMemory;
  bool hasRows;
  llvm::DenseSet<std::pair<Value, DimSet>> visited;
};

} // namespace

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

bool nsacc::isPerQueryHead(SelectionType selection, const QueryDims &dims,
                           int64_t group) {
  return group > 1 && selection.getDims().back() == dims.head;
}

TileLists::TileLists(SelectionType selection, const QueryDims &dims,
                     int64_t tileTokens, int64_t group) {
  bool perQueryHead = isPerQueryHead(selection, dims, group);
  int64_t shared = selection.getTokens();
  // Tiles begin at multiples of their size.
  tokens = perQueryHead ? 1 : std::gcd(shared, tileTokens);
  rows = perQueryHead ? 1 : tokens * group;
  count = tileTokens * group / rows;
  areWhole = perQueryHead || tokens == std::min(shared, tileTokens);
}

FoundShape nsacc::findQueryShape(KernelOp kernel, Value tensor,
                                 llvm::function_ref<bool(Value)> isInMemory) {
  return ShapeFinder(kernel, tensor, isInMemory).found;
}
