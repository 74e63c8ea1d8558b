//===- EmitElementwise.cpp - One scalar op for each register --------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

LogicalResult KernelEmitter::emitScalar(Operation *op) {
  if (op->getNumResults() != 1)
    return reject(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(lookup(operand));
  FailureOr<Value> value = emitOne(op, operands);
  if (failed(value))
    return failure();
  mapScalar(op->getResult(0), *value);
  return success();
}

LogicalResult KernelEmitter::emitElementwise(Operation *op) {
  if (op->getNumResults() != 1 || !op->hasTrait<OpTrait::Elementwise>())
    return reject(op);
  Value result = op->getResult(0);
  const TileLayout &layout = getLayout(getTile(result));
  Type type = getRegisterType(getTile(result).getElementType());
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      values.push_back(zero(type));
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isTile(operand.getType())
                             ? getRegisters(operand)[index]
                             : lookup(operand));
    FailureOr<Value> value = emitOne(op, operands);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  setRegisters(result, std::move(values));
  return success();
}

/// The op on scalars, with indices of 32 bits.
FailureOr<Value> KernelEmitter::emitOne(Operation *op, ValueRange operands) {
  Type type = getRegisterType(getElementTypeOrSelf(op->getResult(0).getType()));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    Value from = operands.front();
    unsigned width = from.getType().getIntOrFloatBitWidth();
    if (width == type.getIntOrFloatBitWidth())
      return from;
    if (width > type.getIntOrFloatBitWidth())
      return make<arith::TruncIOp>(type, from);
    return isa<arith::IndexCastOp>(op) ? make<arith::ExtSIOp>(type, from)
                                       : make<arith::ExtUIOp>(type, from);
  }
  if (Value sum = emitIndexOp(op, operands))
    return sum;
  if (multipliesIn16Bits && isTile(op->getResult(0).getType()))
    if (Value value = emitFast(op, operands))
      return value;
  SmallVector<NamedAttribute> attributes =
      llvm::to_vector(op->getAttrDictionary());
  Operation *copy = builder.create(loc, op->getName().getIdentifier(), operands,
                                   type, attributes);
  return copy->getResult(0);
}

//===----------------------------------------------------------------------===//
// Arithmetic on what came of operands that were rounded to 16 bits
//===----------------------------------------------------------------------===//

/// A normal constant; none for other values.
static std::optional<llvm::APFloat> getFactor(Value value) {
  FloatAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) ||
      !constant.getType().isF32() || !constant.getValue().isNormal())
    return std::nullopt;
  return constant.getValue();
}

/// Ops that are a few units in the last place of f32 off, or in the case of
/// tanh 2^-11 of its value. Scores of rounded operands are further from theirs.
/// Null for ops that have no faster form.
Value KernelEmitter::emitFast(Operation *op, ValueRange operands) {
  constexpr auto contract = arith::FastMathFlags::contract;
  Type type = operands[0].getType();
  if (!type.isF32())
    return {};
  if (isa<math::TanhOp>(op))
    return LLVM::TanhOp::create(builder, loc, type, operands[0],
                                LLVM::FastmathFlags::afn);
  if (isa<arith::AddFOp>(op))
    return arith::AddFOp::create(builder, loc, operands[0], operands[1],
                                 contract);
  if (isa<arith::SubFOp>(op))
    return arith::SubFOp::create(builder, loc, operands[0], operands[1],
                                 contract);
  if (isa<arith::MulFOp>(op))
    return emitScaled(operands[0], operands[1]);
  if (std::optional<llvm::APFloat> divisor =
          isa<arith::DivFOp>(op) ? getFactor(operands[1]) : std::nullopt) {
    llvm::APFloat inverse(1.0f);
    inverse.divide(*divisor, llvm::APFloat::rmNearestTiesToEven);
    if (inverse.isNormal())
      return emitScaled(operands[0], f32(inverse.convertToFloat()));
  }
  return {};
}

/// A product; one with two constants is one with theirs.
Value KernelEmitter::emitScaled(Value value, Value factor) {
  std::optional<llvm::APFloat> product = getFactor(factor);
  auto inner = value.getDefiningOp<arith::MulFOp>();
  if (std::optional<llvm::APFloat> other =
          product && inner ? getFactor(inner.getRhs()) : std::nullopt) {
    product->multiply(*other, llvm::APFloat::rmNearestTiesToEven);
    if (product->isNormal()) {
      value = inner.getLhs();
      factor = f32(product->convertToFloat());
    }
  }
  return arith::MulFOp::create(builder, loc, value, factor,
                               arith::FastMathFlags::contract);
}

IndexSum KernelEmitter::split(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return {Value(), cast<IntegerAttr>(constant.getValue()).getInt()};
  auto known = sums.find(value);
  return known == sums.end() ? IndexSum{value, 0} : known->second;
}

/// Sums and comparisons of positions, with constants kept apart.
Value KernelEmitter::emitIndexOp(Operation *op, ValueRange operands) {
  if (!isa<arith::AddIOp, arith::SubIOp, arith::CmpIOp>(op) ||
      !getElementTypeOrSelf(op->getOperand(0).getType()).isIndex() ||
      !isTile(op->getResult(0).getType()))
    return {};
  IndexSum lhs = split(operands[0]), rhs = split(operands[1]);
  auto difference = [&]() -> IndexSum {
    if (!rhs.base)
      return {lhs.base, lhs.offset - rhs.offset};
    Value base = lhs.base ? lhs.base : i32(0);
    return {make<arith::SubIOp>(base, rhs.base), lhs.offset - rhs.offset};
  };
  if (isa<arith::AddIOp>(op)) {
    Value base = lhs.base && rhs.base ? add(lhs.base, rhs.base)
                 : lhs.base           ? lhs.base
                                      : rhs.base;
    return materialize({base, lhs.offset + rhs.offset});
  }
  if (isa<arith::SubIOp>(op))
    return materialize(difference());
  auto compare = cast<arith::CmpIOp>(op);
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::ult:
  case arith::CmpIPredicate::ule:
  case arith::CmpIPredicate::ugt:
  case arith::CmpIPredicate::uge:
    return {};
  default:
    break;
  }
  IndexSum sum = difference();
  Value base = sum.base ? sum.base : i32(0);
  return make<arith::CmpIOp>(compare.getPredicate(), base, i32(-sum.offset));
}

LogicalResult KernelEmitter::emitConstant(Operation *op) {
  Value result = op->getResult(0);
  if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    if (!splat.getDynamicSizes().empty())
      return reject(op);
    int64_t count = getLayout(getTile(result)).getNumRegisters();
    setRegisters(result, SmallVector<Value>(count, lookup(splat.getInput())));
    return success();
  }
  auto constant = cast<arith::ConstantOp>(op);
  TypedAttr value = constant.getValue();
  auto elements = dyn_cast<DenseElementsAttr>(value);
  if (elements && !elements.isSplat())
    return op->emitOpError("with different elements isn't supported by GPU "
                           "targets yet");
  if (elements)
    value = elements.getSplatValue<TypedAttr>();
  if (value.getType().isIndex()) {
    int64_t index = cast<IntegerAttr>(value).getInt();
    if (!llvm::isInt<32>(index))
      return op->emitOpError("doesn't fit the 32 bits of an index on a GPU: ")
             << index;
    value = builder.getI32IntegerAttr(index);
  }
  Value scalar = make<arith::ConstantOp>(value);
  if (!elements) {
    mapScalar(result, scalar);
    return success();
  }
  const TileLayout &layout = getLayout(getTile(result));
  SmallVector<Value> values(layout.getNumRegisters(), scalar);
  if (isa<PartialLayoutAttr>(getTile(result).getEncoding()))
    for (auto [index, each] : llvm::enumerate(values)) {
      Value owned;
      for (ThreadDim dim : layout.getCopies())
        owned = both(owned, make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                getThreadDim(dim), i32(0)));
      each = select(owned, scalar, zero(scalar.getType()));
    }
  setRegisters(result, std::move(values));
  return success();
}

void KernelEmitter::emitIota(IotaOp op) {
  const TileLayout &layout = getLayout(getTile(op.getResult()));
  Value start = lookup(op.getStart());
  llvm::DenseMap<Value, Value> bases;
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    IndexSum sum = getCoordinate(layout.getCoordinates(index).front());
    if (!sum.base) {
      values.push_back(materialize({start, sum.offset}));
      continue;
    }
    Value &base = bases[sum.base];
    if (!base)
      base = add(start, sum.base);
    values.push_back(materialize({base, sum.offset}));
  }
  setRegisters(op.getResult(), std::move(values));
}

/// For each register of the result that of the source with the same
/// coordinates; none where one has none.
static std::optional<SmallVector<int64_t>>
matchRegisters(const TileLayout &source, const TileLayout &result,
               llvm::function_ref<TileLayout::Coordinates(int64_t)> getKept) {
  auto getKey = [](ArrayRef<AffineExpr> coordinates) {
    std::vector<const void *> key;
    for (AffineExpr expr : coordinates)
      key.push_back(expr.getAsOpaquePointer());
    return key;
  };
  std::map<std::vector<const void *>, int64_t> places;
  for (int64_t index = 0; index < source.getNumRegisters(); ++index)
    places.try_emplace(getKey(source.getCoordinates(index)), index);
  SmallVector<int64_t> matches;
  for (int64_t index = 0; index < result.getNumRegisters(); ++index) {
    auto place = places.find(getKey(getKept(index)));
    if (place == places.end())
      return std::nullopt;
    matches.push_back(place->second);
  }
  return matches;
}

/// A tile that will be written before it counts.
void KernelEmitter::emitEmpty(tensor::EmptyOp op) {
  Type type = getRegisterType(op.getType().getElementType());
  Value anything = make<LLVM::UndefOp>(type);
  setRegisters(
      op.getResult(),
      SmallVector<Value>(getLayout(op.getType()).getNumRegisters(), anything));
}

void KernelEmitter::emitBroadcast(BroadcastOp op) {
  RankedTensorType source = getTile(op.getSource());
  const TileLayout &layout = getLayout(getTile(op.getResult()));
  auto withoutNew = [&](int64_t index) {
    TileLayout::Coordinates kept;
    for (auto [dim, coordinate] : llvm::enumerate(layout.getCoordinates(index)))
      if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
        kept.push_back(coordinate);
    return kept;
  };
  SmallVector<Value> values;
  if (!isShared(source))
    if (auto matches = matchRegisters(getLayout(source), layout, withoutNew)) {
      for (int64_t index : *matches)
        values.push_back(getRegisters(op.getSource())[index]);
      return setRegisters(op.getResult(), std::move(values));
    }
  SharedTile tile =
      isShared(source) ? getShared(op.getSource()) : spill(op.getSource());
  beforeRead(tile);
  Type type = getRegisterType(source.getElementType());
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    SmallVector<Value> coordinates;
    for (AffineExpr expr : withoutNew(index))
      coordinates.push_back(materialize(getCoordinate(expr)));
    values.push_back(
        loadElementIf(getInside(layout, index), tile, coordinates, zero(type)));
  }
  if (!isShared(source))
    release(tile);
  setRegisters(op.getResult(), std::move(values));
}
