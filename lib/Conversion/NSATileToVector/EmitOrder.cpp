//===- EmitOrder.cpp - Sorting rows, keeping the greatest keys ------------===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// A sorted list of the best keys so far. In front of it is a key that is
/// better than all.
class SortedList {
public:
  SortedList(TileEmitter &emitter, Value memory, int64_t size, Order order)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        memory(memory), size(size), order(order) {
    auto type = cast<MemRefType>(memory.getType());
    auto bits = type.getElementTypeBitWidth();
    least = APInt::getSignedMinValue(bits);
    greatest = APInt::getSignedMaxValue(bits);
    store(key(order == Order::Descending ? greatest : least, 1), 0);
  }

  void clear() {
    emitter.forEachVectorOfRow(size, [&](Value column, int64_t width) {
      store(key(order == Order::Descending ? least : greatest, width),
            next(column));
    });
  }
  void fill(Value source, Value row) {
    emitter.forEachVectorOfRow(size, [&](Value column, int64_t width) {
      store(emitter.loadVector(source, {row, column}, width), next(column));
    });
  }
  void read(Value target, Value row) {
    emitter.forEachVectorOfRow(size, [&](Value column, int64_t width) {
      emitter.storeVector(emitter.loadVector(memory, next(column), width),
                          target, {row, column});
    });
  }

  /// Inserts a key: list[k] = max(list[k], min(list[k - 1], key)), for all k at
  /// once. Most keys don't get in: one comparison with the last key shows that.
  void insert(Value added) {
    Value last = emitter.loadVector(memory, emitter.constant(size), 1);
    auto better = order == Order::Descending ? arith::CmpIPredicate::sgt
                                             : arith::CmpIPredicate::slt;
    Value isBetter = arith::CmpIOp::create(builder, loc, better, added, last);
    auto ifOp = scf::IfOp::create(builder, loc, isBetter,
                                  /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(ifOp.thenYield());
    // Goes from the end, so that keys are read before they change.
    SmallVector<std::pair<int64_t, int64_t>> vectors = getVectors();
    for (auto [column, width] : llvm::reverse(vectors)) {
      Value mine =
          emitter.loadVector(memory, emitter.constant(column + 1), width);
      Value before =
          emitter.loadVector(memory, emitter.constant(column), width);
      Value repeated = emitter.splat(added, width);
      store(best(mine, worst(before, repeated)), emitter.constant(column + 1));
    }
  }

private:
  SmallVector<std::pair<int64_t, int64_t>> getVectors() {
    SmallVector<std::pair<int64_t, int64_t>> vectors;
    int64_t lanes = emitter.getLanes();
    for (int64_t column = 0; column + lanes <= size; column += lanes)
      vectors.push_back({column, lanes});
    llvm::append_range(vectors, emitter.splitRest(size));
    return vectors;
  }
  Value greater(Value a, Value b) {
    return arith::MaxSIOp::create(builder, loc, a, b);
  }
  Value less(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  Value best(Value a, Value b) {
    return order == Order::Descending ? greater(a, b) : less(a, b);
  }
  Value worst(Value a, Value b) {
    return order == Order::Descending ? less(a, b) : greater(a, b);
  }
  Value key(const APInt &value, int64_t width) {
    Type type = cast<MemRefType>(memory.getType()).getElementType();
    return emitter.splatConstant(builder.getIntegerAttr(type, value), width);
  }
  Value next(Value column) {
    return arith::AddIOp::create(builder, loc, column, emitter.constant(1));
  }
  void store(Value vector, Value index) {
    emitter.storeVector(vector, memory, index);
  }
  void store(Value vector, int64_t index) {
    store(vector, emitter.constant(index));
  }

  TileEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  Value memory;
  int64_t size;
  Order order;
  APInt least, greatest;
};

} // namespace

void TileEmitter::emitSort(SortOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t columns = type.getDimSize(1);
  Value result = allocateResult(op.getResult());
  Value keys = memory.lookup(op.getKeys());
  SortedList list(*this, allocate(type.clone({columns + 1})), columns,
                  op.getOrder());
  forEach(type.getDimSize(0), [&](Value row) {
    list.clear();
    forEach(columns, [&](Value column) {
      list.insert(loadVector(keys, {row, column}, 1));
    });
    list.read(result, row);
  });
}

void TileEmitter::emitTop(TopOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto candidateType = cast<RankedTensorType>(op.getCandidates().getType());
  Value result = allocateResult(op.getResult());
  Value old = memory.lookup(op.getList());
  Value candidates = memory.lookup(op.getCandidates());
  int64_t columns = type.getDimSize(1);
  SortedList list(*this, allocate(type.clone({columns + 1})), columns,
                  Order::Descending);
  forEach(type.getDimSize(0), [&](Value row) {
    list.fill(old, row);
    forEach(candidateType.getDimSize(1), [&](Value column) {
      list.insert(loadVector(candidates, {row, column}, 1));
    });
    list.read(result, row);
  });
}

void TileEmitter::emitExchange(ExchangeOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t columns = type.getDimSize(1);
  // Vectors are whole: both numbers are powers of two.
  int64_t width = std::min(columns, lanes);
  int64_t within = op.getMask() & (width - 1), across = op.getMask() - within;
  SmallVector<int64_t> permutation;
  for (int64_t lane = 0; lane < width; ++lane)
    permutation.push_back(lane ^ within);
  Value result = allocateResult(op.getResult());
  Value keys = memory.lookup(op.getKeys());
  forEach(type.getDimSize(0), [&](Value row) {
    forEach(constant(0), constant(columns), width, [&](Value column) {
      Value from =
          arith::XOrIOp::create(builder, loc, column, constant(across));
      Value vector = loadVector(keys, {row, from}, width);
      if (within != 0)
        vector = vector::ShuffleOp::create(builder, loc, vector, vector,
                                           permutation);
      storeVector(vector, result, {row, column});
    });
  });
}

void TileEmitter::emitShift(ShiftOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t columns = type.getDimSize(1);
  Value result = allocateResult(op.getResult());
  Value before = memory.lookup(op.getBefore());
  Value tile = memory.lookup(op.getTile());
  forEach(type.getDimSize(0), [&](Value row) {
    Value last = loadVector(before, {row, constant(columns - 1)}, 1);
    storeVector(last, result, {row, constant(0)});
    forEachVectorOfRow(columns - 1, [&](Value column, int64_t width) {
      Value next = arith::AddIOp::create(builder, loc, column, constant(1));
      storeVector(loadVector(tile, {row, column}, width), result, {row, next});
    });
  });
}
