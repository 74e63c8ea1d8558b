//===- EmitLists.cpp - Entries of lists counted and sorted ----------------===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Gives turns to the entries of a window of numbers, one after the other. Each
/// number has a counter.
class Counting {
public:
  template <typename OpTy>
  Counting(TileEmitter &emitter, OpTy op)
      : builder(emitter.getBuilder()), loc(emitter.getLoc()), top(op.getTop()),
        every(op.getEvery()), along(op.getAlong()),
        first(emitter.lookup(op.getFirst())),
        count(emitter.lookup(op.getCount())),
        below(emitter.lookup(op.getBelow())),
        lists(emitter.lookup(op.getLists())),
        counters(emitter.allocateScratch(
            MemRefType::get({windowSize}, builder.getI32Type()))) {
    for (Value offset : op.getOffsets())
      offsets.push_back(emitter.lookup(offset));
  }

  /// `start` returns a number's first turn. `visit` gets an entry and its turn,
  /// `end` a number and the turn behind its last.
  void run(llvm::function_ref<Value(Value number)> start,
           llvm::function_ref<void(Value entry, Value turn)> visit,
           llvm::function_ref<void(Value number, Value turn)> end) {
    Value most = constant(windowSize);
    forEach(constant(0), below, most, [&](Value window) {
      Value size =
          make<arith::MinSIOp>(make<arith::SubIOp>(below, window), most);
      auto forEachNumber = [&](llvm::function_ref<void(Value)> body) {
        forEach(constant(0), size, constant(1), body);
      };
      forEachNumber([&](Value number) {
        store(start(make<arith::AddIOp>(window, number)), counters, number);
      });
      countEntries(window, size, visit);
      forEachNumber([&](Value number) {
        end(make<arith::AddIOp>(window, number), load(counters, number));
      });
    });
  }

private:
  static constexpr int64_t windowSize = 1024;

  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(builder, loc, lhs, rhs);
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value load(Value buffer, ValueRange indices) {
    return memref::LoadOp::create(builder, loc, buffer, indices);
  }
  void store(Value value, Value buffer, ValueRange indices) {
    memref::StoreOp::create(builder, loc, value, buffer, indices);
  }
  void forEach(Value begin, Value end, Value step,
               llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, begin, end, step);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void countEntries(Value window, Value size,
                    llvm::function_ref<void(Value, Value)> visit) {
    Value columns = constant(top), one = constant(1);
    forEach(first, make<arith::AddIOp>(first, count), one, [&](Value row) {
      Value list =
          every == 1 ? row : make<arith::DivUIOp>(row, constant(every));
      forEach(constant(0), columns, one, [&](Value column) {
        SmallVector<Value> indices(offsets);
        indices[along] = make<arith::AddIOp>(indices[along], list);
        indices.back() = make<arith::AddIOp>(indices.back(), column);
        Value stored = arith::IndexCastOp::create(
            builder, loc, builder.getIndexType(), load(lists, indices));
        Value number = make<arith::SubIOp>(stored, window);
        // Negative entries and entries before the window are behind it as
        // unsigned numbers.
        Value isInside = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::ult, number, size);
        auto branch = scf::IfOp::create(builder, loc, isInside);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(branch.thenYield());
        Value turn = load(counters, number);
        store(make<arith::AddIOp>(turn, arith::ConstantIntOp::create(
                                            builder, loc, 1, /*width=*/32)),
              counters, number);
        visit(make<arith::AddIOp>(make<arith::MulIOp>(row, columns), column),
              turn);
      });
    });
  }

  OpBuilder &builder;
  Location loc;
  int64_t top, every, along;
  Value first, count, below, lists, counters;
  SmallVector<Value> offsets;
};

/// Elements of a buffer of numbers, `index` times `step` behind its indices.
class Elements {
public:
  Elements(TileEmitter &emitter, Value buffer, ValueRange place, Value step)
      : builder(emitter.getBuilder()), loc(emitter.getLoc()),
        buffer(emitter.lookup(buffer)),
        step(step ? emitter.lookup(step) : Value()) {
    for (Value index : place)
      this->place.push_back(emitter.lookup(index));
  }

  Value load(Value index) {
    return memref::LoadOp::create(builder, loc, buffer, getIndices(index));
  }
  void store(Value value, Value index) {
    memref::StoreOp::create(builder, loc, value, buffer, getIndices(index));
  }

private:
  SmallVector<Value> getIndices(Value index) {
    SmallVector<Value> indices(place);
    if (step)
      index = arith::MulIOp::create(builder, loc, index, step);
    indices.back() = arith::AddIOp::create(builder, loc, indices.back(), index);
    return indices;
  }

  OpBuilder &builder;
  Location loc;
  Value buffer, step;
  SmallVector<Value> place;
};

} // namespace

void TileEmitter::emitHistogram(HistogramOp op) {
  Elements counts(*this, op.getCounts(), op.getIndices(), op.getStep());
  Counting(*this, op).run(
      [&](Value) -> Value {
        return arith::ConstantIntOp::create(builder, loc, 0, /*width=*/32);
      },
      [](Value, Value) {},
      [&](Value number, Value count) { counts.store(count, number); });
}

void TileEmitter::emitCountingSort(CountingSortOp op) {
  Elements starts(*this, op.getStarts(), op.getIndices(), op.getStep());
  Elements sorted(*this, op.getSorted(), op.getPlace(), Value());
  Counting(*this, op).run(
      [&](Value number) { return starts.load(number); },
      [&](Value entry, Value turn) {
        sorted.store(arith::IndexCastOp::create(builder, loc,
                                                builder.getI32Type(), entry),
                     arith::IndexCastOp::create(builder, loc,
                                                builder.getIndexType(), turn));
      },
      [](Value, Value) {});
}

void TileEmitter::emitPrefixSum(PrefixSumOp op) {
  Elements elements(*this, op.getBuffer(), op.getIndices(), Value());
  Value none = arith::ConstantIntOp::create(builder, loc, 0, /*width=*/32);
  Value count = lookup(op.getCount());
  auto loop = scf::ForOp::create(
      builder, loc, constant(0), count, constant(1), none,
      [&](OpBuilder &nested, Location, Value index, ValueRange carried) {
        OpBuilder::InsertionGuard guard(builder);
        builder.restoreInsertionPoint(nested.saveInsertionPoint());
        Value own = elements.load(index);
        elements.store(carried.front(), index);
        Value next = arith::AddIOp::create(builder, loc, carried.front(), own);
        scf::YieldOp::create(builder, loc, next);
      });
  elements.store(loop.getResult(0), count);
}
