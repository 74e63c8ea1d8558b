//===- LayoutWants.cpp - The layouts that ops need operands in ------------===//

#include "LayoutFlow.h"
#include "NSATile/IR/TileLayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc::nsatile;

Attribute LayoutFlow::getWanted(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  Value tile = operand.get();
  Attribute own = getLayout(tile);
  auto sharedUnless = [&](bool isFine) {
    return isFine ? own : getShared(getTile(tile), false);
  };
  return llvm::TypeSwitch<Operation *, Attribute>(op)
      .Case([&](DotOp dot) -> Attribute {
        if (tile == dot.getRhs() && operand.getOperandNumber() ==
                                        dot.getRhsMutable().getOperandNumber())
          return own && isShared(own) ? own : getShared(getTile(tile), true);
        bool isLhs = operand.getOperandNumber() ==
                     dot.getLhsMutable().getOperandNumber();
        if (isLhs && own && isShared(own))
          return own;
        // Registers hold rows of the left operand, never columns.
        return isLhs && dot.getTransposeLhs() ? getShared(getTile(tile), true)
                                              : getMma();
      })
      .Case([&](SoftmaxUpdateOp update) -> Attribute {
        if (operand.getOperandNumber() ==
            update.getScoresMutable().getOperandNumber())
          return getMma();
        if (operand.getOperandNumber() ==
            update.getSumMutable().getOperandNumber())
          return getLayout(update.getNewSum());
        return getRows();
      })
      .Case([&](SoftmaxFinalizeOp finalize) -> Attribute {
        if (operand.getOperandNumber() ==
            finalize.getAccMutable().getOperandNumber())
          return getMatrix(finalize);
        bool isSum = operand.getOperandNumber() ==
                     finalize.getSumMutable().getOperandNumber();
        return isSum && own && isa<PartialLayoutAttr>(own) ? own
                                                           : getRows(finalize);
      })
      .Case([&](BroadcastOp broadcast) -> Attribute {
        Attribute layout = getLayout(broadcast.getResult());
        Attribute sliced = layout
                               ? slice(getTile(broadcast.getResult()), layout,
                                       broadcast.getDims(), getTile(tile))
                               : Attribute();
        return sliced ? sliced : getShared(getTile(tile), false);
      })
      .Case([&](ReshapeOp reshape) -> Attribute {
        Attribute layout = getLayout(reshape.getResult());
        return layout ? TileLayout::getReshaped(
                            getTile(reshape.getResult()).getShape(), layout,
                            getTile(tile).getShape())
                      : Attribute();
      })
      .Case(
          [&](tensor::ExtractOp) { return sharedUnless(own && isShared(own)); })
      .Case([&](tensor::ExtractSliceOp extract) {
        bool isSame = own && own == getLayout(extract.getResult()) &&
                      isa<MmaLayoutAttr>(own) &&
                      llvm::all_of(extract.getStaticOffsets(),
                                   [](int64_t offset) { return offset == 0; });
        // The loop changes this tile, so a copy of all of it doesn't pay.
        bool isCarried =
            isa<BlockArgument>(tile) && !isa<PartialLayoutAttr>(own);
        return sharedUnless(own && (isSame || isCarried || isShared(own)));
      })
      .Case([&](tensor::InsertSliceOp insert) {
        Attribute layout = getLayout(insert.getResult());
        if (operand.getOperandNumber() ==
            insert.getDestMutable().getOperandNumber())
          return layout;
        bool isSame = own && own == layout && isa<MmaLayoutAttr>(own) &&
                      llvm::all_of(insert.getStaticOffsets(),
                                   [](int64_t offset) { return offset == 0; });
        return sharedUnless(own && (isSame || isShared(own)));
      })
      .Case(
          [&](ExchangeOp exchange) { return getLayout(exchange.getResult()); })
      .Case([&](ShiftOp shift) { return getLayout(shift.getResult()); })
      .Case([&](ScatterOp scatter) {
        return getLayout(scatter.getIndices().back());
      })
      .Case([&](TopOp top) {
        return top.getInsert() ? getInserting(getTile(tile))
                               : getLayout(top.getResult());
      })
      .Case([&](LoopLikeOpInterface loop) {
        return getLayout(loop.getTiedLoopResult(&operand));
      })
      .Case<scf::YieldOp, YieldOp>([&](auto yield) {
        return getLayout(
            yield->getParentOp()->getResult(operand.getOperandNumber()));
      })
      .Case([&](ReduceOp) {
        return own && isa<PartialLayoutAttr>(own) ? getRows() : own;
      })
      .Case<StoreOp, AccumulateOp>([&](auto) -> Attribute {
        if (own && isa<PartialLayoutAttr>(own))
          return cast<PartialLayoutAttr>(own).getOf();
        return own && isShared(own) ? getBlocked(getTile(tile)) : own;
      })
      .Default([&](Operation *other) -> Attribute {
        // An elementwise op wants the layout of its result, or of its first
        // operand that has one.
        if (other->getNumResults() > 0)
          return getLayout(other->getResult(0));
        for (Value value : other->getOperands())
          if (isTile(value.getType()) && getLayout(value) &&
              flows(getLayout(value)))
            return getLayout(value);
        return getBlocked(getTile(tile));
      });
}
