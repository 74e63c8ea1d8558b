//===- EmitTileSources.cpp - Tiles that come from scalars -----------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Writes constants, positions and broadcasts.
class TileSourceEmitter {
public:
  explicit TileSourceEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        shared(kernel.shared), sharedTiles(kernel.sharedTiles),
        sync(kernel.sync) {}

  LogicalResult emitConstant(arith::ConstantOp op);
  LogicalResult emitSplat(tensor::SplatOp op);
  void emitEmpty(tensor::EmptyOp op);
  void emitIota(IotaOp op);
  void emitBroadcast(BroadcastOp op);

private:
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  Synchronizer &sync;
};

} // namespace

LogicalResult TileSourceEmitter::emitSplat(tensor::SplatOp op) {
  if (!op.getDynamicSizes().empty())
    return reject(op);
  int64_t count = program.getLayout(op.getType()).getNumRegisters();
  program.setRegisters(
      op, SmallVector<Value>(count, program.lookup(op.getInput())));
  return success();
}

LogicalResult TileSourceEmitter::emitConstant(arith::ConstantOp op) {
  TypedAttr value = op.getValue();
  auto elements = dyn_cast<DenseElementsAttr>(value);
  if (elements && !elements.isSplat())
    return op.emitOpError("with different elements isn't supported by GPU "
                          "targets yet");
  if (elements)
    value = elements.getSplatValue<TypedAttr>();
  if (value.getType().isIndex()) {
    int64_t index = cast<IntegerAttr>(value).getInt();
    if (!llvm::isInt<32>(index))
      return op.emitOpError("doesn't fit the 32 bits of an index on a GPU: ")
             << index;
    value = b.getI32IntegerAttr(index);
  }
  Value scalar = b.make<arith::ConstantOp>(value);
  if (!elements) {
    program.map(op, scalar);
    return success();
  }
  auto tile = cast<RankedTensorType>(op.getType());
  const TileLayout &layout = program.getLayout(tile);
  SmallVector<Value> values(layout.getNumRegisters(), scalar);
  if (isa<PartialLayoutAttr>(tile.getEncoding()))
    for (auto [index, each] : llvm::enumerate(values)) {
      each = b.select(threads.isFirstCopy(layout), scalar,
                      b.zero(scalar.getType()));
    }
  program.setRegisters(op, std::move(values));
  return success();
}

void TileSourceEmitter::emitIota(IotaOp op) {
  const TileLayout &layout = program.getLayout(getTile(op.getResult()));
  Value start = program.lookup(op.getStart());
  llvm::DenseMap<Value, Value> bases;
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    IndexSum sum = threads.getCoordinate(layout.getCoordinates(index).front());
    if (!sum.base) {
      values.push_back(threads.materialize({start, sum.offset}));
      continue;
    }
    Value &base = bases[sum.base];
    if (!base)
      base = b.add(start, sum.base);
    values.push_back(threads.materialize({base, sum.offset}));
  }
  program.setRegisters(op.getResult(), std::move(values));
}

/// For each register of the result, the register of the source with the same
/// coordinates; none if one has no match.
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

/// Writes a tile that is overwritten before its values matter.
void TileSourceEmitter::emitEmpty(tensor::EmptyOp op) {
  Type type = getRegisterType(op.getType().getElementType());
  Value anything = b.make<LLVM::UndefOp>(type);
  program.setRegisters(
      op.getResult(),
      SmallVector<Value>(program.getLayout(op.getType()).getNumRegisters(),
                         anything));
}

void TileSourceEmitter::emitBroadcast(BroadcastOp op) {
  RankedTensorType source = getTile(op.getSource());
  const TileLayout &layout = program.getLayout(getTile(op.getResult()));
  auto withoutNew = [&](int64_t index) {
    TileLayout::Coordinates kept;
    for (auto [dim, coordinate] : llvm::enumerate(layout.getCoordinates(index)))
      if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
        kept.push_back(coordinate);
    return kept;
  };
  SmallVector<Value> values;
  if (!isShared(source))
    if (auto matches =
            matchRegisters(program.getLayout(source), layout, withoutNew)) {
      for (int64_t index : *matches)
        values.push_back(program.getRegisters(op.getSource())[index]);
      return program.setRegisters(op.getResult(), std::move(values));
    }
  SharedTile tile = isShared(source) ? sharedTiles.get(op.getSource())
                                     : sharedTiles.spill(op.getSource());
  sync.beforeRead(tile);
  Type type = getRegisterType(source.getElementType());
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    SmallVector<Value> coordinates;
    for (AffineExpr expr : withoutNew(index))
      coordinates.push_back(threads.materialize(threads.getCoordinate(expr)));
    values.push_back(shared.loadElementIf(threads.getInside(layout, index),
                                          tile, coordinates, b.zero(type)));
  }
  if (!isShared(source))
    sharedTiles.release(tile);
  program.setRegisters(op.getResult(), std::move(values));
}

void nsacc::addTileSources(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<TileSourceEmitter>(kernel),
              &TileSourceEmitter::emitConstant, &TileSourceEmitter::emitSplat,
              &TileSourceEmitter::emitEmpty, &TileSourceEmitter::emitIota,
              &TileSourceEmitter::emitBroadcast);
}
