//===- EmitGlobal.cpp - Loads of tiles, and single elements ---------------===//

#include "KernelEmitter.h"
#include "RegisterAccess.h"
#include "SharedCopy.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Loads tiles, and reads and writes single elements.
class GlobalEmitter {
public:
  explicit GlobalEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        shared(kernel.shared), sharedTiles(kernel.sharedTiles),
        sync(kernel.sync), copies(kernel.copies) {}

  LogicalResult emitLoad(LoadOp op);
  LogicalResult emitGather(GatherOp op);
  LogicalResult emitLookup(LookupOp op);
  LogicalResult emitScalarLoad(memref::LoadOp load);
  LogicalResult emitScalarStore(memref::StoreOp store);

private:
  LogicalResult loadShared(LoadOp op);
  void gatherWhere(GatherOp op);
  /// Loads elements of a buffer at indices that are clamped to it.
  using GetIndices = llvm::function_ref<SmallVector<Value>(int64_t element)>;
  SmallVector<Value> loadClamped(Value from, int64_t count,
                                 GetIndices getIndices);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  Synchronizer &sync;
  CopyGroups &copies;
};

} // namespace

LogicalResult GlobalEmitter::emitLoad(LoadOp op) {
  RankedTensorType type = getTile(op.getTile());
  if (isShared(type))
    return loadShared(op);
  if (type.getElementType().isIndex())
    return reject(op);
  sync.beforeGlobal(op.getAt().getBuffer(), /*isWrite=*/false);
  program.setRegisters(op.getTile(), loadRegisters(b, threads, program, op));
  return success();
}

LogicalResult GlobalEmitter::loadShared(LoadOp op) {
  RankedTensorType type = getTile(op.getTile());
  if (type.getElementType().isIndex() || type.getElementType().isInteger(1))
    return reject(op);
  sync.beforeGlobal(op.getAt().getBuffer(), /*isWrite=*/false);
  SharedTile tile = sharedTiles.allocate(type);
  sync.beforeWrite(tile);
  if (copyToShared(b, threads, program, shared, op.getAt(), tile))
    copies.note();
  sharedTiles.set(op.getTile(), tile);
  return success();
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

SmallVector<Value> GlobalEmitter::loadClamped(Value from, int64_t count,
                                              GetIndices getIndices) {
  sync.beforeGlobal(from, /*isWrite=*/false);
  const Buffer &buffer = program.getBuffer(from);
  Type element = cast<MemRefType>(from.getType()).getElementType();
  // An empty buffer has no element to read.
  Value isAny;
  SmallVector<Value> lasts;
  for (Value size : buffer.sizes) {
    Value count = b.make<arith::TruncIOp>(b.getI32Type(), size);
    lasts.push_back(b.add(count, b.i32(-1)));
    isAny = b.both(isAny, b.make<arith::CmpIOp>(arith::CmpIPredicate::sgt,
                                                count, b.i32(0)));
  }
  auto load = [&](int64_t number) {
    SmallVector<Value> indices = getIndices(number);
    for (auto [index, last] : llvm::zip_equal(indices, lasts))
      index =
          b.make<arith::MaxSIOp>(b.make<arith::MinSIOp>(index, last), b.i32(0));
    return b.load(element, getElementPointer(b, buffer, indices),
                  getMemoryBytes(element));
  };
  // One branch for all registers: with one for each, a tile of bucket numbers
  // is hundreds of blocks. Clamped indices may be read in padding, too.
  Value zero = b.zero(element);
  return b.branch(
      isAny, SmallVector<Type>(count, element),
      [&] { return llvm::map_to_vector(llvm::seq(count), load); },
      [&] { return SmallVector<Value>(count, zero); });
}

/// Loads the elements of the mask, whose indices are in the buffer.
void GlobalEmitter::gatherWhere(GatherOp op) {
  sync.beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  RankedTensorType type = getTile(op.getResult());
  const Buffer &buffer = program.getBuffer(op.getBuffer());
  const TileLayout &layout = program.getLayout(type);
  Type element = type.getElementType();
  Value zero = b.zero(element);
  SmallVector<Value> values;
  for (auto [index, mask] :
       llvm::enumerate(program.getRegisters(op.getMask()))) {
    auto indices = llvm::map_to_vector(op.getIndices(), [&](Value tile) {
      return program.getRegisters(tile)[index];
    });
    values.push_back(b.branch(
        b.both(threads.getInside(layout, index), mask), element,
        [&] {
          return SmallVector<Value>{
              b.load(element, getElementPointer(b, buffer, indices),
                     getMemoryBytes(element))};
        },
        [&] { return SmallVector<Value>{zero}; })[0]);
  }
  program.setRegisters(op.getResult(), std::move(values));
}

LogicalResult GlobalEmitter::emitGather(GatherOp op) {
  if (op.getMask())
    return gatherWhere(op), success();
  RankedTensorType type = getTile(op.getResult());
  const TileLayout &layout = program.getLayout(type);
  SmallVector<Value> values = loadClamped(
      op.getBuffer(), layout.getNumRegisters(), [&](int64_t number) {
        return llvm::map_to_vector(op.getIndices(), [&](Value tile) -> Value {
          return program.getRegisters(tile)[number];
        });
      });
  Value zero = b.zero(type.getElementType());
  for (auto [index, value] : llvm::enumerate(values))
    if (Value inside = threads.getInside(layout, index))
      value = b.select(inside, value, zero);
  program.setRegisters(op.getResult(), std::move(values));
  return success();
}

LogicalResult GlobalEmitter::emitLookup(LookupOp op) {
  if (op.getType().isIndex())
    return reject(op);
  program.map(op.getResult(),
              loadClamped(op.getBuffer(), /*count=*/1, [&](int64_t) {
                return program.lookupAll(op.getIndices());
              }).front());
  return success();
}

LogicalResult GlobalEmitter::emitScalarLoad(memref::LoadOp load) {
  Type type = load.getType();
  if (type.isIndex())
    return reject(load);
  sync.beforeGlobal(load.getMemRef(), /*isWrite=*/false);
  SmallVector<Value> indices = program.lookupAll(load.getIndices());
  Value pointer =
      getElementPointer(b, program.getBuffer(load.getMemRef()), indices);
  program.map(load.getResult(), b.load(type, pointer, getMemoryBytes(type)));
  return success();
}

LogicalResult GlobalEmitter::emitScalarStore(memref::StoreOp store) {
  Type type = store.getValueToStore().getType();
  if (type.isIndex())
    return reject(store);
  sync.beforeGlobal(store.getMemRef(), /*isWrite=*/true);
  SmallVector<Value> indices = program.lookupAll(store.getIndices());
  b.when(threads.isFirstThread(), [&] {
    b.store(program.lookup(store.getValueToStore()),
            getElementPointer(b, program.getBuffer(store.getMemRef()), indices),
            getMemoryBytes(type));
  });
  return success();
}

void nsacc::addGlobalLoads(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<GlobalEmitter>(kernel), &GlobalEmitter::emitLoad,
              &GlobalEmitter::emitGather, &GlobalEmitter::emitLookup,
              &GlobalEmitter::emitScalarLoad, &GlobalEmitter::emitScalarStore);
}
