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

namespace {

/// Marks the entries of neighbouring blocks with the rows that have them, and
/// takes them in order.
class Union {
public:
  Union(TileEmitter &emitter, UniteOp op)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        op(op), lists(emitter.lookup(op.getLists())),
        marks(emitter.allocateScratch(MemRefType::get(
            {numBlocks, op.getNumWords()}, builder.getI32Type()))) {}

  void write() {
    auto windows = createLoop(
        constant(0), emitter.lookup(op.getBelow()), constant(numBlocks),
        constant(0), [&](Value first, Value found) {
          Value left =
              make<arith::SubIOp>(emitter.lookup(op.getBelow()), first);
          Value size = make<arith::MinSIOp>(left, constant(numBlocks));
          clear(size);
          mark(first, size);
          return take(first, size, found);
        });
    SmallVector<Value> counted = getPlace(constant(0));
    Value count = toWord(windows);
    memref::StoreOp::create(builder, loc, count, emitter.lookup(op.getCounts()),
                            counted);
  }

private:
  static constexpr int64_t numBlocks = 1024;

  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(builder, loc, lhs, rhs);
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value toWord(Value index) {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                      index);
  }
  Value less(Value lhs, Value rhs) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lhs,
                                 rhs);
  }
  SmallVector<Value> getPlace(Value entry) {
    SmallVector<Value> place;
    for (Value index : op.getIndices())
      place.push_back(emitter.lookup(index));
    place.push_back(entry);
    return place;
  }
  Value loadMark(Value block, Value word) {
    return memref::LoadOp::create(builder, loc, marks, ValueRange{block, word});
  }

  Value createLoop(Value first, Value end, Value step, Value carried,
                   llvm::function_ref<Value(Value, Value)> body) {
    auto loop = scf::ForOp::create(
        builder, loc, first, end, step, carried,
        [&](OpBuilder &nested, Location, Value index, ValueRange inside) {
          OpBuilder::InsertionGuard guard(builder);
          builder.restoreInsertionPoint(nested.saveInsertionPoint());
          Value next = body(index, inside.front());
          scf::YieldOp::create(builder, loc, next);
        });
    return loop.getResult(0);
  }

  void clear(Value size) {
    Value none = arith::ConstantIntOp::create(builder, loc, 0, /*width=*/32);
    emitter.forEachPoint(
        {constant(0), constant(0)}, {size, constant(op.getNumWords())},
        [&](ValueRange at) {
          memref::StoreOp::create(builder, loc, none, marks, at);
        });
  }

  /// Finds the begin of a row's list, and whether the row has one.
  std::pair<SmallVector<Value>, Value> findList(Value row) {
    Value heads = constant(op.getHeads());
    Value token = make<arith::DivUIOp>(row, heads);
    Value head = make<arith::SubIOp>(row, make<arith::MulIOp>(token, heads));
    token =
        make<arith::AddIOp>(emitter.lookup(op.getFirst()),
                            make<arith::MulIOp>(token, constant(op.getStep())));
    SmallVector<Value> offsets;
    for (Value offset : op.getOffsets())
      offsets.push_back(emitter.lookup(offset));
    int64_t along = op.getAlong();
    offsets[along] = make<arith::AddIOp>(
        offsets[along], make<arith::DivUIOp>(token, constant(op.getEvery())));
    if (op.getHeads() > 1)
      offsets[along + 1] = make<arith::AddIOp>(offsets[along + 1], head);
    return {offsets, less(offsets[along], emitter.lookup(op.getEnd()))};
  }

  void mark(Value first, Value size) {
    emitter.forEachPoint(
        {constant(0)}, {emitter.lookup(op.getRows())}, [&](ValueRange row) {
          auto [offsets, exists] = findList(row.front());
          Value columns = arith::SelectOp::create(
              builder, loc, exists, constant(op.getTop()), constant(0));
          markList(row.front(), offsets, columns, first, size);
        });
  }

  void markList(Value row, ArrayRef<Value> offsets, Value columns, Value first,
                Value size) {
    emitter.forEachPoint({constant(0)}, {columns}, [&](ValueRange at) {
      SmallVector<Value> place(offsets);
      place.back() = make<arith::AddIOp>(place.back(), at.front());
      Value entry = arith::IndexCastOp::create(
          builder, loc, builder.getIndexType(),
          memref::LoadOp::create(builder, loc, lists, place));
      Value block = make<arith::SubIOp>(entry, first);
      Value isInside = make<arith::AndIOp>(
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, block,
                                constant(0)),
          less(block, size));
      auto ifOp = scf::IfOp::create(builder, loc, isInside,
                                    /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(ifOp.thenYield());
      Value bits = constant(UniteOp::wordBits);
      Value word = make<arith::DivUIOp>(row, bits);
      Value bit = make<arith::ShLIOp>(
          arith::ConstantIntOp::create(builder, loc, 1, /*width=*/32),
          toWord(make<arith::RemUIOp>(row, bits)));
      memref::StoreOp::create(builder, loc,
                              make<arith::OrIOp>(loadMark(block, word), bit),
                              marks, ValueRange{block, word});
    });
  }

  /// Takes the marked blocks. Returns the number of entries found so far, these
  /// blocks included.
  Value take(Value first, Value size, Value found) {
    return createLoop(
        constant(0), size, constant(1), found, [&](Value block, Value found) {
          SmallVector<Value> words;
          Value any;
          for (int64_t word = 0; word < op.getNumWords(); ++word) {
            words.push_back(loadMark(block, constant(word)));
            any = any ? make<arith::OrIOp>(any, words.back()) : words.back();
          }
          Value isFound = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::ne, any,
              arith::ConstantIntOp::create(builder, loc, 0, /*width=*/32));
          auto ifOp = scf::IfOp::create(builder, loc, found.getType(), isFound,
                                        /*withElseRegion=*/true);
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToEnd(ifOp.thenBlock());
          SmallVector<Value> place = getPlace(found);
          memref::StoreOp::create(builder, loc,
                                  toWord(make<arith::AddIOp>(first, block)),
                                  emitter.lookup(op.getBlocks()), place);
          for (auto [index, word] : llvm::enumerate(words)) {
            if (!op.getMembers())
              break;
            SmallVector<Value> member(place);
            member.push_back(constant(index));
            memref::StoreOp::create(builder, loc, word,
                                    emitter.lookup(op.getMembers()), member);
          }
          scf::YieldOp::create(builder, loc,
                               make<arith::AddIOp>(found, constant(1)));
          builder.setInsertionPointToEnd(ifOp.elseBlock());
          scf::YieldOp::create(builder, loc, found);
          return ifOp.getResult(0);
        });
  }

  TileEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  UniteOp op;
  Value lists, marks;
};

} // namespace

void TileEmitter::emitUnite(UniteOp op) { Union(*this, op).write(); }

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
