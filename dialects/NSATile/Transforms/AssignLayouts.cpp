//===- AssignLayouts.cpp - Give each tile registers, or shared memory -----===//

#include "LayoutFlow.h"
#include "NSATile/IR/LaneMap.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEASSIGNLAYOUTS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static RankedTensorType withLayout(RankedTensorType type, Attribute layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

namespace {

/// Writes layouts into types and brings operands into the layouts that ops
/// want.
class LayoutWriter {
public:
  LayoutWriter(ProgramOp program, LayoutFlow &flow)
      : program(program), flow(flow) {}

  void write() {
    SmallVector<OpOperand *> operands;
    program.walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (isTile(operand.get().getType()))
          operands.push_back(&operand);
    });
    for (OpOperand *operand : operands)
      if (Attribute wanted = flow.getWanted(*operand))
        operand->set(bring(operand->get(), wanted, operand->getOwner()));
    program.walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Value argument : region.getArguments())
          setType(argument);
      for (Value result : op->getResults())
        setType(result);
    });
  }

private:
  void setType(Value value) {
    Attribute layout = flow.getLayout(value);
    if (!layout || !isTile(value.getType()) || getTile(value).getEncoding())
      return;
    value.setType(withLayout(getTile(value), layout));
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (!constant)
      return;
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    auto type = cast<RankedTensorType>(value.getType());
    constant.setValueAttr(
        elements.isSplat()
            ? DenseElementsAttr::get(type, elements.getSplatValue<Attribute>())
            : DenseElementsAttr::getFromRawBuffer(type, elements.getRawData()));
  }

  Value bring(Value tile, Attribute wanted, Operation *user) {
    if (flow.getLayout(tile) == wanted || getTile(tile).getEncoding() == wanted)
      return tile;
    bool isShared = isa<SharedLayoutAttr>(wanted);
    if (!isShared && flow.isCheap(tile) && isRecomputable(tile, wanted))
      return recompute(tile, wanted);
    if (isScattered(tile, wanted)) {
      tile.setType(withLayout(getTile(tile), wanted));
      return tile;
    }
    return convert(tile, wanted, user);
  }

  /// Whether `tile` can be computed again in the layout. Only a constant 0 has
  /// the same registers when it is partial.
  static bool isRecomputable(Value tile, Attribute wanted) {
    if (!isa<PartialLayoutAttr>(wanted))
      return true;
    DenseElementsAttr value;
    auto constant = tile.getDefiningOp<arith::ConstantOp>();
    if (constant)
      value = dyn_cast<DenseElementsAttr>(constant.getValue());
    return value && value.isSplat() && value.getSplatValue<APFloat>().isZero();
  }

  /// Whether lanes that reduce a tile can leave it where all readers want it.
  bool isScattered(Value tile, Attribute wanted) {
    auto reduce = tile.getDefiningOp<ReduceOp>();
    auto isWanted = [&](OpOperand &use) {
      return flow.getWanted(use) == wanted;
    };
    if (!reduce || !flows(wanted) || !llvm::all_of(tile.getUses(), isWanted))
      return false;
    RankedTensorType source = getTile(reduce.getSource());
    std::optional<TileLayout> from =
        TileLayout::get(source.getShape(), flow.getLayout(reduce.getSource()));
    std::optional<TileLayout> to =
        TileLayout::get(getTile(tile).getShape(), wanted);
    return from && to && findScatter(*from, *to, reduce.getDim());
  }

  Value recompute(Value tile, Attribute wanted) {
    Value &known = recomputed[{tile, wanted}];
    if (known)
      return known;
    Operation *op = tile.getDefiningOp();
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    Value result = copy->getResult(cast<OpResult>(tile).getResultNumber());
    result.setType(RankedTensorType::get(getTile(tile).getShape(),
                                         getTile(tile).getElementType()));
    flow.assign(result, wanted);
    recomputed[{tile, wanted}] = result;
    for (OpOperand &operand : copy->getOpOperands())
      if (isTile(operand.get().getType()))
        if (Attribute inner = flow.getWanted(operand))
          operand.set(bring(operand.get(), inner, copy));
    return result;
  }

  Value convert(Value tile, Attribute wanted, Operation *user) {
    // The place as far outside of loops as the tile is known.
    Operation *before = user;
    for (Operation *op = user; !isDefinedIn(tile, op->getParentRegion());) {
      op = op->getParentOp();
      if (isa<LoopLikeOpInterface>(op))
        before = op;
    }
    Value &known =
        converted[{tile, {wanted.getAsOpaquePointer(), before->getBlock()}}];
    if (known)
      return known;
    OpBuilder builder(before);
    known = ConvertLayoutOp::create(builder, tile.getLoc(),
                                    withLayout(getTile(tile), wanted), tile);
    return known;
  }

  static bool isDefinedIn(Value value, Region *region) {
    return value.getParentRegion() == region;
  }

  ProgramOp program;
  LayoutFlow &flow;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> recomputed;
  llvm::DenseMap<std::pair<Value, std::pair<const void *, Block *>>, Value>
      converted;
};

struct AssignLayouts
    : nsacc::nsatile::impl::NSATileAssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (hasLayouts(program))
      return;
    writeReshapes(program);
    LayoutFlow flow(program);
    LayoutWriter(program, flow).write();
    eraseDead(program);
  }

  static bool hasLayouts(ProgramOp program) {
    WalkResult result = program.walk([](Operation *op) {
      for (Value value : op->getResults())
        if (isTile(value.getType()) && getTile(value).getEncoding())
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return result.wasInterrupted();
  }

  /// collapse_shape, expand_shape -> reshape; its types may have layouts
  static void writeReshapes(ProgramOp program) {
    program.walk([](Operation *op) {
      if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
        return;
      OpBuilder builder(op);
      Value result = ReshapeOp::create(
          builder, op->getLoc(), op->getResult(0).getType(), op->getOperand(0));
      op->replaceAllUsesWith(ValueRange{result});
      op->erase();
    });
  }

  /// Erases code that nothing reads any more.
  static void eraseDead(ProgramOp program) {
    SmallVector<Operation *> ops;
    program.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        op->erase();
  }
};

} // namespace
