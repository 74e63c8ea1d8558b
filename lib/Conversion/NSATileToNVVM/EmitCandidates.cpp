//===- EmitCandidates.cpp - The greatest keys of rows, by a threshold -----===//

#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/WarpRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

static constexpr int64_t kKeyBits = 64, kDigitBits = 8;
static constexpr int64_t kDigits = int64_t{1} << kDigitBits;

namespace {

/// Places of lists in shared memory. Row r belongs to warp r mod the number of
/// warps. Only that warp's lanes change it, so that no barrier of a block is
/// needed.
struct Lists {
  CandidatesType type;
  SharedTile keys, counts, floors;
  /// For each warp, the number of examined keys that have each digit.
  SharedTile digits;
};

/// The work of a warp on the list of one row. The order of lanes changes no
/// value.
class ListOfWarp {
public:
  ListOfWarp(Kernel &kernel, const Lists &lists, Value row)
      : b(kernel.b), shared(kernel.shared), lists(lists), row(row),
        warp(kernel.threads.getDim(ThreadDim::Warp)),
        lane(kernel.threads.getLane()) {}

  Value loadCount() { return load(lists.counts, row); }
  Value loadFloor() { return load(lists.floors, row); }
  /// Stores the number of keys; all lanes see it.
  void storeCount(Value count) { storeOnce(count, lists.counts); }

  /// Appends the lanes' keys that aren't below the floor behind `count` others.
  /// Returns the new count.
  Value append(Value key, Value floor, Value count);
  /// Number of keys that aren't below a bound.
  Value countFrom(int64_t bound, Value count);
  /// Cuts a list of more than `kept` keys to the `kept` greatest; `kept` isn't
  /// 0. Keys below these can't get in any more.
  void cut(Value count, Value kept);

private:
  /// A digit with fewer than `wanted` keys above it and at least `wanted` with
  /// it: `size` keys have this digit, `above` keys a greater one.
  struct Digit {
    Value digit, size, above;
  };
  Digit findDigit(Value wanted);
  void countDigits(Value floor, Value shift, Value count);
  Value findFloor(Value count, Value kept);
  void compact(Value floor, Value count);

  Value load(const SharedTile &tile, ValueRange at) {
    return shared.loadElement(tile, at);
  }
  void store(Value value, const SharedTile &tile, ValueRange at) {
    b.store(value, shared.getElementPointer(tile, at), tile.elementBytes);
  }
  /// Stores a value after all lanes' reads and before later ones: a vote
  /// doesn't order memory.
  void storeOnce(Value value, const SharedTile &tile) {
    nvvm::syncWarp(b);
    b.when(compare(arith::CmpIPredicate::eq, lane, b.i32(0)),
           [&] { store(value, tile, row); });
    nvvm::syncWarp(b);
  }
  /// The lane's key of the 32 keys from `first` on; -1 behind the last.
  Value loadKey(Value first, Value count) {
    Value index = b.add(first, lane);
    Value exists = compare(arith::CmpIPredicate::slt, index, count);
    // Other rows belong to other warps, which may be changing them.
    Value own = b.select(exists, index, b.i32(0));
    return b.select(exists, load(lists.keys, {row, own}), b.i64(-1));
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return b.make<arith::CmpIOp>(predicate, lhs, rhs);
  }
  Value sub(Value lhs, Value rhs) { return b.make<arith::SubIOp>(lhs, rhs); }
  Value countBits(Value word) {
    return b.make<LLVM::CtPopOp>(word.getType(), word);
  }
  /// Number of set bits of `lanes` below this lane's.
  Value countBefore(Value lanes) {
    Value before = sub(b.make<arith::ShLIOp>(b.i32(1), lane), b.i32(1));
    return countBits(b.make<arith::AndIOp>(lanes, before));
  }

  CodeBuilder &b;
  SharedMemory &shared;
  const Lists &lists;
  Value row, warp, lane;
};

} // namespace

Value ListOfWarp::append(Value key, Value floor, Value count) {
  Value isIn = compare(arith::CmpIPredicate::sge, key, floor);
  Value lanes = nvvm::collectLanes(b, isIn);
  Value place = b.add(count, countBefore(lanes));
  b.when(isIn, [&] { store(key, lists.keys, {row, place}); });
  return b.add(count, countBits(lanes));
}

Value ListOfWarp::countFrom(int64_t bound, Value count) {
  return b.createLoop(
      b.i32(0), count, b.i32(kWarpSize), b.i32(0),
      [&](Value first, Value found) {
        Value isIn = compare(arith::CmpIPredicate::sge, loadKey(first, count),
                             b.i64(bound));
        return b.add(found, countBits(nvvm::collectLanes(b, isIn)));
      });
}

/// Counts the digits at `shift` of the keys that share the floor's higher
/// digits. The order of lanes doesn't matter to a count.
void ListOfWarp::countDigits(Value floor, Value shift, Value count) {
  for (int64_t i = 0; i < kDigits / kWarpSize; ++i)
    store(b.i32(0), lists.digits, {warp, b.add(lane, b.i32(i * kWarpSize))});
  nvvm::syncWarp(b);
  b.createLoop(b.i32(0), count, b.i32(kWarpSize), [&](Value first) {
    Value index = b.add(first, lane);
    Value key = loadKey(first, count);
    Value differing = b.make<arith::ShRUIOp>(b.make<arith::XOrIOp>(key, floor),
                                             b.extend(shift));
    Value isAlike = b.make<arith::AndIOp>(
        compare(arith::CmpIPredicate::slt, index, count),
        compare(arith::CmpIPredicate::ult, differing, b.i64(kDigits)));
    // The floor's digit is 0 here.
    Value digit = b.make<arith::TruncIOp>(b.getI32Type(), differing);
    b.when(isAlike, [&] {
      nvvm::addTo(b, shared.getElementPointer(lists.digits, {warp, digit}),
                  b.i32(1));
    });
  });
  nvvm::syncWarp(b);
}

/// Finds the digit. A lane has neighbouring digits, the first lane the
/// greatest.
ListOfWarp::Digit ListOfWarp::findDigit(Value wanted) {
  constexpr int64_t ofLane = kDigits / kWarpSize;
  Value greatest = sub(b.i32(kDigits - 1), b.mul(lane, b.i32(ofLane)));
  SmallVector<Value> sizes;
  Value sum = b.i32(0);
  for (int64_t i = 0; i < ofLane; ++i) {
    sizes.push_back(load(lists.digits, {warp, sub(greatest, b.i32(i))}));
    sum = b.add(sum, sizes.back());
  }
  Value all = sum;
  for (int64_t distance = 1; distance < kWarpSize; distance *= 2) {
    Value other = nvvm::readLane(b, all, sub(lane, b.i32(distance)));
    Value hasOther = compare(arith::CmpIPredicate::sge, lane, b.i32(distance));
    all = b.add(all, b.select(hasOther, other, b.i32(0)));
  }
  Value above = sub(all, sum);
  Digit found = {greatest, b.i32(0), above};
  Value isFound =
      b.make<arith::AndIOp>(compare(arith::CmpIPredicate::slt, above, wanted),
                            compare(arith::CmpIPredicate::sge, all, wanted));
  for (auto [i, size] : llvm::enumerate(sizes)) {
    Value isBelow = compare(arith::CmpIPredicate::slt, above, wanted);
    found = {b.select(isBelow, sub(greatest, b.i32(i)), found.digit),
             b.select(isBelow, size, found.size),
             b.select(isBelow, above, found.above)};
    above = b.add(above, size);
  }
  Value lanes = nvvm::collectLanes(b, isFound);
  Value source = b.make<LLVM::CountTrailingZerosOp>(lanes.getType(), lanes,
                                                    /*is_zero_poison=*/false);
  return {nvvm::readLane(b, found.digit, source),
          nvvm::readLane(b, found.size, source),
          nvvm::readLane(b, found.above, source)};
}

/// Finds the floor digit by digit, from the highest on, until all keys with the
/// same digits are taken: then `kept` keys aren't below the result.
Value ListOfWarp::findFloor(Value count, Value kept) {
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  SmallVector<Type> types = {i64, i32, i32};
  auto loop = scf::WhileOp::create(
      b, types, ValueRange{b.i64(0), b.i32(kKeyBits - kDigitBits), kept});
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(types.size(), b.getLoc());
  Block *asking = b.createBlock(&loop.getBefore(), {}, types, locations);
  Value isOpen =
      compare(arith::CmpIPredicate::sge, asking->getArgument(1), b.i32(0));
  scf::ConditionOp::create(b, isOpen, asking->getArguments());
  Block *doing = b.createBlock(&loop.getAfter(), {}, types, locations);
  Value floor = doing->getArgument(0), shift = doing->getArgument(1),
        wanted = doing->getArgument(2);
  countDigits(floor, shift, count);
  Digit found = findDigit(wanted);
  Value raised = b.make<arith::OrIOp>(
      floor, b.make<arith::ShLIOp>(b.extend(found.digit), b.extend(shift)));
  Value rest = sub(wanted, found.above);
  Value isDone = compare(arith::CmpIPredicate::eq, rest, found.size);
  Value next = b.select(isDone, b.i32(-1), sub(shift, b.i32(kDigitBits)));
  // Lanes read the digits before they are counted again.
  nvvm::syncWarp(b);
  scf::YieldOp::create(b, ValueRange{raised, next, rest});
  return loop.getResult(0);
}

/// Moves the kept keys together, in order. A key's new place isn't behind its
/// old one.
void ListOfWarp::compact(Value floor, Value count) {
  Value kept = b.createLoop(b.i32(0), count, b.i32(kWarpSize), b.i32(0),
                            [&](Value first, Value kept) {
                              Value key = loadKey(first, count);
                              nvvm::syncWarp(b);
                              Value next = append(key, floor, kept);
                              nvvm::syncWarp(b);
                              return next;
                            });
  storeOnce(floor, lists.floors);
  storeCount(kept);
}

void ListOfWarp::cut(Value count, Value kept) {
  compact(findFloor(count, kept), count);
}

namespace {

class CandidatesEmitter {
public:
  explicit CandidatesEmitter(Kernel &kernel) : kernel(kernel), b(kernel.b) {}

  void emitCandidates(CandidatesOp op);
  void emitOffer(OfferOp op);
  void emitChoose(ChooseOp op);
  void emitChosen(ChosenOp op);

private:
  int64_t getNumWarps() {
    return kernel.threads.getScope().numThreads / kWarpSize;
  }
  /// Calls `body` for the rows of each warp.
  void forEachRow(const Lists &lists, llvm::function_ref<void(Value)> body) {
    b.createLoop(kernel.threads.getDim(ThreadDim::Warp),
                 b.i32(lists.type.getRows()), b.i32(getNumWarps()), body);
  }
  /// Waits at a barrier, if needed, until nobody reads the lists any more.
  void beforeChange(const Lists &lists) {
    for (const SharedTile *tile :
         {&lists.keys, &lists.counts, &lists.floors, &lists.digits})
      kernel.sync.beforeWrite(*tile);
  }

  Kernel &kernel;
  CodeBuilder &b;
  llvm::DenseMap<Value, Lists> known;
};

} // namespace

void CandidatesEmitter::emitCandidates(CandidatesOp op) {
  CandidatesType type = op.getCandidates().getType();
  int64_t rows = type.getRows();
  auto allocate = [&](ArrayRef<int64_t> shape, Type element) {
    return kernel.sharedTiles.allocate(RankedTensorType::get(shape, element));
  };
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Lists lists = {type, allocate({rows, type.getRoom()}, i64),
                 allocate({rows}, i32), allocate({rows}, i64),
                 allocate({getNumWarps(), kDigits}, i32)};
  beforeChange(lists);
  Value floor = b.i64(op.getFloor());
  forEachRow(lists, [&](Value row) {
    Value isFirst = b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                          kernel.threads.getLane(), b.i32(0));
    b.when(isFirst, [&] {
      b.store(b.i32(0), kernel.shared.getElementPointer(lists.counts, row),
              lists.counts.elementBytes);
      b.store(floor, kernel.shared.getElementPointer(lists.floors, row),
              lists.floors.elementBytes);
    });
  });
  nvvm::syncWarp(b);
  known[op.getCandidates()] = lists;
}

/// Offers keys. A list without room for a tile's keys is cut first.
void CandidatesEmitter::emitOffer(OfferOp op) {
  constexpr int64_t unrolled = 4;
  const Lists &lists = known.find(op.getCandidates())->second;
  int64_t columns = op.getKeys().getType().getDimSize(1);
  SharedTile keys = kernel.sharedTiles.spill(op.getKeys());
  beforeChange(lists);
  forEachRow(lists, [&](Value row) {
    ListOfWarp list(kernel, lists, row);
    Value isFull =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::sgt, list.loadCount(),
                              b.i32(lists.type.getRoom() - columns));
    b.when(isFull,
           [&] { list.cut(list.loadCount(), b.i32(lists.type.getKeep())); });
    Value floor = list.loadFloor(), lane = kernel.threads.getLane();
    auto offer = [&](Value first, Value count) {
      Value column = b.add(first, lane);
      Value exists;
      if (columns % kWarpSize != 0)
        exists = b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, column,
                                       b.i32(columns));
      Value key =
          kernel.shared.loadElementIf(exists, keys, {row, column}, b.i64(-1));
      return list.append(key, floor, count);
    };
    Value count = list.loadCount();
    int64_t rounds = llvm::divideCeil(columns, kWarpSize);
    if (rounds <= unrolled)
      for (int64_t i = 0; i < rounds; ++i)
        count = offer(b.i32(i * kWarpSize), count);
    else
      count = b.createLoop(b.i32(0), b.i32(columns), b.i32(kWarpSize), count,
                           offer);
    list.storeCount(count);
  });
  kernel.sharedTiles.release(keys);
}

void CandidatesEmitter::emitChoose(ChooseOp op) {
  const Lists &lists = known.find(op.getCandidates())->second;
  SharedTile numbers = kernel.sharedTiles.spill(op.getNumbers());
  beforeChange(lists);
  forEachRow(lists, [&](Value row) {
    ListOfWarp list(kernel, lists, row);
    Value count = list.loadCount();
    // No row asks for more keys than a list keeps, or for fewer than none.
    Value most = b.i64(lists.type.getKeep());
    Value number = b.make<arith::MinSIOp>(
        most, b.make<arith::MaxSIOp>(kernel.shared.loadElement(numbers, row),
                                     b.i64(0)));
    number = b.make<arith::TruncIOp>(b.getI32Type(), number);
    if (op.getBeside())
      number = b.make<arith::MinSIOp>(
          b.add(number, list.countFrom(*op.getBeside(), count)),
          b.i32(lists.type.getKeep()));
    Value isNone =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, number, b.i32(0));
    Value isCut =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::sgt, count, number);
    b.when(isNone, [&] { list.storeCount(b.i32(0)); });
    Value some =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::ne, number, b.i32(0));
    b.when(b.both(isCut, some), [&] { list.cut(count, number); });
  });
  kernel.sharedTiles.release(numbers);
}

void CandidatesEmitter::emitChosen(ChosenOp op) {
  const Lists &lists = known.find(op.getCandidates())->second;
  for (const SharedTile *tile : {&lists.keys, &lists.counts})
    kernel.sync.beforeRead(*tile);
  Value first = kernel.program.lookup(op.getFirst());
  const TileLayout &layout = kernel.program.getLayout(getTile(op.getKeys()));
  SmallVector<Value> keys;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      keys.push_back(b.i64(-1));
      continue;
    }
    SmallVector<Value> place = kernel.threads.getPlace(layout, index);
    Value inside = kernel.threads.getInside(layout, index);
    place[1] = b.add(place[1], first);
    Value count =
        kernel.shared.loadElementIf(inside, lists.counts, place[0], b.i32(0));
    Value exists =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, place[1], count);
    keys.push_back(
        kernel.shared.loadElementIf(exists, lists.keys, place, b.i64(-1)));
  }
  kernel.program.setRegisters(op.getKeys(), std::move(keys));
}

void nsacc::addCandidates(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<CandidatesEmitter>(kernel),
              &CandidatesEmitter::emitCandidates, &CandidatesEmitter::emitOffer,
              &CandidatesEmitter::emitChoose, &CandidatesEmitter::emitChosen);
}
