//===- DeclaredSelection.cpp - Programs that order handed-in selections ---===//

#include "QueryProgram.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Lists that one program orders.
static constexpr int64_t kLists = 16;

/// A handed-in selection is a set: each list is sorted and stripped of
/// repetitions once, so that programs can walk it.
LogicalResult nsacc::buildDeclaredSelectionProgram(PlanBuilder &plan,
                                                   DeclareSelectionOp op) {
  auto type = op.getResult().getType();
  auto input = cast<NamedTensorType>(op.getIndices().getType());
  int64_t width = type.getTop();
  ProgramBuilder program(plan, "order", nsatile::ScheduleAttr());
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  TileMath math(builder, loc, kLists, width);
  Type i64 = builder.getI64Type();

  bool ragged = input.isRagged();
  int64_t tokenDim = ragged ? 0 : 1;
  Attribute token = input.getDims()[tokenDim];
  Attribute head = input.getDims()[tokenDim + 1];
  // Every list on its own, so packed rows need no offsets.
  Value numTokens = program.import(plan.getSize(token));
  SmallVector<Value> offsets;
  if (!ragged)
    offsets.push_back(program.programId(2));
  offsets.push_back(m.mul(program.programId(0), kLists));
  offsets.push_back(program.programId(1));
  offsets.push_back(m.constant(0));
  SmallVector<Value> limits = {numTokens, m.constant(width)};
  SmallVector<int64_t> dims = {tokenDim, tokenDim + 2};
  Type stored = input.getElementType();
  Value loaded = nsatile::LoadOp::create(
      builder, loc,
      cast<RankedTensorType>(math.getType(Spread::Matrix, stored)),
      program.getBuffer(op.getIndices()), offsets, limits, dims,
      DenseI64ArrayAttr());
  Tile indices = {loaded, Spread::Matrix};
  if (!stored.isInteger(64))
    indices = math.convert<arith::ExtSIOp>(indices, i64);

  // Padding behind all blocks; sorted; repetitions into padding; sorted again.
  Tile padding = math.integer(i64, int64_t{1} << 32);
  auto sort = [&](Tile tile) -> Tile {
    return {nsatile::SortOp::create(builder, loc, tile.value.getType(),
                                    nsatile::Order::Ascending, tile.value),
            Spread::Matrix};
  };
  Tile negative =
      math.compare(arith::CmpIPredicate::slt, indices, math.integer(i64, 0));
  indices = sort(math.select(negative, padding, indices));
  if (width > 1) {
    auto attr = [&](int64_t value) -> OpFoldResult {
      return builder.getIndexAttr(value);
    };
    SmallVector<OpFoldResult> sizes = {attr(kLists), attr(width - 1)};
    SmallVector<OpFoldResult> ones = {attr(1), attr(1)};
    Value left = tensor::ExtractSliceOp::create(
        builder, loc, indices.value,
        SmallVector<OpFoldResult>{attr(0), attr(0)}, sizes, ones);
    Value none = math.toMatrix(math.integer(i64, -1));
    Tile before = {tensor::InsertSliceOp::create(
                       builder, loc, left, none,
                       SmallVector<OpFoldResult>{attr(0), attr(1)}, sizes,
                       ones),
                   Spread::Matrix};
    Tile again = math.compare(arith::CmpIPredicate::eq, indices, before);
    indices = sort(math.select(again, padding, indices));
  }
  Tile isPadding = math.compare(arith::CmpIPredicate::eq, indices, padding);
  indices = math.select(isPadding, math.integer(i64, -1), indices);
  indices = math.convert<arith::TruncIOp>(indices, builder.getI32Type());
  nsatile::StoreOp::create(builder, loc, indices.value,
                           program.getBuffer(op.getResult()), offsets, limits,
                           dims);

  IndexMath outer = plan.math();
  program.launch(outer.ceilDiv(plan.getSize(token), kLists), plan.getSize(head),
                 ragged ? outer.constant(1)
                        : plan.getSize(input.getDims().front()));
  return success();
}
