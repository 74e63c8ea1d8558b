//===- EmitStore.cpp - Stores of tiles ------------------------------------===//

#include "BulkStores.h"
#include "Fragments.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

class StoreEmitter {
public:
  explicit StoreEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        sync(kernel.sync), bulkStores(kernel) {}

  LogicalResult emitStore(StoreOp op);

private:
  void storeRegisters(StoreOp op);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  Synchronizer &sync;
  BulkStores bulkStores;
};

} // namespace

LogicalResult StoreEmitter::emitStore(StoreOp op) {
  if (getTile(op.getTile()).getElementType().isIndex())
    return reject(op);
  sync.beforeGlobal(op.getBuffer(), /*isWrite=*/true);
  std::optional<BulkStore> bulk = BulkStore::get(op);
  if (bulk && bulkStores.hasRoom(*bulk))
    bulkStores.emit(op, *bulk, [&] { storeRegisters(op); });
  else
    storeRegisters(op);
  return success();
}

/// Whether each thread holds pairs of 16-bit neighbours of a product's result,
/// and the four lanes of a row 32 of its columns in whole groups of 8.
static bool hasQuads(RankedTensorType type, const TileLayout &layout) {
  constexpr int64_t columns = 32;
  Attribute encoding = type.getEncoding();
  if (auto reshape = dyn_cast_if_present<ReshapeLayoutAttr>(encoding))
    encoding = reshape.getAs().back() == type.getShape().back()
                   ? reshape.getOf()
                   : Attribute();
  if (!isa_and_present<MmaLayoutAttr>(encoding) ||
      !layout.getCopies().empty() ||
      getMemoryBytes(type.getElementType()) != 2 ||
      type.getShape().back() % columns != 0)
    return false;
  return llvm::all_of(llvm::seq(layout.getNumRegisters()), [&](int64_t index) {
    return layout.getConditions(index).empty();
  });
}

/// Four lanes hold a word each of four groups. Afterwards each has all words of
/// one group: lane t has those that were `words[t]`, by lane.
static std::array<Value, 4> gatherGroup(CodeBuilder &b, Value lane,
                                        std::array<Value, 4> words) {
  auto hasBit = [&](int64_t bit) -> Value {
    return b.make<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                 Value(b.make<arith::AndIOp>(lane, b.i32(bit))),
                                 b.i32(0));
  };
  // Each of two lanes gives away the word that belongs to the other's groups.
  auto exchange = [&](Value isUpper, int64_t bit, Value low, Value high) {
    Value kept = b.select(isUpper, high, low);
    Value given = b.select(isUpper, low, high);
    Value taken = nvvm::shuffleXor(b, given, bit);
    return std::pair(b.select(isUpper, taken, kept),
                     b.select(isUpper, kept, taken));
  };
  Value isOdd = hasBit(1), isUpper = hasBit(2);
  auto [a0, a1] = exchange(isOdd, 1, words[0], words[1]);
  auto [b0, b1] = exchange(isOdd, 1, words[2], words[3]);
  auto [c0, c2] = exchange(isUpper, 2, a0, b0);
  auto [c1, c3] = exchange(isUpper, 2, a1, b1);
  return {c0, c1, c2, c3};
}

void StoreEmitter::storeRegisters(StoreOp op) {
  RankedTensorType type = getTile(op.getTile());
  const TileLayout &layout = program.getLayout(type);
  TileAccess access(b, program, op.getBuffer(), op.getOffsets(), op.getLimits(),
                    op.getDims(), {}, type.getShape());
  Type element = type.getElementType();
  int64_t bytes = getMemoryBytes(element);
  SmallVector<RegisterGroup> groups =
      getGroups(layout, bytes, access.isContiguous && !element.isInteger(1));
  ArrayRef<Value> values = program.getRegisters(op.getTile());
  bool isInQuads = groups.front().count == 2 && hasQuads(type, layout);
  int64_t vectorBytes = isInQuads ? 16 : groups.front().count * bytes;

  // Stores of 4 bytes, half a sector of each row, took 2.4 % of the time at
  // D 256 (H200).
  auto storeQuads = [&] {
    constexpr int64_t block = 16, group = 4, half = 2;
    Value lane = threads.getDim(ThreadDim::InGroup),
          column = b.mul(lane, b.i32(8));
    for (int64_t first = 0; first < layout.getNumRegisters(); first += block)
      for (int64_t begin : {first, first + half}) {
        std::array<Value, 4> words;
        for (auto [index, word] : llvm::enumerate(words)) {
          int64_t at = begin + group * index;
          word = pack(b, values[at], values[at + 1]);
        }
        Value vector =
            b.make<LLVM::PoisonOp>(VectorType::get({4}, b.getI32Type()));
        for (auto [index, word] : llvm::enumerate(gatherGroup(b, lane, words)))
          vector = b.make<LLVM::InsertElementOp>(vector, word, b.i32(index));
        SmallVector<IndexSum> coordinates =
            threads.getCoordinates(layout, begin);
        coordinates.back().base = column;
        b.store(vector, access.getPointer(coordinates), vectorBytes);
      }
  };
  auto storeVectors = [&] {
    if (isInQuads)
      return storeQuads();
    for (RegisterGroup group : groups) {
      if (layout.isPadding(group.first))
        continue;
      Value pointer =
          access.getPointer(threads.getCoordinates(layout, group.first));
      b.when(threads.getOwned(layout, group.first), [&] {
        if (group.count == 1)
          return b.store(values[group.first], pointer, bytes);
        Value vector =
            b.make<LLVM::PoisonOp>(VectorType::get({group.count}, element));
        for (int64_t i = 0; i < group.count; ++i)
          vector = b.make<LLVM::InsertElementOp>(
              vector, values[group.first + i], b.i32(i));
        b.store(vector, pointer, vectorBytes);
      });
    }
  };
  auto storeElements = [&] {
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      if (layout.isPadding(index))
        continue;
      SmallVector<IndexSum> coordinates = threads.getCoordinates(layout, index);
      Value pointer = access.getPointer(coordinates);
      b.when(b.both(threads.getOwned(layout, index),
                    access.getInside(coordinates)),
             [&] { b.store(values[index], pointer, bytes); });
    }
  };

  Value isFast = access.getAllInside();
  if (groups.front().count > 1)
    isFast = b.both(isFast, access.getAligned(vectorBytes));
  access.forgetNested();
  b.branch(
      isFast, {},
      [&] {
        storeVectors();
        access.forgetNested();
        return SmallVector<Value>();
      },
      [&] {
        storeElements();
        return SmallVector<Value>();
      });
}

void nsacc::addStores(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<StoreEmitter>(kernel), &StoreEmitter::emitStore);
}
