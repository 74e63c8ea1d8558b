//===- EmitGlobal.cpp - Loads of tiles, and single elements ---------------===//

#include "KernelEmitter.h"
#include "SharedCopy.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

class GlobalEmitter {
public:
  explicit GlobalEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        shared(kernel.shared), sharedTiles(kernel.sharedTiles),
        sync(kernel.sync), copies(kernel.copies) {}

  LogicalResult emitLoad(LoadOp op);
  LogicalResult emitGather(GatherOp op);
  LogicalResult emitScalarLoad(memref::LoadOp load);
  LogicalResult emitScalarStore(memref::StoreOp store);

private:
  LogicalResult loadRegisters(LoadOp op);
  LogicalResult loadShared(LoadOp op);

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
  return isShared(getTile(op.getTile())) ? loadShared(op) : loadRegisters(op);
}

LogicalResult GlobalEmitter::loadShared(LoadOp op) {
  RankedTensorType type = getTile(op.getTile());
  if (type.getElementType().isIndex() || type.getElementType().isInteger(1))
    return reject(op);
  sync.beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  SharedTile tile = sharedTiles.allocate(type);
  sync.beforeWrite(tile);
  CopySource source = {op.getBuffer(),
                       op.getOffsets(),
                       op.getLimits(),
                       op.getDims(),
                       op.getSteps().value_or(ArrayRef<int64_t>()),
                       type};
  if (copyToShared(b, threads, program, shared, source, tile))
    copies.note();
  sharedTiles.set(op.getTile(), tile);
  return success();
}

LogicalResult GlobalEmitter::loadRegisters(LoadOp op) {
  RankedTensorType type = getTile(op.getTile());
  if (type.getElementType().isIndex())
    return reject(op);
  sync.beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  const TileLayout &layout = program.getLayout(type);
  TileAccess access(b, program, op.getBuffer(), op.getOffsets(), op.getLimits(),
                    op.getDims(), op.getSteps().value_or(ArrayRef<int64_t>()),
                    type.getShape());
  Type element = type.getElementType();
  int64_t bytes = getMemoryBytes(element);
  SmallVector<RegisterGroup> groups =
      getGroups(layout, bytes, access.isContiguous && !element.isInteger(1));
  Value none = b.zero(element);

  auto loadVectors = [&] {
    SmallVector<Value> values;
    for (RegisterGroup group : groups) {
      if (layout.isPadding(group.first)) {
        values.append(group.count, none);
        continue;
      }
      Value pointer =
          access.getPointer(threads.getCoordinates(layout, group.first));
      SmallVector<Value> parts = b.branch(
          threads.getInside(layout, group.first),
          SmallVector<Type>(group.count, element),
          [&] {
            if (group.count == 1)
              return SmallVector<Value>{b.load(element, pointer, bytes)};
            Value vector = b.load(VectorType::get({group.count}, element),
                                  pointer, group.count * bytes);
            SmallVector<Value> loaded;
            for (int64_t i = 0; i < group.count; ++i)
              loaded.push_back(b.element(vector, i));
            return loaded;
          },
          [&] { return SmallVector<Value>(group.count, none); });
      values.append(parts);
    }
    return values;
  };
  auto loadElements = [&] {
    SmallVector<Value> values;
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      if (layout.isPadding(index)) {
        values.push_back(none);
        continue;
      }
      SmallVector<IndexSum> coordinates = threads.getCoordinates(layout, index);
      Value inside = b.both(threads.getInside(layout, index),
                            access.getInside(coordinates));
      Value pointer = access.getPointer(coordinates);
      values.push_back(b.branch(
          inside, element,
          [&] { return SmallVector<Value>{b.load(element, pointer, bytes)}; },
          [&] { return SmallVector<Value>{none}; })[0]);
    }
    return values;
  };

  int64_t vectorBytes = groups.front().count * bytes;
  Value isFast = access.getAllInside();
  if (groups.front().count > 1)
    isFast = b.both(isFast, access.getAligned(vectorBytes));
  // Few elements aren't worth two ways.
  bool isSmall = groups.front().count == 1 && groups.size() <= 2;
  SmallVector<Type> types(layout.getNumRegisters(), element);
  access.forgetNested();
  program.setRegisters(op.getTile(), isSmall ? loadElements()
                                             : b.branch(
                                                   isFast, types,
                                                   [&] {
                                                     auto values =
                                                         loadVectors();
                                                     access.forgetNested();
                                                     return values;
                                                   },
                                                   loadElements));
  return success();
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

LogicalResult GlobalEmitter::emitGather(GatherOp op) {
  sync.beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  RankedTensorType type = getTile(op.getResult());
  const TileLayout &layout = program.getLayout(type);
  const Buffer &buffer = program.getBuffer(op.getBuffer());
  Type element = type.getElementType();
  // Nothing can be read of an empty buffer.
  Value isAny;
  SmallVector<Value> lasts;
  for (Value size : buffer.sizes) {
    Value count = b.make<arith::TruncIOp>(b.getI32Type(), size);
    lasts.push_back(b.add(count, b.i32(-1)));
    isAny = b.both(isAny, b.make<arith::CmpIOp>(arith::CmpIPredicate::sgt,
                                                count, b.i32(0)));
  }
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    SmallVector<Value> indices;
    for (auto [tile, last] : llvm::zip_equal(op.getIndices(), lasts)) {
      Value clamped =
          b.make<arith::MinSIOp>(program.getRegisters(tile)[index], last);
      indices.push_back(b.make<arith::MaxSIOp>(clamped, b.i32(0)));
    }
    values.push_back(b.branch(
        b.both(isAny, threads.getInside(layout, index)), element,
        [&] {
          return SmallVector<Value>{
              b.load(element, getElementPointer(b, buffer, indices),
                     getMemoryBytes(element))};
        },
        [&] { return SmallVector<Value>{b.zero(element)}; })[0]);
  }
  program.setRegisters(op.getResult(), std::move(values));
  return success();
}

LogicalResult GlobalEmitter::emitScalarLoad(memref::LoadOp load) {
  Type type = load.getType();
  if (type.isIndex())
    return reject(load);
  sync.beforeGlobal(load.getMemRef(), /*isWrite=*/false);
  SmallVector<Value> indices;
  for (Value index : load.getIndices())
    indices.push_back(program.lookup(index));
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
  SmallVector<Value> indices;
  for (Value index : store.getIndices())
    indices.push_back(program.lookup(index));
  Value isFirst = b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                        threads.getThread(), b.i32(0));
  b.when(isFirst, [&] {
    b.store(program.lookup(store.getValueToStore()),
            getElementPointer(b, program.getBuffer(store.getMemRef()), indices),
            getMemoryBytes(type));
  });
  return success();
}

void nsacc::addGlobalLoads(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<GlobalEmitter>(kernel), &GlobalEmitter::emitLoad,
              &GlobalEmitter::emitGather, &GlobalEmitter::emitScalarLoad,
              &GlobalEmitter::emitScalarStore);
}
