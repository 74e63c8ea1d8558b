//===- EmitUnite.cpp - The union of lists, by a warp ----------------------===//

#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/WarpRoles.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Words of 32 bits in shared memory, any of which a lane reaches.
class SharedWords {
public:
  SharedWords(Kernel &kernel, int64_t count)
      : b(kernel.b), shared(kernel.shared),
        tile(kernel.sharedTiles.allocate(
            RankedTensorType::get({count}, kernel.b.getI32Type()))) {
    kernel.sync.beforeWrite(tile);
  }

  const SharedTile &getTile() const { return tile; }
  Value load(Value index) { return shared.loadElement(tile, index); }
  void store(Value word, Value index) {
    b.store(word, getPointer(index), sizeof(int32_t));
  }
  /// The order of lanes doesn't matter to a set of bits.
  void addBits(Value bits, Value index) {
    nvvm::addBits(b, getPointer(index), bits);
  }

private:
  Value getPointer(Value index) {
    return shared.getElementPointer(tile, index);
  }

  CodeBuilder &b;
  SharedMemory &shared;
  SharedTile tile;
};

/// Writes one union. Blocks are bits of words, `windowWords` of them at a time;
/// a block's place among the union's is the number of bits before its own. All
/// values are the same however lanes take turns.
class Union {
public:
  Union(Kernel &kernel, UniteOp op)
      : kernel(kernel), b(kernel.b), op(op),
        lists(kernel.sharedTiles.get(op.getLists())),
        rows(kernel.program.lookup(op.getRows())),
        below(kernel.program.lookup(op.getBelow())),
        lane(kernel.threads.getLane()), bits(kernel, windowWords),
        before(kernel, windowWords),
        members(kernel, op.getNumEntries() * op.getNumWords()) {
    for (Value index : op.getIndices())
      place.push_back(kernel.program.lookup(index));
  }

  void write();

private:
  static constexpr int64_t windowWords = 512;
  static constexpr int64_t wordBits = UniteOp::wordBits;

  /// The entries of the lists that are in the window from `first` on.
  struct Entry {
    Value block, row; ///< counted from the window's begin
  };
  void forEachEntry(Value first, llvm::function_ref<void(const Entry &)> body);
  /// A word a lane, of all words of the window.
  Value forEachWord(Value numWords, Value found,
                    llvm::function_ref<Value(Value word, Value found)> body);
  Value countBefore(Value first, Value word, Value found);
  void writeBlocks(Value word, Value blocks, Value entry);
  void writeMembers(Value found);

  Value getWord(Value bit) {
    return b.make<arith::ShRUIOp>(bit, b.i32(llvm::Log2_64(wordBits)));
  }
  Value getBit(Value bit) {
    Value shift = b.make<arith::AndIOp>(bit, b.i32(wordBits - 1));
    return b.make<arith::ShLIOp>(b.i32(1), shift);
  }
  Value count(Value word) {
    return b.make<LLVM::CtPopOp>(word.getType(), word);
  }
  Value globalPointer(Value buffer, Value entry, ValueRange more = {}) {
    SmallVector<Value> indices(place);
    indices.push_back(entry);
    llvm::append_range(indices, more);
    return getElementPointer(b, kernel.program.getBuffer(buffer), indices);
  }

  Kernel &kernel;
  CodeBuilder &b;
  UniteOp op;
  SharedTile lists;
  Value rows, below, lane;
  SharedWords bits, before, members;
  SmallVector<Value> place;
};

} // namespace

void Union::forEachEntry(Value first,
                         llvm::function_ref<void(const Entry &)> body) {
  constexpr int64_t unrolled = 4;
  int64_t columns = op.getLists().getType().getDimSize(1);
  Value numEntries = b.mul(rows, b.i32(columns));
  int64_t rounds = llvm::divideCeil(op.getNumEntries(), kWarpSize);
  b.forEach(rounds, unrolled, [&](Value round) {
    Value index = b.add(b.mul(round, b.i32(kWarpSize)), lane);
    Value exists =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, index, numEntries);
    b.when(exists, [&] {
      Value row = b.make<arith::DivUIOp>(index, b.i32(columns));
      Value column = b.make<arith::SubIOp>(index, b.mul(row, b.i32(columns)));
      Value entry = kernel.shared.loadElement(lists, {row, column});
      // What has more bits than a block's number is none.
      Value fits;
      if (entry.getType().isInteger(64)) {
        fits = b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, entry,
                                     b.extend(below));
        entry = b.make<arith::TruncIOp>(b.getI32Type(), entry);
      } else {
        fits = b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, entry, below);
      }
      Value block = b.make<arith::SubIOp>(entry, first);
      // Unsigned, what is before the window is behind it.
      Value isInside = b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, block,
                                             b.i32(windowWords * wordBits));
      b.when(b.both(fits, isInside), [&] { body({block, row}); });
    });
  });
}

Value Union::forEachWord(Value numWords, Value found,
                         llvm::function_ref<Value(Value, Value)> body) {
  return b.createLoop(b.i32(0), numWords, b.i32(kWarpSize), found,
                      [&](Value firstWord, Value found) {
                        return body(b.add(firstWord, lane), found);
                      });
}

/// Of all lanes' words. Gives how many are found with theirs.
Value Union::countBefore(Value first, Value word, Value found) {
  Value own = bits.load(word), ownCount = count(own), sum = ownCount;
  for (int64_t distance = 1; distance < kWarpSize; distance *= 2) {
    Value other =
        nvvm::readLane(b, sum, b.make<arith::SubIOp>(lane, b.i32(distance)));
    Value hasOther =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::sge, lane, b.i32(distance));
    sum = b.add(sum, b.select(hasOther, other, b.i32(0)));
  }
  Value entry = b.add(found, b.make<arith::SubIOp>(sum, ownCount));
  before.store(entry, word);
  writeBlocks(own, b.add(first, b.mul(word, b.i32(wordBits))), entry);
  return b.add(found, nvvm::readLane(b, sum, b.i32(kWarpSize - 1)));
}

/// Those of a word's bits, the first of which is `blocks`, from an entry on.
void Union::writeBlocks(Value word, Value blocks, Value entry) {
  auto write = [&](ValueRange bits, ValueRange carried) {
    Value bit = bits.front(), entry = carried.front();
    b.store(b.add(blocks, bit), globalPointer(op.getBlocks(), entry),
            sizeof(int32_t));
    for (int64_t n = 0; n < op.getNumWords(); ++n)
      members.store(b.i32(0),
                    b.add(b.mul(entry, b.i32(op.getNumWords())), b.i32(n)));
    return SmallVector<Value>{b.add(entry, b.i32(1))};
  };
  b.forEachBit(word, entry, write);
}

void Union::writeMembers(Value found) {
  Value words = b.i32(op.getNumWords());
  auto loop =
      scf::ForOp::create(b, lane, b.mul(found, words), b.i32(kWarpSize));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  Value entry = b.make<arith::DivUIOp>(index, words);
  Value word = b.make<arith::SubIOp>(index, b.mul(entry, words));
  b.store(members.load(index), globalPointer(op.getMembers(), entry, word),
          sizeof(int32_t));
}

void Union::write() {
  Value windowBlocks = b.i32(windowWords * wordBits);
  Value found = b.createLoop(
      b.i32(0), below, windowBlocks, b.i32(0), [&](Value first, Value found) {
        Value left = b.make<arith::SubIOp>(below, first);
        Value blocks = b.make<arith::MinSIOp>(left, windowBlocks);
        Value numWords = getWord(b.add(blocks, b.i32(wordBits - 1)));
        forEachWord(numWords, found, [&](Value word, Value found) {
          bits.store(b.i32(0), word);
          return found;
        });
        nvvm::syncWarp(b);
        forEachEntry(first, [&](const Entry &entry) {
          bits.addBits(getBit(entry.block), getWord(entry.block));
        });
        nvvm::syncWarp(b);
        Value all = forEachWord(numWords, found, [&](Value word, Value found) {
          return countBefore(first, word, found);
        });
        nvvm::syncWarp(b);
        forEachEntry(first, [&](const Entry &entry) {
          Value word = getWord(entry.block);
          Value earlier = b.make<arith::AndIOp>(
              bits.load(word),
              b.make<arith::SubIOp>(getBit(entry.block), b.i32(1)));
          Value place = b.add(before.load(word), count(earlier));
          members.addBits(
              getBit(entry.row),
              b.add(b.mul(place, b.i32(op.getNumWords())), getWord(entry.row)));
        });
        nvvm::syncWarp(b);
        return all;
      });
  writeMembers(found);
  b.when(kernel.threads.isFirstThread(), [&] {
    b.store(found, globalPointer(op.getCounts(), b.i32(0)), sizeof(int32_t));
  });
  for (const SharedWords *words : {&bits, &before, &members})
    kernel.sharedTiles.release(words->getTile());
}

namespace {

class UniteEmitter {
public:
  explicit UniteEmitter(Kernel &kernel) : kernel(kernel) {}

  LogicalResult emitUnite(UniteOp op) {
    if (kernel.threads.getScope().numThreads != kWarpSize ||
        !isShared(getTile(op.getLists())))
      return reject(op);
    kernel.sync.beforeRead(kernel.sharedTiles.get(op.getLists()));
    for (Value buffer : {op.getBlocks(), op.getMembers(), op.getCounts()})
      kernel.sync.beforeGlobal(buffer, /*isWrite=*/true);
    Union(kernel, op).write();
    return success();
  }

private:
  Kernel &kernel;
};

} // namespace

void nsacc::addUnions(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<UniteEmitter>(kernel), &UniteEmitter::emitUnite);
}
