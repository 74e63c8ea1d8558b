//===- EmitCandidates.cpp - The greatest keys of rows, by a threshold -----===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

static constexpr int64_t kKeyBits = 64, kDigitBits = 8;
static constexpr int64_t kDigits = int64_t{1} << kDigitBits;

namespace {

/// The lists of a program's rows in scratch memory.
class CandidateLists {
public:
  CandidateLists(TileEmitter &emitter, const TileEmitter::Candidates &lists)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        lists(lists) {}

  void clear(int64_t floor);
  void offer(Value keys, int64_t columns);
  void choose(Value numbers, std::optional<int64_t> beside);
  void read(Value first, Value target, int64_t columns);

private:
  using Fold = llvm::function_ref<SmallVector<Value>(Value, ValueRange)>;

  /// Cuts a row's `count` keys to the `kept` greatest; `count` is greater than
  /// `kept`.
  void cut(Value row, Value count, Value kept);
  Value findFloor(Value row, Value count, Value kept);
  void countDigits(Value row, Value count, Value floor, Value shift);
  /// Appends a vector's keys that aren't below the floor behind `count` others.
  Value append(Value keys, int64_t width, Value floor, Value row, Value count);
  void forEachRow(llvm::function_ref<void(Value)> body) {
    emitter.forEach(lists.type.getRows(), body);
  }

  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(builder, loc, lhs, rhs);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  Value index(int64_t value) { return emitter.constant(value); }
  Value i64(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, /*width=*/64);
  }
  Value load(Value memory, ValueRange at) {
    return memref::LoadOp::create(builder, loc, memory, at);
  }
  void store(Value value, Value memory, ValueRange at) {
    memref::StoreOp::create(builder, loc, value, memory, at);
  }
  SmallVector<Value> fold(Value first, Value end, Value step, ValueRange init,
                          Fold body);
  void when(Value condition, llvm::function_ref<void()> body);
  SmallVector<Value> branch(Value condition, TypeRange types,
                            llvm::function_ref<SmallVector<Value>()> body,
                            llvm::function_ref<SmallVector<Value>()> other);

  TileEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  const TileEmitter::Candidates &lists;
};

} // namespace

SmallVector<Value> CandidateLists::fold(Value first, Value end, Value step,
                                        ValueRange init, Fold body) {
  auto loop = scf::ForOp::create(builder, loc, first, end, step, init);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(builder, loc, next);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value>
CandidateLists::branch(Value condition, TypeRange types,
                       llvm::function_ref<SmallVector<Value>()> body,
                       llvm::function_ref<SmallVector<Value>()> other) {
  auto ifOp = scf::IfOp::create(builder, loc, types, condition,
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(ifOp.thenBlock());
  scf::YieldOp::create(builder, loc, body());
  builder.setInsertionPointToEnd(ifOp.elseBlock());
  scf::YieldOp::create(builder, loc, other());
  return SmallVector<Value>(ifOp.getResults());
}

void CandidateLists::when(Value condition, llvm::function_ref<void()> body) {
  branch(
      condition, {}, [&] { return body(), SmallVector<Value>(); },
      [] { return SmallVector<Value>(); });
}

void CandidateLists::clear(int64_t floor) {
  forEachRow([&](Value row) {
    store(index(0), lists.counts, row);
    store(i64(floor), lists.floors, row);
  });
}

/// Appends keys. Most vectors have no key that gets in.
Value CandidateLists::append(Value keys, int64_t width, Value floor, Value row,
                             Value count) {
  Value isIn =
      compare(arith::CmpIPredicate::sge, keys, emitter.splat(floor, width));
  Value any = isIn;
  if (width > 1)
    any = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR,
                                      isIn);
  return branch(
      any, builder.getIndexType(),
      [&]() -> SmallVector<Value> {
        if (width == 1) {
          store(keys, lists.keys, {row, count});
          return {make<arith::AddIOp>(count, index(1))};
        }
        // The builder without the attribute swaps the op's last operands.
        vector::CompressStoreOp::create(builder, loc, lists.keys,
                                        ValueRange{row, count}, isIn, keys,
                                        /*alignment=*/IntegerAttr());
        Value ones = arith::ExtUIOp::create(
            builder, loc, VectorType::get({width}, builder.getI64Type()), isIn);
        Value added = vector::ReductionOp::create(
            builder, loc, vector::CombiningKind::ADD, ones);
        added = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           added);
        return {make<arith::AddIOp>(count, added)};
      },
      [&] { return SmallVector<Value>{count}; })[0];
}

/// Offers keys. A list without room for a tile's keys is cut first.
void CandidateLists::offer(Value keys, int64_t columns) {
  int64_t keep = lists.type.getKeep(), room = lists.type.getRoom();
  forEachRow([&](Value row) {
    Value isFull = compare(arith::CmpIPredicate::sgt, load(lists.counts, row),
                           index(room - columns));
    when(isFull, [&] { cut(row, load(lists.counts, row), index(keep)); });
    Value floor = load(lists.floors, row);
    Value count = load(lists.counts, row);
    int64_t lanes = emitter.getLanes(), whole = columns / lanes * lanes;
    auto add = [&](Value column, int64_t width, Value count) {
      return append(emitter.loadVector(keys, {row, column}, width), width,
                    floor, row, count);
    };
    if (whole > 0)
      count =
          fold(index(0), index(whole), index(lanes), count,
               [&](Value column, ValueRange carried) {
                 return SmallVector<Value>{add(column, lanes, carried.front())};
               })[0];
    for (auto [column, width] : emitter.splitRest(columns))
      count = add(index(column), width, count);
    store(count, lists.counts, row);
  });
}

void CandidateLists::countDigits(Value row, Value count, Value floor,
                                 Value shift) {
  emitter.forEach(kDigits,
                  [&](Value digit) { store(index(0), lists.digits, digit); });
  fold(index(0), count, index(1), {}, [&](Value place, ValueRange) {
    Value key = load(lists.keys, {row, place});
    // Counts the keys that share the floor's higher digits. The floor's own
    // digit is 0 here.
    Value differing =
        make<arith::ShRUIOp>(make<arith::XOrIOp>(key, floor), shift);
    when(compare(arith::CmpIPredicate::ult, differing, i64(kDigits)), [&] {
      Value digit = arith::IndexCastOp::create(
          builder, loc, builder.getIndexType(), differing);
      store(make<arith::AddIOp>(load(lists.digits, digit), index(1)),
            lists.digits, digit);
    });
    return SmallVector<Value>();
  });
}

/// Finds the floor digit by digit, from the highest on, until all keys with the
/// same digits are taken: then `kept` keys aren't below the result.
Value CandidateLists::findFloor(Value row, Value count, Value kept) {
  Type indexType = builder.getIndexType(), i64Type = builder.getI64Type();
  SmallVector<Type> types = {i64Type, i64Type, indexType};
  auto loop = scf::WhileOp::create(
      builder, loc, types,
      ValueRange{i64(0), i64(kKeyBits - kDigitBits), kept});
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locations(types.size(), loc);
  Block *asking = builder.createBlock(&loop.getBefore(), {}, types, locations);
  Value isOpen =
      compare(arith::CmpIPredicate::sge, asking->getArgument(1), i64(0));
  scf::ConditionOp::create(builder, loc, isOpen, asking->getArguments());
  Block *doing = builder.createBlock(&loop.getAfter(), {}, types, locations);
  Value floor = doing->getArgument(0), shift = doing->getArgument(1),
        wanted = doing->getArgument(2);
  countDigits(row, count, floor, shift);
  // Goes from the greatest digit down to the last one with fewer than `wanted`
  // keys above it.
  SmallVector<Value> found = fold(
      index(0), index(kDigits), index(1), {index(0), index(0), index(0)},
      [&](Value step, ValueRange carried) {
        Value digit = make<arith::SubIOp>(index(kDigits - 1), step);
        Value above = carried[1];
        Value all = make<arith::AddIOp>(above, load(lists.digits, digit));
        Value isHere = make<arith::AndIOp>(
            compare(arith::CmpIPredicate::slt, above, wanted),
            compare(arith::CmpIPredicate::sge, all, wanted));
        Value here =
            arith::SelectOp::create(builder, loc, isHere, digit, carried[0]);
        Value left = arith::SelectOp::create(builder, loc, isHere,
                                             make<arith::SubIOp>(wanted, above),
                                             carried[2]);
        return SmallVector<Value>{here, all, left};
      });
  Value digit = found[0], rest = found[2];
  Value wide = arith::IndexCastOp::create(builder, loc, i64Type, digit);
  Value raised = make<arith::OrIOp>(floor, make<arith::ShLIOp>(wide, shift));
  Value isDone =
      compare(arith::CmpIPredicate::eq, rest, load(lists.digits, digit));
  Value next =
      arith::SelectOp::create(builder, loc, isDone, i64(-1),
                              make<arith::SubIOp>(shift, i64(kDigitBits)));
  scf::YieldOp::create(builder, loc, ValueRange{raised, next, rest});
  return loop.getResult(0);
}

/// Moves the kept keys together, in order. A key's new place isn't behind its
/// old one.
void CandidateLists::cut(Value row, Value count, Value kept) {
  Value floor = findFloor(row, count, kept);
  Value left = fold(index(0), count, index(1), index(0),
                    [&](Value place, ValueRange carried) {
                      Value key = load(lists.keys, {row, place});
                      return SmallVector<Value>{
                          append(key, 1, floor, row, carried.front())};
                    })[0];
  store(left, lists.counts, row);
  store(floor, lists.floors, row);
}

void CandidateLists::choose(Value numbers, std::optional<int64_t> beside) {
  Value keep = index(lists.type.getKeep());
  forEachRow([&](Value row) {
    Value count = load(lists.counts, row);
    // No row asks for more keys than a list keeps, or for fewer than none.
    Value number = arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(),
        make<arith::MinSIOp>(i64(lists.type.getKeep()),
                             make<arith::MaxSIOp>(load(numbers, row), i64(0))));
    if (beside) {
      Value found =
          fold(index(0), count, index(1), index(0),
               [&](Value place, ValueRange carried) {
                 Value isIn =
                     compare(arith::CmpIPredicate::sge,
                             load(lists.keys, {row, place}), i64(*beside));
                 Value next = make<arith::AddIOp>(carried.front(), index(1));
                 return SmallVector<Value>{arith::SelectOp::create(
                     builder, loc, isIn, next, carried.front())};
               })[0];
      number = make<arith::MinSIOp>(make<arith::AddIOp>(number, found), keep);
    }
    Value some = compare(arith::CmpIPredicate::ne, number, index(0));
    Value isCut = compare(arith::CmpIPredicate::sgt, count, number);
    when(compare(arith::CmpIPredicate::eq, number, index(0)),
         [&] { store(index(0), lists.counts, row); });
    when(make<arith::AndIOp>(isCut, some), [&] { cut(row, count, number); });
  });
}

void CandidateLists::read(Value first, Value target, int64_t columns) {
  forEachRow([&](Value row) {
    Value count = load(lists.counts, row);
    emitter.forEach(columns, [&](Value column) {
      Value place = make<arith::AddIOp>(first, column);
      Value key = branch(
          compare(arith::CmpIPredicate::slt, place, count),
          builder.getI64Type(),
          [&] { return SmallVector<Value>{load(lists.keys, {row, place})}; },
          [&] { return SmallVector<Value>{i64(-1)}; })[0];
      store(key, target, {row, column});
    });
  });
}

void TileEmitter::emitCandidates(CandidatesOp op) {
  CandidatesType type = op.getCandidates().getType();
  int64_t rows = type.getRows();
  auto allocate = [&](ArrayRef<int64_t> shape, Type element) {
    return allocateScratch(MemRefType::get(shape, element));
  };
  Type index = builder.getIndexType(), i64 = builder.getI64Type();
  candidates[op.getCandidates()] = {
      type, allocate({rows, type.getRoom()}, i64), allocate({rows}, index),
      allocate({rows}, i64), allocate({kDigits}, index)};
  CandidateLists(*this, candidates[op.getCandidates()]).clear(op.getFloor());
}

void TileEmitter::emitOffer(OfferOp op) {
  CandidateLists(*this, candidates[op.getCandidates()])
      .offer(memory.lookup(op.getKeys()), op.getKeys().getType().getDimSize(1));
}

void TileEmitter::emitChoose(ChooseOp op) {
  CandidateLists(*this, candidates[op.getCandidates()])
      .choose(memory.lookup(op.getNumbers()), op.getBeside());
}

void TileEmitter::emitChosen(ChosenOp op) {
  Value result = allocateResult(op.getKeys());
  CandidateLists(*this, candidates[op.getCandidates()])
      .read(lookup(op.getFirst()), result,
            op.getKeys().getType().getDimSize(1));
}
