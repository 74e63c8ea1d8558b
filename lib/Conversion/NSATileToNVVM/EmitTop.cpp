//===- EmitTop.cpp - Running lists in a warp's lanes ----------------------===//

#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/WarpRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Writes updates of lists in descending order; each lane holds one key of a
/// list.
class TopEmitter {
public:
  explicit TopEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program) {}

  LogicalResult emitTop(TopOp op);

private:
  /// A list, which changes, and the lanes' candidates for it.
  struct Offer {
    Value *list;
    Value candidate, isBetter;
  };
  void insertAll(ArrayRef<Offer> offers);
  Value insert(Value list, Value key);
  Value merge(Value list, Value candidate);
  Value order(Value keys, Value run, Value stages, bool isAscending);
  Value compareExchange(Value keys, Value distance, Value run,
                        bool isAscending);
  Value least() { return b.i64(std::numeric_limits<int64_t>::min()); }

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
};

} // namespace

/// Whether lane l of a warp has column l of one row in each register.
static bool isInLanes(const TileLayout &layout) {
  for (int64_t reg = 0; reg < layout.getNumRegisters(); ++reg)
    for (int64_t thread = 0; thread < layout.getNumThreads(); ++thread) {
      auto element = layout.getElement(thread, reg);
      auto first = layout.getElement(thread / kWarpSize * kWarpSize, reg);
      if (element.has_value() != first.has_value() ||
          (element && (element->front() != first->front() ||
                       element->back() != thread % kWarpSize)))
        return false;
    }
  return true;
}

/// Inserts a key. Keys behind it move on by a lane, and the last one is lost.
Value TopEmitter::insert(Value list, Value key) {
  Value isFirst = b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                        threads.getLane(), b.i32(0));
  Value before = b.select(isFirst, b.i64(std::numeric_limits<int64_t>::max()),
                          nvvm::readLaneBefore(b, list));
  return b.make<arith::MaxSIOp>(list, b.make<arith::MinSIOp>(before, key));
}

/// Orders each key and the key `distance` lanes further: one way in every other
/// run of `run` lanes, the other way in the rest.
Value TopEmitter::compareExchange(Value keys, Value distance, Value run,
                                  bool isAscending) {
  auto lacks = [&](Value bit) {
    return b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                 b.make<arith::AndIOp>(threads.getLane(), bit),
                                 b.i32(0));
  };
  Value other = nvvm::shuffleXor(b, keys, distance);
  Value keepsLess = b.make<arith::CmpIOp>(
      isAscending ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne,
      lacks(distance), lacks(run));
  Value isLess = b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, keys, other);
  return b.select(
      b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, isLess, keepsLess), keys,
      other);
}

/// Orders keys of runs of `run` lanes that rise and then fall.
Value TopEmitter::order(Value keys, Value run, Value stages, bool isAscending) {
  return b.createLoop(b.i32(1), b.add(stages, b.i32(1)), b.i32(1), keys,
                      [&](Value stage, Value keys) {
                        Value distance = b.make<arith::ShRUIOp>(run, stage);
                        return compareExchange(keys, distance, run,
                                               isAscending);
                      });
}

/// Merges candidates into a list. A bitonic network sorts the candidates, the
/// least first. The greater key of each lane's candidate and its key of the
/// falling list is one of the greatest. One more step of a network orders
/// these.
Value TopEmitter::merge(Value list, Value candidate) {
  constexpr int64_t stages = 5;
  static_assert(int64_t{1} << stages == kWarpSize);
  Value sorted =
      b.createLoop(b.i32(1), b.i32(stages + 1), b.i32(1), candidate,
                   [&](Value step, Value keys) {
                     Value run = b.make<arith::ShLIOp>(b.i32(1), step);
                     return order(keys, run, step, /*isAscending=*/true);
                   });
  return order(b.make<arith::MaxSIOp>(list, sorted), b.i32(kWarpSize),
               b.i32(stages), /*isAscending=*/false);
}

/// Inserts the lanes' better candidates, one after the other; several lists go
/// side by side, because each insertion waits for lanes several times. If most
/// candidates are better, as in a first tile, they are sorted instead.
void TopEmitter::insertAll(ArrayRef<Offer> offers) {
  constexpr int64_t mostInserted = 12;
  SmallVector<Value> words, lists;
  for (const Offer &offer : offers) {
    Value word = nvvm::collectLanes(b, offer.isBetter);
    Value areMany = b.make<arith::CmpIOp>(
        arith::CmpIPredicate::ugt, b.make<LLVM::CtPopOp>(word.getType(), word),
        b.i32(mostInserted));
    Value better = b.select(offer.isBetter, offer.candidate, least());
    SmallVector<Value> next = b.branch(
        areMany, {offer.list->getType(), word.getType()},
        [&]() -> SmallVector<Value> {
          return {merge(*offer.list, better), b.i32(0)};
        },
        [&]() -> SmallVector<Value> { return {*offer.list, word}; });
    lists.push_back(next[0]);
    words.push_back(next[1]);
  }
  bool isOne = offers.size() == 1;
  lists = b.forEachBit(words, lists, [&](ValueRange lanes, ValueRange lists) {
    SmallVector<Value> next;
    for (auto [offer, lane, list] : llvm::zip_equal(offers, lanes, lists)) {
      Value key = nvvm::readLane(b, offer.candidate, lane);
      // This list has no more candidates, but others have.
      if (!isOne)
        key = b.select(b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, lane,
                                             b.i32(kWarpSize)),
                       key, least());
      next.push_back(insert(list, key));
    }
    return next;
  });
  for (auto [offer, list] : llvm::zip_equal(offers, lists))
    *offer.list = list;
}

/// The register of the lists that holds the same row as register `candidate` of
/// the candidates, in each warp.
static std::optional<int64_t> findList(const TileLayout &lists,
                                       const TileLayout &candidates,
                                       int64_t candidate) {
  auto isSameRow = [&](int64_t list) {
    return llvm::all_of(
        llvm::seq(candidates.getNumThreads()), [&](int64_t thread) {
          auto found = candidates.getElement(thread, candidate);
          auto expected = lists.getElement(thread, list);
          return found.has_value() == expected.has_value() &&
                 (!found || found->front() == expected->front());
        });
  };
  for (int64_t list = 0; list < lists.getNumRegisters(); ++list)
    if (isSameRow(list))
      return list;
  return std::nullopt;
}

LogicalResult TopEmitter::emitTop(TopOp op) {
  const TileLayout &inLists = program.getLayout(getTile(op.getResult()));
  const TileLayout &layout = program.getLayout(getTile(op.getCandidates()));
  if (!op.getInsert() || !isInLanes(inLists) ||
      layout.getNumThreads() != inLists.getNumThreads())
    return reject(op);
  // Widening keeps the order of keys.
  Type type = getTile(op.getList()).getElementType(), wide = b.getI64Type();
  auto widen = [&](Value key) {
    return type == wide ? key : b.make<arith::ExtSIOp>(wide, key);
  };
  SmallVector<Value> lists =
      llvm::map_to_vector(program.getRegisters(op.getList()), widen);
  // Registers of candidates of each list.
  SmallVector<SmallVector<int64_t>> ofLists(lists.size());
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index))
      continue;
    std::optional<int64_t> list = findList(inLists, layout, index);
    if (!list)
      return reject(op);
    ofLists[*list].push_back(index);
  }
  for (size_t round = 0;; ++round) {
    SmallVector<Offer> offers;
    for (auto [list, registers] : llvm::zip_equal(lists, ofLists)) {
      if (round >= registers.size())
        continue;
      int64_t index = registers[round];
      Value candidate = widen(program.getRegisters(op.getCandidates())[index]);
      Value worst = nvvm::readLane(b, list, b.i32(*op.getInsert() - 1));
      Value isBetter =
          b.make<arith::CmpIOp>(arith::CmpIPredicate::sgt, candidate, worst);
      if (Value inside = threads.getInside(layout, index))
        isBetter = b.make<arith::AndIOp>(isBetter, inside);
      offers.push_back({&list, candidate, isBetter});
    }
    if (offers.empty())
      break;
    insertAll(offers);
  }
  if (type != wide)
    for (Value &list : lists)
      list = b.make<arith::TruncIOp>(type, list);
  program.setRegisters(op.getResult(), std::move(lists));
  return success();
}

void nsacc::addTop(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<TopEmitter>(kernel), &TopEmitter::emitTop);
}
