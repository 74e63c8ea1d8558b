//===- Splits.cpp - Dimensions that a kernel can be split along -----------===//

#include "NSA/Analysis/Splits.h"
#include "NSA/Analysis/AssertionNeed.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

namespace {

/// The kind of dimension of attention that is cut.
enum class Axis { Batch, Heads };

/// A set of names that starts with one name, and grows by names that have to be
/// cut with it.
class Cut {
public:
  Cut(KernelOp kernel, llvm::StringRef first, Axis axis)
      : kernel(kernel), axis(axis) {
    names.insert(first);
  }

  /// Whether the kernel computes the parts of the set's dimensions
  /// independently.
  bool isApart();
  Split getNames() const { return Split(names.begin(), names.end()); }

private:
  bool isCut(Attribute dim) const;
  /// Whether the tensor, selection or scalar has a dimension of the set.
  bool isCut(Value value) const;
  /// The axis's dimension of an operand of attention; null for a batch of
  /// ragged rows.
  Attribute getDim(Value operand) const;
  bool grow(ScoringOpInterface op, bool &hasGrown);
  bool growAll();

  bool mayHave(ArrayRef<Attribute> dims) const;
  bool mayHave(Value value) const;
  bool isApart(Operation *op) const;
  bool isApart(ScoringOpInterface op) const;
  bool isApart(Region &region, const ScalarPlaces &places) const;
  bool isApart(Operation *op, Value index, Attribute dim) const;

  KernelOp kernel;
  Axis axis;
  llvm::SmallSetVector<llvm::StringRef, 2> names;
};

} // namespace

static ArrayRef<Attribute> getDims(Value value) {
  return llvm::TypeSwitch<Type, ArrayRef<Attribute>>(value.getType())
      .Case<NamedTensorType, SelectionType>(
          [](auto type) { return type.getDims(); })
      .Default(ArrayRef<Attribute>());
}

bool Cut::isCut(Attribute dim) const {
  auto named = dyn_cast_if_present<NamedDimAttr>(dim);
  return named && names.contains(named.getName());
}

bool Cut::isCut(Value value) const {
  return llvm::any_of(getDims(value),
                      [&](Attribute dim) { return isCut(dim); });
}

//===----------------------------------------------------------------------===//
// Dimensions that are cut together
//===----------------------------------------------------------------------===//

Attribute Cut::getDim(Value operand) const {
  ArrayRef<Attribute> dims = getDims(operand);
  // A selection has no channels.
  bool isSelection = isa<SelectionType>(operand.getType());
  size_t rank = dims.size() + isSelection;
  if (axis == Axis::Batch)
    return rank == 4 ? dims.front() : Attribute();
  return dims[rank - 2];
}

/// All operands share the batch rows. Heads of keys and selections serve equal
/// parts of the query heads; a single head serves all of them.
bool Cut::grow(ScoringOpInterface op, bool &hasGrown) {
  SmallVector<Value> others = {op.getKey()};
  if (Value values = op.getValue())
    others.push_back(values);
  if (op.getSelection())
    others.push_back(op.getSelection());
  Attribute query = getDim(op.getQuery());
  auto isAnyCut = [&](Value other) { return isCut(getDim(other)); };
  if (!isCut(query) && llvm::none_of(others, isAnyCut))
    return true;

  auto isOne = [&](Attribute dim) {
    auto size = dyn_cast_if_present<IntegerAttr>(dim);
    return axis == Axis::Heads && size && size.getInt() == 1;
  };
  auto add = [&](Attribute dim) {
    auto named = dyn_cast_if_present<NamedDimAttr>(dim);
    if (named)
      hasGrown |= names.insert(named.getName());
    return named != nullptr;
  };
  return add(query) && llvm::all_of(others, [&](Value other) {
           Attribute dim = getDim(other);
           return isOne(dim) || add(dim);
         });
}

bool Cut::growAll() {
  for (bool hasGrown = true; hasGrown;) {
    hasGrown = false;
    WalkResult result = kernel.walk([&](ScoringOpInterface op) {
      return grow(op, hasGrown) ? WalkResult::advance()
                                : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Checks that no op mixes the parts
//===----------------------------------------------------------------------===//

/// Whether at most one of the dimensions is cut, and no dimension counts a cut
/// one's tokens.
bool Cut::mayHave(ArrayRef<Attribute> dims) const {
  auto isCounted = [&](Attribute dim) {
    return llvm::TypeSwitch<Attribute, bool>(dim)
        .Case([&](NamedDimAttr named) {
          return named.getRagged() && names.contains(named.getName());
        })
        .Case([&](OffsetsDimAttr offsets) {
          return names.contains(offsets.getOf());
        })
        .Case([&](PooledDimAttr pooled) {
          return names.contains(pooled.getBase()) ||
                 (pooled.getCount() &&
                  names.contains(pooled.getCount().getValue()));
        })
        .Case([&](BlocksDimAttr blocks) {
          return names.contains(blocks.getBase());
        })
        .Default(false);
  };
  return llvm::none_of(dims, isCounted) &&
         llvm::count_if(dims, [&](Attribute dim) { return isCut(dim); }) <= 1;
}

bool Cut::mayHave(Value value) const {
  if (auto selection = dyn_cast<SelectionType>(value.getType()))
    if (names.contains(selection.getOf().getValue()))
      return false;
  return mayHave(getDims(value));
}

/// Whether scalar code uses its index along a cut dimension only as an index of
/// that dimension in a table.
bool Cut::isApart(Operation *op, Value index, Attribute dim) const {
  auto read = dyn_cast<TableReadOp>(op);
  if (auto size = dyn_cast<DimOp>(op))
    return !names.contains(size.getDim());
  if (!read)
    return !index || !llvm::is_contained(op->getOperands(), index);
  if (index && read.getRow() == index)
    return false;
  auto dims = cast<NamedTensorType>(read.getTable().getType()).getDims();
  return llvm::all_of(llvm::zip(dims, read.getIndices()), [&](auto pair) {
    auto [of, at] = pair;
    return isCut(of) ? index && at == index && of == dim
                     : !index || at != index;
  });
}

bool Cut::isApart(Region &region, const ScalarPlaces &places) const {
  bool isBatch = axis == Axis::Batch;
  Attribute dim = isBatch ? places.batchDim : places.headDim;
  // Indices along other dimensions don't change.
  Value index =
      isCut(dim) ? (isBatch ? places.batchRow : places.head) : Value();
  WalkResult result = region.walk([&](Operation *op) {
    return isApart(op, index, dim) ? WalkResult::advance()
                                   : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

bool Cut::isApart(ScoringOpInterface op) const {
  // Neither tokens nor channels can be cut.
  auto isElsewhere = [&](Value operand) {
    return isCut(operand) && !isCut(getDim(operand));
  };
  SmallVector<Value> operands = {op.getQuery(), op.getKey()};
  if (Value values = op.getValue())
    operands.push_back(values);
  if (op.getSelection())
    operands.push_back(op.getSelection());
  return llvm::none_of(operands, isElsewhere) &&
         llvm::all_of(op->getRegions(), [&](Region &region) {
           return region.empty() ||
                  isApart(region, ScalarPlaces::get(op, region,
                                                    op.countLeading(region)));
         });
}

bool Cut::isApart(Operation *op) const {
  if (isa<ReturnOp>(op))
    return true;
  // A value computed from a part is a part.
  auto isCutValue = [&](Value value) { return isCut(value); };
  if (llvm::any_of(op->getOperands(), isCutValue) &&
      !llvm::all_of(op->getResults(), isCutValue))
    return false;
  if (auto scoring = dyn_cast<ScoringOpInterface>(op))
    return isApart(scoring);
  if (auto topk = dyn_cast<TopKOp>(op))
    return (axis == Axis::Batch || topk.getShareHeads() == 1 ||
            !isCut(topk.getResult())) &&
           isApart(topk.getMask(), ScalarPlaces::get(topk));
  return llvm::all_of(op->getRegions(), [&](Region &region) {
    return isApart(region, ScalarPlaces());
  });
}

bool Cut::isApart() {
  if (!growAll())
    return false;
  auto mayAllHave = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value value) { return mayHave(value); });
  };
  return mayAllHave(kernel.getBody().getArguments()) &&
         llvm::all_of(kernel.getBody().front(), [&](Operation &op) {
           return mayAllHave(op.getResults()) && isApart(&op);
         });
}

SmallVector<Split> nsa::findSplits(KernelOp kernel) {
  SmallVector<Split> splits;
  auto isKnown = [&](llvm::StringRef name) {
    return llvm::any_of(splits, [&](const Split &split) {
      return llvm::is_contained(split, name);
    });
  };
  for (Value argument : kernel.getBody().getArguments())
    for (Attribute dim : getDims(argument))
      for (Axis axis : {Axis::Batch, Axis::Heads}) {
        auto named = dyn_cast<NamedDimAttr>(dim);
        if (!named || isKnown(named.getName()))
          continue;
        Cut cut(kernel, named.getName(), axis);
        if (cut.isApart())
          splits.push_back(cut.getNames());
      }
  return splits;
}
