//===- TileLoop.cpp - Loops whose steps are tiles -------------------------===//

#include "NSATile/IR/TileLoop.h"
#include "NSATile/IR/NSATileUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nsacc::nsatile;

TileLoop::TileLoop(Operation *candidate) {
  auto fold = dyn_cast_if_present<FoldOp>(candidate);
  if ((fold && fold.getSingleRange()) || isa_and_present<scf::ForOp>(candidate))
    op = candidate;
}

static TileRange getTileRange(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    Value first = loop.getLowerBound();
    return {first, loop.getUpperBound(), first, first};
  }
  return *cast<FoldOp>(op).getSingleRange();
}

Value TileLoop::getIndex() const { return getBody()->getArgument(0); }
Value TileLoop::getFirst() const { return getTileRange(op).first; }
Value TileLoop::getEnd() const { return getTileRange(op).end; }

Value TileLoop::getStep(OpBuilder &builder) const {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getStep();
  return arith::ConstantIndexOp::create(builder, getLoc(), 1);
}

bool TileLoop::hasUnitStep() const {
  auto loop = dyn_cast<scf::ForOp>(op);
  return !loop || matchPattern(loop.getStep(), m_One());
}

bool TileLoop::isKnownAhead(Value value) const {
  return !walkSources(value, [&](Value source) {
            if (getInterface().isDefinedOutsideOfLoop(source) ||
                source == getIndex())
              return WalkResult::skip();
            Operation *code = source.getDefiningOp();
            bool isOwn =
                code && code->getBlock() == getBody() && isScalarCode(code);
            return isOwn ? WalkResult::advance() : WalkResult::interrupt();
          }).wasInterrupted();
}

Value TileLoop::copyFor(OpBuilder &builder, Value value,
                        IRMapping &step) const {
  if (Value known = step.lookupOrNull(value))
    return known;
  if (getInterface().isDefinedOutsideOfLoop(value))
    return value;
  Operation *code = value.getDefiningOp();
  for (Value operand : code->getOperands())
    copyFor(builder, operand, step);
  builder.clone(*code, step);
  return step.lookup(value);
}

void TileLoop::mapStep(OpBuilder &builder, IRMapping &mapping,
                       Value index) const {
  mapping.map(getIndex(), index);
  if (auto fold = dyn_cast<FoldOp>(op))
    mapping.map(fold.getPartial(),
                getTileRange(op).isPartial(builder, getLoc(), index));
}

Operation *TileLoop::create(OpBuilder &builder, const TileRange &range,
                            Value step, ValueRange inits, Body body) const {
  IRMapping mapping;
  if (isa<scf::ForOp>(op))
    return scf::ForOp::create(
        builder, getLoc(), range.first, range.end, step, inits,
        [&](OpBuilder &nested, Location loc, Value index, ValueRange carried) {
          mapping.map(getIndex(), index);
          scf::YieldOp::create(nested, loc,
                               body(nested, mapping, index, carried));
        });
  auto fold = FoldOp::create(builder, getLoc(), FoldDomain{{range}},
                             inits.getTypes(), inits);
  mapping.map(getIndex(), fold.getTile());
  mapping.map(cast<FoldOp>(op).getPartial(), fold.getPartial());
  OpBuilder nested = OpBuilder::atBlockBegin(&fold.getBody().front());
  YieldOp::create(nested, getLoc(),
                  body(nested, mapping, fold.getTile(), fold.getState()));
  return fold;
}

/// The part of `range` between two of its tiles.
static TileRange takePart(OpBuilder &builder, Location loc,
                          const TileRange &range, Value first, Value end) {
  TileRange part = {first, end, first, first};
  if (!range.hasFull())
    return part;
  auto clamp = [&](Value bound, Value least) -> Value {
    if (end != range.end)
      bound = arith::MinSIOp::create(builder, loc, bound, end);
    return least == range.first
               ? bound
               : arith::MaxSIOp::create(builder, loc, bound, least);
  };
  if (range.hasHead())
    part.fullFirst = clamp(range.fullFirst, first);
  part.fullEnd = range.hasTail() ? clamp(range.fullEnd, first) : end;
  return part;
}

Operation *TileLoop::createOver(OpBuilder &builder, Value first, Value end,
                                ValueRange inits, Body body) const {
  return create(builder,
                takePart(builder, getLoc(), getTileRange(op), first, end),
                getStep(builder), inits, body);
}

Operation *TileLoop::createBare(OpBuilder &builder, const IRMapping &mapping,
                                Body body) const {
  Value first = mapping.lookupOrDefault(getFirst()),
        end = mapping.lookupOrDefault(getEnd());
  return create(builder, {first, end, first, first},
                mapping.lookupOrDefault(getStep(builder)), {}, body);
}

void TileLoop::shrink(OpBuilder &builder, Value first, Value end) const {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    loop.setLowerBound(first);
    loop.setUpperBound(end);
    return;
  }
  cast<FoldOp>(op).setRange(
      takePart(builder, getLoc(), getTileRange(op), first, end));
}
