//===- RegisterStore.cpp - Tiles from registers to memory -----------------===//

#include "Fragments.h"
#include "Instructions.h"
#include "RegisterAccess.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Whether each thread holds pairs of 16-bit neighbours of a product's result,
/// and the four lanes of a row hold 32 of its columns in whole groups of 8.
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

/// Lets each of four lanes gather one group. Before, each lane holds a word of
/// each of four groups. Afterwards lane t holds all lanes' words `words[t]`, in
/// the order of lanes.
static std::array<Value, 4> gatherGroup(CodeBuilder &b, Value lane,
                                        std::array<Value, 4> words) {
  auto hasBit = [&](int64_t bit) -> Value {
    return b.make<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                 Value(b.make<arith::AndIOp>(lane, b.i32(bit))),
                                 b.i32(0));
  };
  // Each of two lanes gives away the word that belongs to the other lane's
  // groups.
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

namespace {

class RegisterStore {
public:
  /// `isSum`: whether elements are added to what is there.
  RegisterStore(CodeBuilder &b, ThreadMap &threads, ProgramValues &program,
                Value tile, AtOp at, bool isSum)
      : b(b), threads(threads), type(getTile(tile)),
        layout(program.getLayout(type)), access(b, program, at),
        bytes(getMemoryBytes(type.getElementType())),
        groups(getGroups(layout, bytes,
                         access.isContiguous &&
                             !type.getElementType().isInteger(1))),
        values(program.getRegisters(tile)),
        isInQuads(!isSum && groups.front().count == 2 &&
                  hasQuads(type, layout)),
        isSum(isSum) {}

  void store();

private:
  int64_t getVectorBytes() const {
    return isInQuads ? 16 : groups.front().count * bytes;
  }
  void storeQuad(int64_t first, Value lane, Value column);
  void storeQuads();
  void storeGroup(RegisterGroup group);
  void storeVectors();
  void storeElements();

  CodeBuilder &b;
  ThreadMap &threads;
  RankedTensorType type;
  const TileLayout &layout;
  TileAccess access;
  int64_t bytes;
  SmallVector<RegisterGroup> groups;
  ArrayRef<Value> values;
  bool isInQuads, isSum;
};

} // namespace

/// Stores one vector. Pairs of registers 4 apart are neighbours in a row.
void RegisterStore::storeQuad(int64_t first, Value lane, Value column) {
  constexpr int64_t distance = 4;
  std::array<Value, 4> words;
  for (auto [index, word] : llvm::enumerate(words)) {
    int64_t at = first + distance * index;
    word = pack(b, values[at], values[at + 1]);
  }
  Value vector = b.join(gatherGroup(b, lane, words));
  SmallVector<IndexSum> coordinates = threads.getCoordinates(layout, first);
  coordinates.back().base = column;
  b.store(vector, access.getPointer(coordinates), getVectorBytes());
}

/// Stores all registers by quads. With stores of 4 bytes, which are half a
/// sector of each row, stores took 2.4 % of the time at D 256 (H200).
void RegisterStore::storeQuads() {
  constexpr int64_t block = 16, lowerRows = 2;
  Value lane = threads.getDim(ThreadDim::InGroup);
  Value column = b.mul(lane, b.i32(8));
  for (int64_t first = 0; first < layout.getNumRegisters(); first += block)
    for (int64_t begin : {first, first + lowerRows})
      storeQuad(begin, lane, column);
}

void RegisterStore::storeGroup(RegisterGroup group) {
  if (layout.isPadding(group.first))
    return;
  Value pointer =
      access.getPointer(threads.getCoordinates(layout, group.first));
  b.when(threads.getOwned(layout, group.first), [&] {
    if (isSum) {
      for (int64_t i = 0; i < group.count; ++i)
        nvvm::addToGlobal(b, b.advance(pointer, i * bytes),
                          values[group.first + i]);
      return;
    }
    if (group.count == 1)
      return b.store(values[group.first], pointer, bytes);
    b.store(b.join(values.slice(group.first, group.count)), pointer,
            getVectorBytes());
  });
}

void RegisterStore::storeVectors() {
  if (isInQuads)
    storeQuads();
  else
    llvm::for_each(groups, [&](RegisterGroup group) { storeGroup(group); });
  access.forgetNested();
}

void RegisterStore::storeElements() {
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index))
      continue;
    SmallVector<IndexSum> coordinates = threads.getCoordinates(layout, index);
    Value pointer = access.getPointer(coordinates);
    b.when(
        b.both(threads.getOwned(layout, index), access.getInside(coordinates)),
        [&] {
          if (isSum)
            nvvm::addToGlobal(b, pointer, values[index]);
          else
            b.store(values[index], pointer, bytes);
        });
  }
}

void RegisterStore::store() {
  Value isFast = access.getAllInside();
  if (groups.front().count > 1)
    isFast = b.both(isFast, access.getAligned(getVectorBytes()));
  access.forgetNested();
  b.branch(
      isFast, {},
      [&] {
        storeVectors();
        return SmallVector<Value>();
      },
      [&] {
        storeElements();
        return SmallVector<Value>();
      });
}

void nsacc::storeRegisters(CodeBuilder &b, ThreadMap &threads,
                           ProgramValues &program, Value tile, AtOp at) {
  RegisterStore(b, threads, program, tile, at, /*isSum=*/false).store();
}

void nsacc::addRegisters(CodeBuilder &b, ThreadMap &threads,
                         ProgramValues &program, Value tile, AtOp at) {
  RegisterStore(b, threads, program, tile, at, /*isSum=*/true).store();
}
