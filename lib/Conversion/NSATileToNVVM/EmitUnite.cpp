//===- EmitUnite.cpp - The union of lists ---------------------------------===//

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

/// 32-bit words in shared memory that every thread can reach.
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
  /// Sets bits in a word; the order of threads doesn't matter.
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

/// Writes one union. Blocks are bits of words, `windowWords` words at a time. A
/// block's place in the union is the number of bits before its own. Values
/// don't depend on the order of threads, and every warp computes the same
/// values.
class Union {
public:
  Union(Kernel &kernel, UniteOp op)
      : kernel(kernel), b(kernel.b), op(op),
        lists(kernel.program.getBuffer(op.getLists())),
        offsets(kernel.program.lookupAll(op.getOffsets())),
        place(kernel.program.lookupAll(op.getIndices())),
        firstToken(kernel.program.lookup(op.getFirst())),
        end(kernel.program.lookup(op.getEnd())),
        below(kernel.program.lookup(op.getBelow())),
        numEntries(
            b.mul(kernel.program.lookup(op.getRows()), b.i32(op.getTop()))),
        lane(kernel.threads.getLane()), bits(kernel, windowWords),
        before(kernel, windowWords) {
    int64_t words = op.getNumEntries() * op.getNumWords();
    if (op.getMembers() && words <= mostSharedWords)
      members.emplace(kernel, words);
  }

  void write();

private:
  static constexpr int64_t windowWords = 512, mostSharedWords = 4096;
  static constexpr int64_t wordBits = UniteOp::wordBits;

  /// An entry of a row's list. `block` is relative to the window's first block,
  /// and isn't below `windowWords` words of blocks if the entry is outside of
  /// the window.
  struct Entry {
    Value block, row;
  };
  Entry loadEntry(Value index, Value first);
  void forEachEntry(Value first, llvm::function_ref<void(const Entry &)> body);
  /// Calls `body` for all words of the window, one word for each lane at a
  /// time.
  Value forEachWord(Value numWords, Value found,
                    llvm::function_ref<Value(Value word, Value found)> body);
  Value countBefore(Value word, Value found);
  /// Calls `body` for the words of the members of entries `found` to `all`.
  void forEachMember(Value found, Value all,
                     llvm::function_ref<void(Value entry, Value word)> body);
  void addMember(Value entry, Value row);
  void meet();

  Value getNumThreads() { return b.i32(kernel.threads.getScope().numThreads); }
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
  Value isLess(Value lhs, Value rhs) {
    return b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, lhs, rhs);
  }
  Value getSharedMember(Value entry, Value word) {
    return b.add(b.mul(entry, b.i32(op.getNumWords())), word);
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
  const Buffer &lists;
  SmallVector<Value> offsets, place;
  Value firstToken, end, below, numEntries, lane;
  SharedWords bits, before;
  /// None if members are in global memory from the begin.
  std::optional<SharedWords> members;
};

} // namespace

/// Lets threads meet. A single warp only needs to sync its lanes.
void Union::meet() {
  if (kernel.threads.getScope().numThreads == kWarpSize)
    nvvm::syncWarp(b);
  else
    kernel.sync.barrier();
}

Union::Entry Union::loadEntry(Value index, Value first) {
  Value top = b.i32(op.getTop());
  Value row = b.make<arith::DivUIOp>(index, top), token = row, head;
  if (int64_t heads = op.getHeads(); heads != 1) {
    token = b.make<arith::DivUIOp>(row, b.i32(heads));
    head = b.make<arith::SubIOp>(row, b.mul(token, b.i32(heads)));
  }
  if (op.getStep() != 1)
    token = b.mul(token, b.i32(op.getStep()));
  Value list = b.add(firstToken, token);
  if (op.getEvery() != 1)
    list = b.make<arith::DivUIOp>(list, b.i32(op.getEvery()));
  int64_t along = op.getAlong();
  SmallVector<Value> indices(offsets);
  indices[along] = b.add(indices[along], list);
  if (head)
    indices[along + 1] = b.add(indices[along + 1], head);
  Value column = b.make<arith::SubIOp>(index, b.mul(row, top));
  indices.back() = b.add(indices.back(), column);
  Value exists = b.both(isLess(index, numEntries), isLess(indices[along], end));
  Value none = b.i32(-1);
  Value entry = b.branch(
      exists, b.getI32Type(),
      [&] {
        return SmallVector<Value>{b.load(b.getI32Type(),
                                         getElementPointer(b, lists, indices),
                                         sizeof(int32_t))};
      },
      [&] { return SmallVector<Value>{none}; })[0];
  // Negative entries and entries before the window are behind it as unsigned
  // numbers.
  Value fits = b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, entry, below);
  return {b.select(fits, b.make<arith::SubIOp>(entry, first), none), row};
}

void Union::forEachEntry(Value first,
                         llvm::function_ref<void(const Entry &)> body) {
  constexpr int64_t together = 4;
  int64_t numThreads = kernel.threads.getScope().numThreads;
  b.createLoop(
      b.i32(0), numEntries, b.i32(together * numThreads), [&](Value round) {
        Value own = b.add(round, kernel.threads.getThread());
        SmallVector<Entry> entries;
        for (int64_t i = 0; i < together; ++i)
          entries.push_back(
              loadEntry(b.add(own, b.i32(i * numThreads)), first));
        for (const Entry &entry : entries) {
          Value isInside =
              b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, entry.block,
                                    b.i32(windowWords * wordBits));
          b.when(isInside, [&] { body(entry); });
        }
      });
}

Value Union::forEachWord(Value numWords, Value found,
                         llvm::function_ref<Value(Value, Value)> body) {
  return b.createLoop(b.i32(0), numWords, b.i32(kWarpSize), found,
                      [&](Value firstWord, Value found) {
                        return body(b.add(firstWord, lane), found);
                      });
}

/// Stores the number of bits before each lane's word. Returns the number found
/// with all lanes' words included.
Value Union::countBefore(Value word, Value found) {
  Value ownCount = count(bits.load(word)), sum = ownCount;
  for (int64_t distance = 1; distance < kWarpSize; distance *= 2) {
    Value other =
        nvvm::readLane(b, sum, b.make<arith::SubIOp>(lane, b.i32(distance)));
    Value hasOther =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::sge, lane, b.i32(distance));
    sum = b.add(sum, b.select(hasOther, other, b.i32(0)));
  }
  before.store(b.add(found, b.make<arith::SubIOp>(sum, ownCount)), word);
  return b.add(found, nvvm::readLane(b, sum, b.i32(kWarpSize - 1)));
}

void Union::forEachMember(Value found, Value all,
                          llvm::function_ref<void(Value, Value)> body) {
  Value words = b.i32(op.getNumWords());
  Value first = b.add(b.mul(found, words), kernel.threads.getThread());
  b.createLoop(first, b.mul(all, words), getNumThreads(), [&](Value index) {
    Value entry = b.make<arith::DivUIOp>(index, words);
    body(entry, b.make<arith::SubIOp>(index, b.mul(entry, words)));
  });
}

void Union::addMember(Value entry, Value row) {
  Value bit = getBit(row), word = getWord(row);
  if (members)
    members->addBits(bit, getSharedMember(entry, word));
  else
    nvvm::addBits(b, globalPointer(op.getMembers(), entry, word), bit);
}

void Union::write() {
  Value windowBlocks = b.i32(windowWords * wordBits), zero = b.i32(0);
  Value found = b.createLoop(
      zero, below, windowBlocks, zero, [&](Value first, Value found) {
        Value left = b.make<arith::SubIOp>(below, first);
        Value blocks = b.make<arith::MinSIOp>(left, windowBlocks);
        Value numWords = getWord(b.add(blocks, b.i32(wordBits - 1)));
        forEachWord(numWords, found, [&](Value word, Value found) {
          bits.store(zero, word);
          return found;
        });
        meet();
        forEachEntry(first, [&](const Entry &entry) {
          bits.addBits(getBit(entry.block), getWord(entry.block));
        });
        meet();
        Value all = forEachWord(numWords, found, [&](Value word, Value found) {
          return countBefore(word, found);
        });
        if (op.getMembers())
          forEachMember(found, all, [&](Value entry, Value word) {
            if (members)
              members->store(zero, getSharedMember(entry, word));
            else
              b.store(zero, globalPointer(op.getMembers(), entry, word),
                      sizeof(int32_t));
          });
        meet();
        forEachEntry(first, [&](const Entry &entry) {
          Value word = getWord(entry.block);
          Value earlier = b.make<arith::AndIOp>(
              bits.load(word),
              b.make<arith::SubIOp>(getBit(entry.block), b.i32(1)));
          Value place = b.add(before.load(word), count(earlier));
          // Other threads that have the block write the same.
          b.store(b.add(first, entry.block),
                  globalPointer(op.getBlocks(), place), sizeof(int32_t));
          if (op.getMembers())
            addMember(place, entry.row);
        });
        meet();
        return all;
      });
  if (members)
    forEachMember(zero, found, [&](Value entry, Value word) {
      b.store(members->load(getSharedMember(entry, word)),
              globalPointer(op.getMembers(), entry, word), sizeof(int32_t));
    });
  b.when(kernel.threads.isFirstThread(), [&] {
    b.store(found, globalPointer(op.getCounts(), zero), sizeof(int32_t));
  });
  kernel.sharedTiles.release(bits.getTile());
  kernel.sharedTiles.release(before.getTile());
  if (members)
    kernel.sharedTiles.release(members->getTile());
}

namespace {

class UniteEmitter {
public:
  explicit UniteEmitter(Kernel &kernel) : kernel(kernel) {}

  LogicalResult emitUnite(UniteOp op) {
    kernel.sync.beforeGlobal(op.getLists(), /*isWrite=*/false);
    for (Value buffer : {op.getBlocks(), op.getMembers(), op.getCounts()})
      if (buffer)
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
