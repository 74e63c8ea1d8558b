//===- EmitLists.cpp - Elements by keys, and sums of neighbours -----------===//

#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/WarpRoles.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Writes the ops that lists are made of, and memory of the program's own.
class ListsEmitter {
public:
  explicit ListsEmitter(Kernel &kernel)
      : kernel(kernel), b(kernel.b), threads(kernel.threads),
        program(kernel.program) {}

  LogicalResult emitAlloca(memref::AllocaOp op);
  void emitScatter(ScatterOp op);
  LogicalResult emitEnumerate(EnumerateOp op);
  LogicalResult emitScan(ScanOp op);

private:
  void combine(Combine kind, Value value, Value pointer);
  Value numberLane(Value key, Value isCounted, Value counters);
  Value addLanesBefore(Value number);
  SmallVector<Value> addWarpsBefore(MutableArrayRef<Value> before,
                                    ArrayRef<Value> sums);
  Value countBits(Value word) {
    return b.make<LLVM::CtPopOp>(word.getType(), word);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return b.make<arith::CmpIOp>(predicate, lhs, rhs);
  }

  Kernel &kernel;
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
};

} // namespace

/// The program's own memory is shared memory, until the program ends.
LogicalResult ListsEmitter::emitAlloca(memref::AllocaOp op) {
  MemRefType type = op.getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !isa<ProgramOp>(op->getParentOp()))
    return reject(op);
  Type element = type.getElementType();
  int64_t offset =
      kernel.shared.allocate(type.getNumElements() * getMemoryBytes(element),
                             RankedTensorType::get(type.getShape(), element));
  Buffer buffer = {.pointer =
                       kernel.shared.getPointer(b.i32(offset), /*more=*/{}),
                   .sizes = {},
                   .strides = {},
                   .type = type};
  for (int64_t size : type.getShape())
    buffer.sizes.push_back(b.i64(size));
  for (int64_t stride : type.getStridesAndOffset().first)
    buffer.strides.push_back(b.i64(stride));
  program.mapBuffer(op, std::move(buffer));
  return success();
}

//===----------------------------------------------------------------------===//
// Elements by keys
//===----------------------------------------------------------------------===//

void ListsEmitter::combine(Combine kind, Value value, Value pointer) {
  switch (kind) {
  case Combine::Set:
    return b.store(value, pointer, getMemoryBytes(value.getType()));
  case Combine::Add:
    return nvvm::addTo(b, pointer, value);
  case Combine::Or:
    return nvvm::addBits(b, pointer, value);
  }
}

void ListsEmitter::emitScatter(ScatterOp op) {
  kernel.sync.beforeGlobal(op.getBuffer(), /*isWrite=*/true, op);
  const Buffer &buffer = program.getBuffer(op.getBuffer());
  const TileLayout &layout = program.getLayout(getTile(op.getValues()));
  for (auto [index, each] :
       llvm::enumerate(program.getRegisters(op.getValues()))) {
    if (layout.isPadding(index))
      continue;
    Value value = each, condition = threads.getOwned(layout, index);
    if (op.getMask())
      condition = b.both(condition, program.getRegisters(op.getMask())[index]);
    auto indices = llvm::map_to_vector(op.getIndices(), [&](Value tile) {
      return program.getRegisters(tile)[index];
    });
    b.when(condition, [&] {
      combine(op.getKind(), value, getElementPointer(b, buffer, indices));
    });
  }
}

/// Numbers the lanes' keys. The first of the lanes that have a key advances its
/// counter by the number of these lanes. So numbers are in the order of lanes,
/// without atomic operations.
Value ListsEmitter::numberLane(Value key, Value isCounted, Value counter) {
  Value lane = threads.getLane();
  Value peers = nvvm::matchLanes(b, key);
  Value before =
      b.make<arith::SubIOp>(b.make<arith::ShLIOp>(b.i32(1), lane), b.i32(1));
  Value place = countBits(b.make<arith::AndIOp>(peers, before));
  Value count = b.branch(
      isCounted, b.getI32Type(),
      [&] {
        return SmallVector<Value>{
            b.load(b.getI32Type(), counter, sizeof(int32_t))};
      },
      [&] { return SmallVector<Value>{b.i32(0)}; })[0];
  nvvm::syncWarp(b);
  Value isFirst = compare(arith::CmpIPredicate::eq, place, b.i32(0));
  b.when(b.both(isCounted, isFirst), [&] {
    b.store(b.add(count, countBits(peers)), counter, sizeof(int32_t));
  });
  nvvm::syncWarp(b);
  return b.add(count, place);
}

LogicalResult ListsEmitter::emitEnumerate(EnumerateOp op) {
  const TileLayout &layout = program.getLayout(getTile(op.getNumbers()));
  auto blocked = dyn_cast_if_present<BlockedLayoutAttr>(
      getTile(op.getNumbers()).getEncoding());
  if (threads.getScope().numThreads != kWarpSize || !blocked ||
      blocked.getVector() != 1)
    return op.emitOpError("expected neighbouring keys in the lanes of a "
                          "program's only warp, found ")
           << getTile(op.getNumbers());
  kernel.sync.beforeGlobal(op.getCounters(), /*isWrite=*/true, op);
  const Buffer &counters = program.getBuffer(op.getCounters());
  Value none = b.i32(-1), zero = b.i32(0);
  SmallVector<Value> numbers;
  for (auto [index, each] :
       llvm::enumerate(program.getRegisters(op.getKeys()))) {
    Value key = each, isCounted = threads.getInside(layout, index);
    if (op.getMask())
      isCounted = b.both(isCounted, program.getRegisters(op.getMask())[index]);
    if (isCounted)
      key = b.select(isCounted, key, none);
    Value number =
        numberLane(key, isCounted, getElementPointer(b, counters, key));
    numbers.push_back(isCounted ? b.select(isCounted, number, zero) : number);
  }
  program.setRegisters(op.getNumbers(), std::move(numbers));
  return success();
}

//===----------------------------------------------------------------------===//
// Sums of neighbours
//===----------------------------------------------------------------------===//

/// Adds up the numbers of the lanes up to this one.
Value ListsEmitter::addLanesBefore(Value number) {
  Value lane = threads.getLane();
  for (int64_t distance = 1; distance < kWarpSize; distance *= 2) {
    Value other =
        nvvm::readLane(b, number, b.make<arith::SubIOp>(lane, b.i32(distance)));
    Value hasOther = compare(arith::CmpIPredicate::sge, lane, b.i32(distance));
    number = b.add(number, b.select(hasOther, other, b.i32(0)));
  }
  return number;
}

/// Adds what the warps in front of a thread's have to `before`, which has one
/// number for each group of registers. `sums` are the sums of the warp's lanes.
/// Returns the groups' sums over all warps.
SmallVector<Value> ListsEmitter::addWarpsBefore(MutableArrayRef<Value> before,
                                                ArrayRef<Value> sums) {
  int64_t warps = threads.getScope().numThreads / kWarpSize;
  int64_t groups = sums.size();
  if (warps == 1)
    return SmallVector<Value>(sums);
  SharedTile ofWarps = kernel.sharedTiles.allocate(
      RankedTensorType::get({groups * warps}, b.getI32Type()));
  kernel.sync.beforeWrite(ofWarps);
  Value warp = threads.getDim(ThreadDim::Warp);
  auto getPointer = [&](int64_t group, Value number) {
    return kernel.shared.getElementPointer(ofWarps,
                                           b.add(number, b.i32(group * warps)));
  };
  Value isFirst =
      compare(arith::CmpIPredicate::eq, threads.getLane(), b.i32(0));
  b.when(isFirst, [&] {
    for (int64_t group = 0; group < groups; ++group)
      b.store(sums[group], getPointer(group, warp), sizeof(int32_t));
  });
  kernel.sync.beforeRead(ofWarps);
  SmallVector<Value> all;
  for (int64_t group = 0; group < groups; ++group) {
    Value sum = b.i32(0);
    for (int64_t i = 0; i < warps; ++i) {
      Value number =
          b.load(b.getI32Type(), getPointer(group, b.i32(i)), sizeof(int32_t));
      Value isBefore = compare(arith::CmpIPredicate::slt, b.i32(i), warp);
      before[group] =
          b.add(before[group], b.select(isBefore, number, b.i32(0)));
      sum = b.add(sum, number);
    }
    all.push_back(sum);
  }
  kernel.sharedTiles.release(ofWarps);
  return all;
}

/// Writes the sums of a tile in whose order the threads have groups of
/// neighbouring registers.
LogicalResult ListsEmitter::emitScan(ScanOp op) {
  auto blocked = dyn_cast_if_present<BlockedLayoutAttr>(
      getTile(op.getBefore()).getEncoding());
  if (!blocked || blocked.getThreads() != threads.getScope().numThreads)
    return op.emitOpError("expected neighbours in the registers of all "
                          "threads, found ")
           << getTile(op.getBefore());
  const TileLayout &layout = program.getLayout(getTile(op.getBefore()));
  int64_t vector = blocked.getVector();
  SmallVector<Value> result, before, sums;
  Value zero = b.i32(0), last = b.i32(kWarpSize - 1), own;
  for (auto [index, each] :
       llvm::enumerate(program.getRegisters(op.getSource()))) {
    if (index % vector == 0)
      own = zero;
    result.push_back(own);
    Value element = each;
    if (Value inside = threads.getInside(layout, index))
      element = b.select(inside, element, zero);
    own = b.add(own, element);
    if ((index + 1) % vector != 0)
      continue;
    Value upTo = addLanesBefore(own);
    before.push_back(b.make<arith::SubIOp>(upTo, own));
    sums.push_back(nvvm::readLane(b, upTo, last));
  }
  Value sum = zero;
  for (auto [group, ofGroup] : llvm::enumerate(addWarpsBefore(before, sums))) {
    Value start = b.add(before[group], sum);
    for (Value &each :
         MutableArrayRef<Value>(result).slice(group * vector, vector))
      each = b.add(each, start);
    sum = b.add(sum, ofGroup);
  }
  program.setRegisters(op.getBefore(), std::move(result));
  program.map(op.getSum(), sum);
  return success();
}

void nsacc::addLists(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<ListsEmitter>(kernel), &ListsEmitter::emitAlloca,
              &ListsEmitter::emitScatter, &ListsEmitter::emitEnumerate,
              &ListsEmitter::emitScan);
}
