//===- ScalarTiler.cpp - From scalar code to code over tiles --------------===//

#include "ScalarTiler.h"
#include "NSA/Analysis/IntegerRanges.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <limits>
#include <optional>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

TileAxes nsacc::join(TileAxes lhs, TileAxes rhs) {
  if (lhs == rhs || rhs == TileAxes::Scalar)
    return lhs;
  return lhs == TileAxes::Scalar ? rhs : TileAxes::Matrix;
}

Value nsacc::widen(OpBuilder &builder, Location loc, Value value,
                   NamedTensorType type) {
  auto as = [&](Type elementType) -> Type {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    return tile ? Type(tile.clone(elementType)) : elementType;
  };
  Type elementType = type.getElementType();
  if (elementType.isF32() || elementType.isInteger(64))
    return value;
  if (isa<FloatType>(elementType))
    return arith::ExtFOp::create(builder, loc, as(builder.getF32Type()), value);
  if (elementType.isInteger(1)) {
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(value.getType()));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                 zero);
  }
  return arith::IndexCastOp::create(builder, loc, as(builder.getIndexType()),
                                    value);
}

//===----------------------------------------------------------------------===//
// TileMath
//===----------------------------------------------------------------------===//

Type TileMath::getType(TileAxes axes, Type elementType) {
  switch (axes) {
  case TileAxes::Scalar:
    return elementType;
  case TileAxes::Row:
    return RankedTensorType::get({rows}, elementType);
  case TileAxes::Column:
    return RankedTensorType::get({columns}, elementType);
  case TileAxes::Matrix:
    return RankedTensorType::get({rows, columns}, elementType);
  }
  llvm_unreachable("unknown axes");
}

Value TileMath::broadcastTo(Tile tile, TileAxes axes) {
  if (tile.axes == axes)
    return tile.value;
  Type elementType = getElementTypeOrSelf(tile.value.getType());
  auto type = cast<RankedTensorType>(getType(axes, elementType));
  if (tile.axes == TileAxes::Scalar)
    return tensor::SplatOp::create(builder, loc, tile.value, type);
  assert(axes == TileAxes::Matrix && "rows don't become columns");
  int64_t missing = tile.axes == TileAxes::Row ? 1 : 0;
  return nsatile::BroadcastOp::create(builder, loc, type, tile.value,
                                      ArrayRef<int64_t>{missing});
}

Value TileMath::constant(TileAxes axes, double value) {
  TypedAttr attr = builder.getF32FloatAttr(value);
  if (auto type =
          dyn_cast<RankedTensorType>(getType(axes, builder.getF32Type())))
    attr = DenseElementsAttr::get(type, cast<Attribute>(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

Tile TileMath::integer(Type type, int64_t value) {
  return {arith::ConstantOp::create(builder, loc,
                                    builder.getIntegerAttr(type, value)),
          TileAxes::Scalar};
}

Tile TileMath::compare(arith::CmpIPredicate predicate, Tile lhs, Tile rhs) {
  TileAxes axes = join(lhs.axes, rhs.axes);
  return {arith::CmpIOp::create(builder, loc, predicate, broadcastTo(lhs, axes),
                                broadcastTo(rhs, axes)),
          axes};
}

Tile TileMath::compare(arith::CmpFPredicate predicate, Tile lhs, Tile rhs) {
  TileAxes axes = join(lhs.axes, rhs.axes);
  return {arith::CmpFOp::create(builder, loc, predicate, broadcastTo(lhs, axes),
                                broadcastTo(rhs, axes)),
          axes};
}

Tile TileMath::select(Tile condition, Tile yes, Tile no) {
  TileAxes axes = join(condition.axes, join(yes.axes, no.axes));
  return {arith::SelectOp::create(builder, loc, broadcastTo(condition, axes),
                                  broadcastTo(yes, axes),
                                  broadcastTo(no, axes)),
          axes};
}

Tile TileMath::castInteger(Tile tile, Type elementType) {
  Type type = getElementTypeOrSelf(tile.value.getType());
  return type == elementType ? tile
                             : convert<arith::IndexCastOp>(tile, elementType);
}

Tile TileMath::applyLike(Operation *op, ArrayRef<Tile> operands,
                         Type elementType) {
  TileAxes axes = TileAxes::Scalar;
  for (Tile operand : operands)
    axes = join(axes, operand.axes);
  OperationState state(loc, op->getName());
  for (Tile operand : operands)
    state.addOperands(broadcastTo(operand, axes));
  state.addTypes(getType(axes, elementType));
  state.addAttributes(op->getAttrs());
  return {builder.create(state)->getResult(0), axes};
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {

/// Sizes on targets with indices of 32 bits are below 2^kSizeBits. Such targets
/// may compare indices by their difference, so there is room for the difference
/// of two positions and a smaller constant.
constexpr unsigned kSizeBits = 29, kIndexBits = 32;
constexpr int64_t kSizeLimit = int64_t{1} << kSizeBits;
constexpr int64_t kConstantLimit = int64_t{1} << 24;

class RegionTiler {
public:
  RegionTiler(TileMath &math, const ScalarContext &context)
      : math(math), builder(math.getBuilder()), loc(math.getLoc()),
        context(context) {}

  Tile run(Region &region, ArrayRef<Tile> arguments) {
    if (context.keys.size > 0)
      key = region.getArguments().back();
    for (auto [argument, tile] :
         llvm::zip_equal(region.getArguments(), arguments))
      tiles[argument] = argument.getType().isIndex()
                            ? math.castInteger(tile, getTypeFor(argument))
                            : tile;
    for (Operation &op : region.front().without_terminator())
      tiles[op.getResult(0)] = visit(&op);
    if (context.demand)
      addScalarAssertions(region, tiles, math, context);
    return tiles.lookup(
        cast<YieldOp>(region.front().getTerminator()).getValue());
  }

private:
  Tile visit(Operation *op) {
    if (auto read = dyn_cast<TableReadOp>(op))
      return visitRead(read);
    if (auto dim = dyn_cast<DimOp>(op))
      return {visitDim(dim), TileAxes::Scalar};
    if (FloatAttr exact = getExactConstant(op))
      return {math.constant(TileAxes::Scalar, exact.getValueAsDouble()),
              TileAxes::Scalar};
    if (op->hasTrait<OpTrait::ConstantLike>())
      return visitConstant(op);
    SmallVector<Tile> operands;
    for (Value operand : op->getOperands())
      operands.push_back(tiles.lookup(operand));
    if (isBlockOfKeys(op))
      operands.front() = math.castInteger(
          {context.keys.first, TileAxes::Scalar},
          getElementTypeOrSelf(operands.front().value.getType()));
    Type type = op->getResult(0).getType();
    if (isa<arith::IndexCastOp>(op))
      return math.castInteger(operands.front(), getTypeFor(op->getResult(0)));
    if (isa<arith::FPToSIOp>(op))
      return visitTruncation(op, operands.front());
    if (llvm::none_of(op->getOperandTypes(),
                      [](Type type) { return type.isIndex(); }))
      return math.applyLike(op, operands, type);
    return visitIntegers(op, operands);
  }

  /// Whether `j floordiv c` is the same for all keys of the tile.
  bool isBlockOfKeys(Operation *op) {
    APInt size;
    return key && isa<arith::FloorDivSIOp>(op) && op->getOperand(0) == key &&
           matchPattern(op->getOperand(1), m_ConstantInt(&size)) &&
           size.isStrictlyPositive() &&
           size.getSExtValue() % context.keys.size == 0;
  }

  /// Type for an integer of scalar code, which has 64 bits.
  Type getTypeFor(Value value) {
    bool isIndex = value.getType().isIndex() &&
                   (ranges.fits(value, kIndexBits) || isPartOfModulo(value));
    return isIndex ? Type(builder.getIndexType()) : builder.getI64Type();
  }

  /// Whether the value is `x floordiv c * c` in an x mod c of indices. If it
  /// wraps around, the difference wraps back.
  bool isPartOfModulo(Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return getModuloProduct(user) == value &&
             ranges.fits(user->getOperand(0), kIndexBits) &&
             ranges.fits(user->getResult(0), kIndexBits);
    });
  }

  static bool isWide(Tile tile) {
    return getElementTypeOrSelf(tile.value.getType()).isInteger(64);
  }

  Tile visitConstant(Operation *op) {
    Tile constant = {builder.clone(*op)->getResult(0), TileAxes::Scalar};
    Value result = op->getResult(0);
    if (!result.getType().isIndex() || ranges.isWithin(result, kConstantLimit))
      return constant;
    constant.value.getDefiningOp()->erase();
    APInt value;
    matchPattern(result, m_ConstantInt(&value));
    return math.integer(builder.getI64Type(), value.getSExtValue());
  }

  /// Applies an op on integers, as i64 where they may not fit an index.
  Tile visitIntegers(Operation *op, SmallVector<Tile> operands) {
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      if (std::optional<Tile> isWithin = visitDistance(
              compare.getPredicate(), compare.getLhs(), compare.getRhs()))
        return *isWithin;
      return visitComparison(compare, operands[0], operands[1]);
    }
    Value result = op->getResult(0);
    bool hasIndex = result.getType().isIndex();
    Type type = result.getType();
    if (llvm::any_of(operands, isWide) ||
        (hasIndex && !getTypeFor(result).isIndex())) {
      Type wide = builder.getI64Type();
      for (auto [operand, tile] : llvm::zip_equal(op->getOperands(), operands))
        if (operand.getType().isIndex())
          tile = math.castInteger(tile, wide);
      if (hasIndex)
        type = wide;
    }
    bool divides = isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
                       arith::CeilDivSIOp>(op);
    Tile value = divides ? visitDivision(op, operands[0], operands[1], type)
                         : math.applyLike(op, operands, type);
    return hasIndex ? math.castInteger(value, getTypeFor(result)) : value;
  }

  /// x if the value is |x| as the front end writes it; else null.
  static Value findSigned(Value value) {
    auto isNegated = [](Value other, Value x) {
      auto negated = other.getDefiningOp<arith::SubIOp>();
      return negated && negated.getRhs() == x &&
             matchPattern(negated.getLhs(), m_Zero());
    };
    auto greatest = value.getDefiningOp<arith::MaxSIOp>();
    if (!greatest)
      return {};
    Value lhs = greatest.getLhs(), rhs = greatest.getRhs();
    if (isNegated(rhs, lhs))
      return lhs;
    return isNegated(lhs, rhs) ? rhs : Value();
  }

  /// Turns |x| <= c into -c <= x <= c, and |x| > c into x < -c or x > c. A pair
  /// then has fewer values than with -x and a maximum. None for other
  /// comparisons.
  std::optional<Tile> visitDistance(arith::CmpIPredicate predicate, Value lhs,
                                    Value rhs) {
    Value signedLhs = findSigned(lhs), signedRhs = findSigned(rhs);
    Value x = signedLhs ? signedLhs : signedRhs;
    Value other = signedLhs ? rhs : lhs;
    if (!x || !isOncePerRow(tiles.lookup(other)) ||
        !ranges.isWithin(x, 2 * kSizeLimit) ||
        !ranges.isWithin(other, kSizeLimit))
      return std::nullopt;
    bool isLess = predicate == arith::CmpIPredicate::sle ||
                  predicate == arith::CmpIPredicate::slt;
    if (!isLess && predicate != arith::CmpIPredicate::sge &&
        predicate != arith::CmpIPredicate::sgt)
      return std::nullopt;
    Type index = builder.getIndexType();
    Tile middle = math.castInteger(tiles.lookup(x), index);
    Tile limit = math.castInteger(tiles.lookup(other), index);
    Tile negative = math.apply<arith::SubIOp>(math.integer(index, 0), limit);
    Tile first = signedLhs ? math.compare(predicate, middle, limit)
                           : math.compare(predicate, limit, middle);
    Tile second = signedLhs ? math.compare(predicate, negative, middle)
                            : math.compare(predicate, middle, negative);
    return isLess == bool(signedLhs) ? math.apply<arith::AndIOp>(first, second)
                                     : math.apply<arith::OrIOp>(first, second);
  }

  /// Compares indices if their difference fits an index.
  Tile visitComparison(arith::CmpIOp op, Tile lhs, Tile rhs) {
    arith::CmpIPredicate predicate = op.getPredicate();
    bool areIndices = !isWide(lhs) && !isWide(rhs);
    bool isEquality = predicate == arith::CmpIPredicate::eq ||
                      predicate == arith::CmpIPredicate::ne;
    if (areIndices && (isEquality || ranges.differenceFits(
                                         op.getLhs(), op.getRhs(), kIndexBits)))
      return math.compare(predicate, lhs, rhs);
    Type index = builder.getIndexType();
    if (isOncePerRow(rhs) && ranges.isWithin(op.getLhs(), kSizeLimit))
      return math.compare(predicate, math.castInteger(lhs, index),
                          cutAtSizes(rhs));
    if (isOncePerRow(lhs) && ranges.isWithin(op.getRhs(), kSizeLimit))
      return math.compare(predicate, cutAtSizes(lhs),
                          math.castInteger(rhs, index));
    Type type = areIndices ? builder.getI32Type() : builder.getI64Type();
    return math.compare(predicate, math.castInteger(lhs, type),
                        math.castInteger(rhs, type));
  }

  /// Value of a constant of fp64, or of such a constant in f32.
  static FloatAttr getExactConstant(Operation *op) {
    FloatAttr value;
    if (auto rounded = dyn_cast<arith::TruncFOp>(op))
      op = rounded.getIn().getDefiningOp();
    return op && matchPattern(op, m_Constant(&value)) && value.getType().isF64()
               ? value
               : FloatAttr();
  }

  static bool isOncePerRow(Tile tile) {
    return tile.axes == TileAxes::Scalar || tile.axes == TileAxes::Row;
  }

  /// Clamps to a limit of sizes. Values beyond it compare alike with any size.
  Tile cutAtSizes(Tile tile) {
    Type type = getElementTypeOrSelf(tile.value.getType());
    tile = math.apply<arith::MaxSIOp>(tile, math.integer(type, -kSizeLimit));
    tile = math.apply<arith::MinSIOp>(tile, math.integer(type, kSizeLimit));
    return math.castInteger(tile, builder.getIndexType());
  }

  /// Avoids x / 0 and least / -1, at which processors fault, even where the
  /// quotient isn't needed. least / -1 wraps around.
  Tile visitDivision(Operation *op, Tile lhs, Tile rhs, Type type) {
    APInt known;
    if (matchPattern(op->getOperand(1), m_ConstantInt(&known)) &&
        !known.isZero() && !known.isAllOnes())
      return math.applyLike(op, {lhs, rhs}, type);
    auto number = [&](int64_t value) { return math.integer(type, value); };
    auto equals = [&](int64_t value) {
      return math.compare(arith::CmpIPredicate::eq, rhs, number(value));
    };
    Tile negates = equals(-1);
    Tile divisor = math.select(math.apply<arith::OrIOp>(negates, equals(0)),
                               number(1), rhs);
    Tile quotient = math.applyLike(op, {lhs, divisor}, type);
    if (isa<arith::RemSIOp>(op)) // by 1 as by -1
      return quotient;
    return math.select(negates, math.apply<arith::SubIOp>(number(0), lhs),
                       quotient);
  }

  /// Truncates to the nearest number that the type has; 0 for NaN.
  Tile visitTruncation(Operation *op, Tile real) {
    using Limits = std::numeric_limits<int64_t>;
    Type type = op->getResult(0).getType();
    assert(type.isInteger(64) && "programs have integers of 64 bits");
    Tile limit = {math.constant(TileAxes::Scalar, 0x1p63), TileAxes::Scalar};
    Tile lowest = {math.constant(TileAxes::Scalar, -0x1p63), TileAxes::Scalar};
    Tile zero = {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar};
    Tile magnitude =
        real.axes == TileAxes::Scalar
            ? Tile{math::AbsFOp::create(builder, loc, real.value), real.axes}
            : math.convert<math::AbsFOp>(real, builder.getF32Type());
    Tile inside = math.compare(arith::CmpFPredicate::OLT, magnitude, limit);
    Tile result = math.applyLike(op, math.select(inside, real, zero), type);
    result = math.select(math.compare(arith::CmpFPredicate::OGE, real, limit),
                         math.integer(type, Limits::max()), result);
    return math.select(math.compare(arith::CmpFPredicate::OLE, real, lowest),
                       math.integer(type, Limits::min()), result);
  }

  /// Size of a dimension; the length of the batch row for a ragged one.
  Value visitDim(DimOp op) {
    NamedDimAttr dim = context.program.getPlan().getNamedDim(op.getDim());
    return dim.getRagged() ? context.program.getRow(dim, context.batchRow).size
                           : context.program.getSize(dim);
  }

  Tile visitRead(TableReadOp op) {
    auto type = cast<NamedTensorType>(op.getTable().getType());
    TileAxes axes = TileAxes::Scalar;
    SmallVector<Tile> indices;
    for (auto [dim, operand] :
         llvm::zip_equal(type.getDims(), op.getIndices())) {
      // An index out of range is cut, which is as good as any.
      Tile index =
          math.castInteger(tiles.lookup(operand), builder.getIndexType());
      auto named = dyn_cast<NamedDimAttr>(dim);
      if (named && named.getRagged())
        index = math.apply<arith::AddIOp>(
            index, {context.program.getRow(dim, context.batchRow).start,
                    TileAxes::Scalar});
      axes = join(axes, index.axes);
      indices.push_back(index);
    }
    Value buffer = context.program.getBuffer(op.getTable());
    Type elementType = cast<MemRefType>(buffer.getType()).getElementType();
    SmallVector<Value> operands;
    for (Tile index : indices)
      operands.push_back(math.broadcastTo(index, axes));
    Value value;
    if (axes == TileAxes::Scalar)
      value = nsatile::LookupOp::create(builder, loc, elementType, buffer,
                                        operands);
    else
      value = nsatile::GatherOp::create(
          builder, loc, math.getType(axes, elementType), buffer, operands);
    return {widen(builder, loc, value, type), axes};
  }

  TileMath &math;
  OpBuilder &builder;
  Location loc;
  const ScalarContext &context;
  nsa::IntegerRanges ranges{kSizeBits};
  TileMap tiles;
  /// Argument with keys of one block; null where there is none.
  Value key;
};

} // namespace

Tile nsacc::tileRegion(Region &region, ArrayRef<Tile> arguments, TileMath &math,
                       const ScalarContext &context) {
  return RegionTiler(math, context).run(region, arguments);
}
