//===- EmitLayout.cpp - Tiles that change registers -----------------------===//

#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/LaneMap.h"
#include "OperandWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Moves elements between threads, and lets lanes exchange them.
class LayoutEmitter {
public:
  explicit LayoutEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        shared(kernel.shared), sharedTiles(kernel.sharedTiles),
        sync(kernel.sync), writer(kernel) {}

  LogicalResult emitConvert(ConvertLayoutOp op);
  void emitReshape(ReshapeOp op);
  void emitExchange(ExchangeOp op);
  void emitShift(ShiftOp op);

private:
  LogicalResult addUp(ConvertLayoutOp op);
  void divide(ConvertLayoutOp op);
  void writeOperand(ConvertLayoutOp op);
  void clear(const SharedTile &tile);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  Synchronizer &sync;
  OperandWriter writer;
};

} // namespace

/// Adds up the parts of sums that threads with copies hold.
static FailureOr<SmallVector<Value>>
addCopies(CodeBuilder &b, const TileLayout &layout, ArrayRef<Value> values) {
  SmallVector<Value> sums(values);
  for (ThreadDim dim : layout.getCopies()) {
    if (dim == ThreadDim::Warp)
      return failure();
    SmallVector<int64_t> masks = {1, 2};
    if (dim == ThreadDim::Group)
      masks = {4, 8, 16};
    for (Value &sum : sums)
      for (int64_t mask : masks)
        sum = b.add(sum, nvvm::shuffleXor(b, sum, mask));
  }
  return sums;
}

/// Keeps one of the copies, and sets the others to 0.
static SmallVector<Value> keepOneCopy(CodeBuilder &b, ThreadMap &threads,
                                      const TileLayout &layout,
                                      ArrayRef<Value> values) {
  Value isFirst = threads.isFirstCopy(layout);
  SmallVector<Value> kept;
  for (Value value : values)
    kept.push_back(b.select(isFirst, value, b.zero(value.getType())));
  return kept;
}

LogicalResult LayoutEmitter::emitConvert(ConvertLayoutOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  if (isa<PartialLayoutAttr>(source.getEncoding()))
    return addUp(op);
  if (isa<PartialLayoutAttr>(result.getEncoding())) {
    divide(op);
    return success();
  }
  if (isShared(source) && isShared(result))
    return reject(op);
  if (isShared(result)) {
    writeOperand(op);
    return success();
  }
  SharedTile tile =
      isShared(source) ? sharedTiles.get(op.getSource()) : SharedTile();
  if (isShared(source))
    sync.beforeRead(tile);
  else
    tile = sharedTiles.spill(op.getSource());
  program.setRegisters(op.getResult(), sharedTiles.read(tile, result));
  if (!isShared(source))
    sharedTiles.release(tile);
  return success();
}

/// Turns parts of sums into sums.
LogicalResult LayoutEmitter::addUp(ConvertLayoutOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  FailureOr<SmallVector<Value>> sums = addCopies(
      b, program.getLayout(source), program.getRegisters(op.getSource()));
  if (failed(sums))
    return reject(op);
  auto partial = cast<PartialLayoutAttr>(source.getEncoding());
  auto rows = RankedTensorType::get(source.getShape(), source.getElementType(),
                                    partial.getOf());
  if (result == rows) {
    program.setRegisters(op.getResult(), std::move(*sums));
    return success();
  }
  bool isPlace = isShared(result);
  SharedTile tile = sharedTiles.allocate(
      isPlace
          ? result
          : RankedTensorType::get(result.getShape(), result.getElementType()));
  sync.beforeWrite(tile);
  sharedTiles.write(tile, rows, *sums);
  if (isPlace) {
    sharedTiles.set(op.getResult(), tile);
    return success();
  }
  sync.beforeRead(tile);
  program.setRegisters(op.getResult(), sharedTiles.read(tile, result));
  sharedTiles.release(tile);
  return success();
}

/// Turns sums into parts; all but one are 0.
void LayoutEmitter::divide(ConvertLayoutOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  auto partial = cast<PartialLayoutAttr>(result.getEncoding());
  auto rows = RankedTensorType::get(result.getShape(), result.getElementType(),
                                    partial.getOf());
  SmallVector<Value> values;
  if (rows == source) {
    values = llvm::to_vector(program.getRegisters(op.getSource()));
  } else {
    SharedTile tile = isShared(source) ? sharedTiles.get(op.getSource())
                                       : sharedTiles.spill(op.getSource());
    sync.beforeRead(tile);
    values = sharedTiles.read(tile, rows);
    if (!isShared(source))
      sharedTiles.release(tile);
  }
  program.setRegisters(
      op.getResult(), keepOneCopy(b, threads, program.getLayout(rows), values));
}

/// Writes registers to shared memory as a product's operand.
void LayoutEmitter::writeOperand(ConvertLayoutOp op) {
  SharedTile tile = sharedTiles.allocate(getTile(op.getResult()));
  // Products read beyond the tile.
  if (tile.paddedRows != tile.rows || tile.paddedColumns != tile.columns) {
    sync.beforeWrite(tile);
    clear(tile);
  }
  sync.beforeWrite(tile);
  bool isInFlight =
      llvm::any_of(op.getResult().getUsers(), llvm::IsaPred<DotAsyncOp>);
  writer.write(tile, op.getSource(), isInFlight);
  sharedTiles.set(op.getResult(), tile);
}

void LayoutEmitter::clear(const SharedTile &tile) {
  int64_t words = tile.bytes / 4, numThreads = threads.getScope().numThreads;
  b.forEach(llvm::divideCeil(words, numThreads), 4, [&](Value round) {
    Value word = b.add(b.mul(round, b.i32(numThreads)), threads.getThread());
    b.when(b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, word, b.i32(words)),
           [&] {
             b.store(b.i32(0), shared.getPointer(tile, b.mul(word, b.i32(4))),
                     4);
           });
  });
}

void LayoutEmitter::emitReshape(ReshapeOp op) {
  if (isShared(getTile(op.getSource()))) {
    SharedTile tile = sharedTiles.get(op.getSource());
    tile.type = getTile(op.getResult());
    return sharedTiles.set(op.getResult(), tile);
  }
  program.setRegisters(op.getResult(),
                       llvm::to_vector(program.getRegisters(op.getSource())));
}

void LayoutEmitter::emitExchange(ExchangeOp op) {
  RankedTensorType type = getTile(op.getResult());
  const TileLayout &layout = program.getLayout(type);
  int64_t mask = op.getMask();
  SmallVector<Value> values;
  if (std::optional<SmallVector<LaneMove>> moves = findExchange(layout, mask)) {
    ArrayRef<Value> keys = program.getRegisters(op.getKeys());
    for (LaneMove move : *moves)
      values.push_back(move.lanes == 0
                           ? keys[move.reg]
                           : nvvm::shuffleXor(b, keys[move.reg], move.lanes));
    return program.setRegisters(op.getResult(), std::move(values));
  }
  SharedTile tile = sharedTiles.spill(op.getKeys());
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    auto coordinates = layout.getCoordinates(index);
    Value row = threads.materialize(threads.getCoordinate(coordinates[0]));
    Value column = b.make<arith::XOrIOp>(
        threads.materialize(threads.getCoordinate(coordinates[1])),
        b.i32(mask));
    Type element = getRegisterType(type.getElementType());
    values.push_back(shared.loadElementIf(threads.getInside(layout, index),
                                          tile, {row, column},
                                          b.zero(element)));
  }
  sharedTiles.release(tile);
  program.setRegisters(op.getResult(), std::move(values));
}

void LayoutEmitter::emitShift(ShiftOp op) {
  RankedTensorType type = getTile(op.getResult());
  const TileLayout &layout = program.getLayout(type);
  SmallVector<Value> values;
  if (auto predecessors = findPredecessors(layout)) {
    ArrayRef<Value> before = program.getRegisters(op.getBefore());
    ArrayRef<Value> tile = program.getRegisters(op.getTile());
    Value lane = threads.getLane();
    for (LanePredecessor from : *predecessors) {
      if (from.lanes <= 1) {
        values.push_back(from.lanes == 0 ? tile[from.reg] : before[from.reg]);
        continue;
      }
      // The last lane's column isn't read in this tile: it gives the column of
      // the tile before.
      Value others = b.i32(from.lanes - 1);
      Value place = b.make<arith::AndIOp>(lane, others);
      Value isLast =
          b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, place, others);
      Value previous = b.make<arith::AndIOp>(b.add(place, others), others);
      Value source = b.add(b.make<arith::SubIOp>(lane, place), previous);
      values.push_back(nvvm::readLane(
          b, b.select(isLast, before[from.reg], tile[from.reg]), source));
    }
    return program.setRegisters(op.getResult(), std::move(values));
  }
  SharedTile before = sharedTiles.spill(op.getBefore());
  SharedTile tile = sharedTiles.spill(op.getTile());
  Value last = b.i32(type.getDimSize(1) - 1), zero = b.zero(b.getF32Type());
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    Value inside = threads.getInside(layout, index);
    auto coordinates = layout.getCoordinates(index);
    Value row = threads.materialize(threads.getCoordinate(coordinates[0]));
    Value column = threads.materialize(threads.getCoordinate(coordinates[1]));
    Value isFirst =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, column, b.i32(0));
    Value isLater =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::ne, column, b.i32(0));
    Value own = shared.loadElementIf(b.both(inside, isLater), tile,
                                     {row, b.add(column, b.i32(-1))}, zero);
    values.push_back(shared.loadElementIf(b.both(inside, isFirst), before,
                                          {row, last}, own));
  }
  sharedTiles.release(tile);
  sharedTiles.release(before);
  program.setRegisters(op.getResult(), std::move(values));
}

void nsacc::addLayouts(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<LayoutEmitter>(kernel),
              &LayoutEmitter::emitConvert, &LayoutEmitter::emitReshape,
              &LayoutEmitter::emitExchange, &LayoutEmitter::emitShift);
}
