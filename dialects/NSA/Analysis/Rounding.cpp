//===- Rounding.cpp - Precision that results need -------------------------===//

#include "NSA/Analysis/Rounding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static Type getElementType(Value tensor) {
  return cast<NamedTensorType>(tensor.getType()).getElementType();
}

namespace {

/// Follows an output through the arithmetic of a map.
class MapUses {
public:
  MapUses(MapOp map, Value output);

  /// Whether everything computed from the output consists of sums, and of
  /// products with numbers that a row's elements share.
  bool areSums();

private:
  bool isOfRow(Value value) const { return ofRows.contains(value); }
  bool isMade(Value value) const { return made.contains(value); }
  bool isSum(Operation *op) const;

  MapOp map;
  /// Values that the elements of a row share, and values computed from the
  /// output.
  llvm::SmallPtrSet<Value, 16> ofRows, made;
};

} // namespace

MapUses::MapUses(MapOp map, Value output) : map(map) {
  int64_t channels =
      cast<NamedTensorType>(map.getResult().getType()).getRank() - 1;
  for (auto [input, argument] :
       llvm::zip(map.getInputs(), map.getBody().getArguments())) {
    if (input == output)
      made.insert(argument);
    else if (channels < 0 || !map.getPlaces(input).test(channels))
      ofRows.insert(argument);
  }
}

bool MapUses::isSum(Operation *op) const {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp,
            arith::TruncFOp, YieldOp>([](auto) { return true; })
      .Case([&](arith::MulFOp product) {
        return isOfRow(product.getLhs()) || isOfRow(product.getRhs());
      })
      .Case([&](arith::DivFOp quotient) { return isOfRow(quotient.getRhs()); })
      .Default(false);
}

bool MapUses::areSums() {
  for (Operation &op : map.getBody().front()) {
    bool uses = false;
    op.walk([&](Operation *inner) {
      uses |= llvm::any_of(inner->getOperands(),
                           [&](Value value) { return isMade(value); });
    });
    if (uses) {
      if (!isSum(&op))
        return false;
      made.insert_range(op.getResults());
    } else if (op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
               llvm::all_of(op.getOperands(),
                            [&](Value value) { return isOfRow(value); })) {
      ofRows.insert_range(op.getResults());
    }
  }
  return true;
}

bool nsa::isRoundedToBF16(ScoringOpInterface op) {
  if (!op.getValue() || !getElementType(op.getValue()).isBF16())
    return false;
  // Holds each tensor once, however many paths lead to it.
  llvm::SetVector<Value> made;
  made.insert(op.getOutput());
  for (size_t i = 0; i < made.size(); ++i)
    for (Operation *user : made[i].getUsers()) {
      auto map = dyn_cast<MapOp>(user);
      if (map ? !MapUses(map, made[i]).areSums() : !isa<MergeOp>(user))
        return false;
      for (Value result : user->getResults())
        if (!getElementType(result).isBF16())
          made.insert(result);
    }
  return true;
}
