//===- EmitLists.cpp - Entries of lists counted and sorted, by a warp -----===//

#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/WarpRoles.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Gives turns to the entries of a window of numbers. Each number has a counter
/// in shared memory. The first of the lanes that have the number advances it by
/// the number of these lanes. So turns are in the lists' order, without atomic
/// operations.
class Counting {
public:
  template <typename OpTy>
  Counting(Kernel &kernel, OpTy op)
      : kernel(kernel), b(kernel.b), top(op.getTop()), every(op.getEvery()),
        along(op.getAlong()), first(kernel.program.lookup(op.getFirst())),
        count(kernel.program.lookup(op.getCount())),
        below(kernel.program.lookup(op.getBelow())),
        lists(kernel.program.getBuffer(op.getLists())),
        offsets(kernel.program.lookupAll(op.getOffsets())),
        lane(kernel.threads.getLane()),
        counters(kernel.sharedTiles.allocate(
            RankedTensorType::get({windowSize}, kernel.b.getI32Type()))) {
    kernel.sync.beforeWrite(counters);
  }

  /// `start` returns a number's first turn. `visit` gets an entry and its turn,
  /// `end` a number and the turn behind its last.
  void run(llvm::function_ref<Value(Value number)> start,
           llvm::function_ref<void(Value entry, Value turn)> visit,
           llvm::function_ref<void(Value number, Value turn)> end);

private:
  static constexpr int64_t windowSize = 4096;
  static constexpr int64_t unrolled = 4;

  void countEntries(Value window, Value size,
                    llvm::function_ref<void(Value, Value)> visit);
  /// An entry's number relative to the window's first one; it isn't below the
  /// window's size for entries outside of the window.
  Value loadNumber(Value entry, Value end, Value window);
  void forEachNumber(Value size, llvm::function_ref<void(Value)> body) {
    b.createLoop(lane, size, b.i32(kWarpSize), body);
  }
  Value getCounter(Value number) {
    return kernel.shared.getElementPointer(counters, number);
  }

  Kernel &kernel;
  CodeBuilder &b;
  int64_t top, every, along;
  Value first, count, below;
  const Buffer &lists;
  SmallVector<Value> offsets;
  Value lane;
  SharedTile counters;
};

} // namespace

Value Counting::loadNumber(Value entry, Value end, Value window) {
  Value exists = b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, entry, end);
  Value row = b.make<arith::DivUIOp>(entry, b.i32(top));
  Value column = b.make<arith::SubIOp>(entry, b.mul(row, b.i32(top)));
  if (every != 1)
    row = b.make<arith::DivUIOp>(row, b.i32(every));
  SmallVector<Value> indices(offsets);
  indices[along] = b.add(indices[along], row);
  indices.back() = b.add(indices.back(), column);
  Value none = b.i32(-1);
  Value number = b.branch(
      exists, b.getI32Type(),
      [&] {
        return SmallVector<Value>{b.load(b.getI32Type(),
                                         getElementPointer(b, lists, indices),
                                         sizeof(int32_t))};
      },
      [&] { return SmallVector<Value>{none}; })[0];
  // Negative entries and entries before the window are behind it as unsigned
  // numbers.
  Value fits = b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, number, below);
  return b.select(fits, b.make<arith::SubIOp>(number, window), none);
}

void Counting::countEntries(Value window, Value size,
                            llvm::function_ref<void(Value, Value)> visit) {
  Value begin = b.mul(first, b.i32(top));
  Value end = b.mul(b.add(first, count), b.i32(top));
  b.createLoop(begin, end, b.i32(unrolled * kWarpSize), [&](Value round) {
    SmallVector<Value> entries, numbers;
    for (int64_t i = 0; i < unrolled; ++i) {
      entries.push_back(b.add(b.add(round, lane), b.i32(i * kWarpSize)));
      numbers.push_back(loadNumber(entries.back(), end, window));
    }
    for (auto [entry, number] : llvm::zip_equal(entries, numbers)) {
      Value isInside =
          b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, number, size);
      Value peers = nvvm::matchLanes(b, number);
      Value earlier = b.make<arith::AndIOp>(
          peers, b.make<arith::SubIOp>(b.make<arith::ShLIOp>(b.i32(1), lane),
                                       b.i32(1)));
      Value place = b.make<LLVM::CtPopOp>(earlier.getType(), earlier);
      Value turn = b.branch(
          isInside, b.getI32Type(),
          [&] {
            return SmallVector<Value>{
                b.load(b.getI32Type(), getCounter(number), sizeof(int32_t))};
          },
          [&] { return SmallVector<Value>{b.i32(0)}; })[0];
      nvvm::syncWarp(b);
      Value isFirst =
          b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, place, b.i32(0));
      b.when(b.both(isInside, isFirst), [&] {
        Value all = b.make<LLVM::CtPopOp>(peers.getType(), peers);
        b.store(b.add(turn, all), getCounter(number), sizeof(int32_t));
      });
      nvvm::syncWarp(b);
      b.when(isInside, [&] { visit(entry, b.add(turn, place)); });
    }
  });
}

void Counting::run(llvm::function_ref<Value(Value)> start,
                   llvm::function_ref<void(Value, Value)> visit,
                   llvm::function_ref<void(Value, Value)> end) {
  Value most = b.i32(windowSize);
  b.createLoop(b.i32(0), below, most, [&](Value window) {
    Value size =
        b.make<arith::MinSIOp>(b.make<arith::SubIOp>(below, window), most);
    forEachNumber(size, [&](Value number) {
      b.store(start(b.add(window, number)), getCounter(number),
              sizeof(int32_t));
    });
    nvvm::syncWarp(b);
    countEntries(window, size, visit);
    forEachNumber(size, [&](Value number) {
      end(b.add(window, number),
          b.load(b.getI32Type(), getCounter(number), sizeof(int32_t)));
    });
    nvvm::syncWarp(b);
  });
  kernel.sharedTiles.release(counters);
}

namespace {

/// Writes ops that run in a single warp.
class ListsEmitter {
public:
  explicit ListsEmitter(Kernel &kernel) : kernel(kernel), b(kernel.b) {}

  LogicalResult emitHistogram(HistogramOp op);
  LogicalResult emitCountingSort(CountingSortOp op);
  LogicalResult emitPrefixSum(PrefixSumOp op);

private:
  bool isOneWarp() { return kernel.threads.getScope().numThreads == kWarpSize; }
  /// Address of an element of a buffer, `index` times `step` behind `indices`.
  Value getPointer(Value buffer, ValueRange indices, Value index, Value step) {
    SmallVector<Value> all = kernel.program.lookupAll(indices);
    all.back() = b.add(all.back(), step ? b.mul(index, step) : index);
    return getElementPointer(b, kernel.program.getBuffer(buffer), all);
  }
  Value load(Value pointer) {
    return b.load(b.getI32Type(), pointer, sizeof(int32_t));
  }

  Kernel &kernel;
  CodeBuilder &b;
};

} // namespace

LogicalResult ListsEmitter::emitHistogram(HistogramOp op) {
  if (!isOneWarp())
    return reject(op);
  kernel.sync.beforeGlobal(op.getLists(), /*isWrite=*/false);
  kernel.sync.beforeGlobal(op.getCounts(), /*isWrite=*/true);
  Value step = kernel.program.lookup(op.getStep());
  Counting(kernel, op)
      .run([&](Value) { return b.i32(0); }, [](Value, Value) {},
           [&](Value number, Value count) {
             b.store(count,
                     getPointer(op.getCounts(), op.getIndices(), number, step),
                     sizeof(int32_t));
           });
  return success();
}

LogicalResult ListsEmitter::emitCountingSort(CountingSortOp op) {
  if (!isOneWarp())
    return reject(op);
  for (Value buffer : {op.getLists(), op.getStarts()})
    kernel.sync.beforeGlobal(buffer, /*isWrite=*/false);
  kernel.sync.beforeGlobal(op.getSorted(), /*isWrite=*/true);
  Value step = kernel.program.lookup(op.getStep());
  Counting(kernel, op)
      .run(
          [&](Value number) {
            return load(
                getPointer(op.getStarts(), op.getIndices(), number, step));
          },
          [&](Value entry, Value turn) {
            b.store(entry,
                    getPointer(op.getSorted(), op.getPlace(), turn, Value()),
                    sizeof(int32_t));
          },
          [](Value, Value) {});
  return success();
}

/// Writes the sums; a lane has some neighbouring elements at a time.
LogicalResult ListsEmitter::emitPrefixSum(PrefixSumOp op) {
  constexpr int64_t perLane = 4;
  if (!isOneWarp())
    return reject(op);
  kernel.sync.beforeGlobal(op.getBuffer(), /*isWrite=*/true);
  Value lane = kernel.threads.getLane(), none = b.i32(0);
  Value count = kernel.program.lookup(op.getCount());
  auto loop = scf::ForOp::create(b, none, count, b.i32(perLane * kWarpSize),
                                 ValueRange{none});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value begin = b.add(loop.getInductionVar(), b.mul(lane, b.i32(perLane)));
    SmallVector<Value> pointers, exists, elements;
    Value sum = none;
    for (int64_t i = 0; i < perLane; ++i) {
      Value index = b.add(begin, b.i32(i));
      pointers.push_back(
          getPointer(op.getBuffer(), op.getIndices(), index, Value()));
      exists.push_back(
          b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, index, count));
      elements.push_back(b.branch(
          exists.back(), b.getI32Type(),
          [&] { return SmallVector<Value>{load(pointers.back())}; },
          [&] { return SmallVector<Value>{none}; })[0]);
      sum = b.add(sum, elements.back());
    }
    Value before = sum;
    for (int64_t distance = 1; distance < kWarpSize; distance *= 2) {
      Value other = nvvm::readLane(
          b, before, b.make<arith::SubIOp>(lane, b.i32(distance)));
      Value hasOther = b.make<arith::CmpIOp>(arith::CmpIPredicate::sge, lane,
                                             b.i32(distance));
      before = b.add(before, b.select(hasOther, other, none));
    }
    Value carried = loop.getRegionIterArg(0);
    Value all = nvvm::readLane(b, before, b.i32(kWarpSize - 1));
    Value running = b.add(carried, b.make<arith::SubIOp>(before, sum));
    for (int64_t i = 0; i < perLane; ++i) {
      b.when(exists[i],
             [&] { b.store(running, pointers[i], sizeof(int32_t)); });
      running = b.add(running, elements[i]);
    }
    scf::YieldOp::create(b, b.add(carried, all));
  }
  b.when(kernel.threads.isFirstThread(), [&] {
    b.store(loop.getResult(0),
            getPointer(op.getBuffer(), op.getIndices(), count, Value()),
            sizeof(int32_t));
  });
  return success();
}

void nsacc::addLists(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<ListsEmitter>(kernel),
              &ListsEmitter::emitHistogram, &ListsEmitter::emitCountingSort,
              &ListsEmitter::emitPrefixSum);
}
