//===- ListCode.cpp - Code that makes lists of lists ----------------------===//

#include "ListCode.h"
#include "NSATile/IR/ScheduleFields.h"
#include "NSATile/IR/WarpRoles.h"
#include "ScalarTiler.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using nsatile::Combine;
using nsatile::kWarpSize;

//===----------------------------------------------------------------------===//
// Tiles of neighbours
//===----------------------------------------------------------------------===//

namespace {

/// Code over tiles of one dimension.
class NeighbourMath : public TileMath {
public:
  NeighbourMath(ProgramBuilder &program, int64_t size)
      : TileMath(program.getBuilder(), program.getLoc(), size, /*columns=*/1) {}

  Tile index(Value value) { return {value, TileAxes::Scalar}; }
  Tile index(int64_t value) {
    return integer(getBuilder().getIndexType(), value);
  }
  Tile word(int64_t value) { return integer(getBuilder().getI32Type(), value); }
  Tile toWord(Tile tile) {
    return convert<arith::IndexCastOp>(tile, getBuilder().getI32Type());
  }
  Tile toIndex(Tile tile) {
    return convert<arith::IndexCastOp>(tile, getBuilder().getIndexType());
  }

  Tile add(Tile lhs, Tile rhs) { return apply<arith::AddIOp>(lhs, rhs); }
  Tile sub(Tile lhs, Tile rhs) { return apply<arith::SubIOp>(lhs, rhs); }
  Tile both(Tile lhs, Tile rhs) { return apply<arith::AndIOp>(lhs, rhs); }
  Tile mul(Tile tile, int64_t factor) {
    return factor == 1 ? tile : apply<arith::MulIOp>(tile, index(factor));
  }
  /// Divides numbers that aren't negative.
  Tile divide(Tile tile, int64_t divisor) {
    return divisor == 1 ? tile : apply<arith::DivUIOp>(tile, index(divisor));
  }
  Tile isBelow(Tile tile, Tile end) {
    return compare(arith::CmpIPredicate::slt, tile, end);
  }

  /// `first` and the numbers behind it.
  Tile from(Value first) {
    auto type = cast<RankedTensorType>(
        getType(TileAxes::Row, getBuilder().getIndexType()));
    return {nsatile::IotaOp::create(getBuilder(), getLoc(), type, first),
            TileAxes::Row};
  }
  /// Neighbours along the buffer's last dimension, from `place` on. Elements
  /// that aren't in front of `end` are 0.
  Tile load(Value buffer, ArrayRef<Value> place, Value end) {
    return {nsatile::loadTile(getBuilder(), getLoc(), buffer,
                              {.offsets = llvm::to_vector(place),
                               .limits = {end},
                               .dims = {static_cast<int64_t>(place.size()) - 1},
                               .shape = {getRows()}}),
            TileAxes::Row};
  }
  Tile gather(Value buffer, ArrayRef<Tile> indices, Tile where) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    return {nsatile::GatherOp::create(getBuilder(), getLoc(),
                                      getType(TileAxes::Row, element), buffer,
                                      toRows(indices), toRow(where)),
            TileAxes::Row};
  }
  void scatter(Combine kind, Tile values, Value buffer, ArrayRef<Tile> indices,
               Tile where) {
    nsatile::ScatterOp::create(getBuilder(), getLoc(), kind, toRow(values),
                               buffer, toRows(indices), toRow(where));
  }

private:
  SmallVector<Value> toRows(ArrayRef<Tile> tiles) {
    return llvm::map_to_vector(tiles, [&](Tile tile) { return toRow(tile); });
  }
};

} // namespace

/// Indices of a place in a buffer, with another last index.
static SmallVector<Tile> getIndices(ArrayRef<Value> place, Tile last) {
  SmallVector<Tile> indices;
  for (Value index : place)
    indices.push_back({index, TileAxes::Scalar});
  indices.push_back(last);
  return indices;
}

/// Calls `body` for `first`, `first` + `size`, … below `end`, and carries a
/// value.
static Value forTiles(ProgramBuilder &program, Value first, Value end,
                      int64_t size, Value carried,
                      llvm::function_ref<Value(Value, Value)> body) {
  Value step = program.math().constant(size);
  auto loop =
      scf::ForOp::create(program.getBuilder(), program.getLoc(), first, end,
                         step, carried ? ValueRange(carried) : ValueRange());
  OpBuilder::InsertionGuard guard(program.getBuilder());
  program.getBuilder().setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  if (!carried)
    return body(index, Value());
  Value next = body(index, loop.getRegionIterArg(0));
  scf::YieldOp::create(program.getBuilder(), program.getLoc(), next);
  return loop.getResult(0);
}

static void forTiles(ProgramBuilder &program, Value end, int64_t size,
                     llvm::function_ref<void(Value)> body) {
  forTiles(program, program.math().constant(0), end, size, /*carried=*/{},
           [&](Value first, Value) { return body(first), Value(); });
}

static Value toI32(ProgramBuilder &program, Value index) {
  return arith::IndexCastOp::create(program.getBuilder(), program.getLoc(),
                                    program.getBuilder().getI32Type(), index);
}

static Value toIndex(ProgramBuilder &program, Value word) {
  return arith::IndexCastOp::create(program.getBuilder(), program.getLoc(),
                                    program.getBuilder().getIndexType(), word);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Number of entries that a lane has at a time, so that their loads overlap.
static constexpr int64_t kEntriesOfLane = 4;

nsatile::ScheduleAttr nsacc::getListSchedule(MLIRContext *context,
                                             int64_t tokens, int64_t warps) {
  schedule::PerField<int64_t> values;
  auto set = [&](schedule::Field field, int64_t value) {
    values[static_cast<size_t>(field)] = value;
  };
  set(schedule::Field::Tokens, tokens);
  set(schedule::Field::Keys, kEntriesOfLane * kWarpSize * warps);
  set(schedule::Field::Warps, warps);
  return nsatile::ScheduleAttr::get(context, values);
}

int64_t nsacc::countUnionWarps(int64_t entries) {
  constexpr int64_t entriesOfWarp = 512, most = 8;
  return std::clamp<int64_t>(entries / entriesOfWarp, 1, most);
}

/// A tile of entries: numbers from 0 on, rows, keys relative to the window's
/// first one, and whether there are such entries with a key of the window.
struct ListCode::Entries {
  NeighbourMath &math;
  Tile number, row, key, isInside;
};

int64_t ListCode::getTileSize(int64_t ofLane) const {
  return ofLane * kWarpSize * warps;
}

Value ListCode::allocate(ArrayRef<int64_t> shape) {
  auto type = MemRefType::get(shape, program.getBuilder().getI32Type());
  return memref::AllocaOp::create(program.getBuilder(), program.getLoc(), type);
}

void ListCode::clear(Value memory) {
  OpBuilder &builder = program.getBuilder();
  int64_t size = cast<MemRefType>(memory.getType()).getNumElements();
  auto type = RankedTensorType::get({size}, builder.getI32Type());
  Value zero = arith::ConstantOp::create(builder, program.getLoc(),
                                         builder.getZeroAttr(type));
  IndexMath m = program.math();
  nsatile::storeTile(
      builder, program.getLoc(), zero, memory,
      {.offsets = {m.constant(0)}, .limits = {m.constant(size)}, .dims = {0}});
}

Value ListCode::forEachWindow(int64_t size, WindowBody body) {
  IndexMath m = program.math();
  Value zero = m.constant(0);
  return forTiles(program, zero, below, size, zero,
                  [&](Value first, Value carried) {
                    IndexMath m = program.math();
                    Value left = m.sub(below, first);
                    return body(first, m.min(left, m.constant(size)), carried);
                  });
}

void ListCode::forEachEntry(Value first, Value size, EntryBody body) {
  int64_t most = llvm::PowerOf2Ceil(getMostEntries()), top = lists.getTop();
  NeighbourMath math(program,
                     std::clamp(most, kWarpSize, getTileSize(kEntriesOfLane)));
  Value all = program.math().mul(lists.rows, top);
  forTiles(program, all, math.getRows(), [&](Value firstEntry) {
    Tile number = math.from(firstEntry), row = math.divide(number, top);
    Tile column = math.sub(number, math.mul(row, top));
    Tile token = math.divide(row, lists.heads);
    Tile head = math.sub(row, math.mul(token, lists.heads));
    token = math.add(math.index(lists.first), math.mul(token, lists.step));
    SmallVector<Tile> indices;
    for (Value offset : lists.offsets)
      indices.push_back(math.index(offset));
    Tile &list = indices[lists.along];
    list = math.add(list, math.divide(token, lists.every));
    Tile exists = math.isBelow(number, math.index(all));
    if (lists.end)
      exists = math.both(exists, math.isBelow(list, math.index(lists.end)));
    if (lists.heads > 1)
      indices[lists.along + 1] = math.add(indices[lists.along + 1], head);
    indices.back() = math.add(indices.back(), column);
    Tile stored = math.toIndex(math.gather(lists.buffer, indices, exists));
    // Negative entries and entries in front of the window are behind it as
    // unsigned numbers.
    Tile key = math.sub(stored, math.index(first));
    Tile fits = math.compare(arith::CmpIPredicate::ult, key, math.index(size));
    body({math, number, row, key, math.both(exists, fits)});
  });
}

//===----------------------------------------------------------------------===//
// Unions
//===----------------------------------------------------------------------===//

static Tile getBit(NeighbourMath &math, Tile number) {
  Tile shift = math.apply<arith::AndIOp>(math.toWord(number),
                                         math.word(kMembersOfWord - 1));
  return math.apply<arith::ShLIOp>(math.word(1), shift);
}

static Tile countBits(NeighbourMath &math, Tile words) {
  return {math::CtPopOp::create(math.getBuilder(), math.getLoc(), words.value),
          words.axes};
}

/// The sets of rows that have a union's keys: words in the program's own
/// memory, or in the workspace from the start.
class ListCode::Members {
public:
  Members(ListCode &code, const UnionBuffers &to)
      : program(code.program), to(to),
        numWords(llvm::divideCeil(code.mostRows, kMembersOfWord)),
        tileKeys(llvm::bit_floor<uint64_t>(
            std::max(code.getTileSize(/*ofLane=*/4) / numWords, int64_t{1}))) {
    constexpr int64_t mostOwnWords = 4096;
    int64_t most = code.getMostEntries();
    isOwn = most * numWords <= mostOwnWords;
    if (isOwn)
      buffer = code.allocate({most, numWords});
    else
      buffer = to.members, place = to.place;
  }

  /// Clears the sets of keys number `first` to `end` (exclusive).
  void clear(Value first, Value end) {
    OpBuilder &builder = program.getBuilder();
    auto type =
        RankedTensorType::get({tileKeys, numWords}, builder.getI32Type());
    Value none = arith::ConstantOp::create(builder, program.getLoc(),
                                           builder.getZeroAttr(type));
    forEachTile(first, end,
                [&](Value key) { store(none, buffer, place, key, end); });
  }
  void add(const Entries &entries, Tile number) {
    NeighbourMath &math = entries.math;
    SmallVector<Tile> indices = getIndices(place, number);
    indices.push_back(math.divide(entries.row, kMembersOfWord));
    math.scatter(Combine::Or, getBit(math, entries.row), buffer, indices,
                 entries.isInside);
  }
  /// Writes the sets of the first `count` keys to the workspace.
  void write(Value count) {
    if (!isOwn)
      return;
    IndexMath m = program.math();
    Value zero = m.constant(0), words = m.constant(numWords);
    forEachTile(zero, count, [&](Value key) {
      Value sets =
          nsatile::loadTile(program.getBuilder(), program.getLoc(), buffer,
                            {.offsets = {key, zero},
                             .limits = {count, words},
                             .dims = {0, 1},
                             .shape = {tileKeys, numWords}});
      store(sets, to.members, to.place, key, count);
    });
  }

private:
  void forEachTile(Value first, Value end,
                   llvm::function_ref<void(Value)> body) {
    forTiles(program, first, end, tileKeys, /*carried=*/{},
             [&](Value key, Value) { return body(key), Value(); });
  }
  void store(Value sets, Value memory, ArrayRef<Value> behind, Value key,
             Value end) {
    IndexMath m = program.math();
    SmallVector<Value> offsets(behind);
    int64_t keys = offsets.size();
    offsets.append({key, m.constant(0)});
    nsatile::storeTile(program.getBuilder(), program.getLoc(), sets, memory,
                       {.offsets = offsets,
                        .limits = {end, m.constant(numWords)},
                        .dims = {keys, keys + 1}});
  }

  ProgramBuilder &program;
  const UnionBuffers &to;
  int64_t numWords, tileKeys;
  bool isOwn;
  Value buffer;
  SmallVector<Value> place;
};

/// Writes the number of marks in front of each word's, `found` included.
/// Returns the number of all.
Value ListCode::countMarked(Value marks, Value before, Value numWords,
                            Value found) {
  int64_t most = cast<MemRefType>(marks.getType()).getNumElements();
  NeighbourMath math(program, std::min(most, getTileSize(/*ofLane=*/4)));
  return forTiles(
      program, program.math().constant(0), numWords, math.getRows(), found,
      [&](Value first, Value found) {
        Tile words = math.from(first);
        auto scan = nsatile::ScanOp::create(
            program.getBuilder(), program.getLoc(),
            countBits(math, math.load(marks, first, numWords)).value);
        Tile starts = math.add({scan.getBefore(), TileAxes::Row},
                               {toI32(program, found), TileAxes::Scalar});
        math.scatter(Combine::Set, starts, before, words,
                     math.isBelow(words, math.index(numWords)));
        return program.math().add(found, toIndex(program, scan.getSum()));
      });
}

/// Marks the keys of a window as bits of words. A key's place in the union is
/// the number of marks in front of its own. A second pass over the entries
/// writes keys and members there; entries with equal keys write the same.
void ListCode::unite(const UnionBuffers &to) {
  constexpr int64_t windowWords = 512;
  Value marks = allocate(windowWords), before = allocate(windowWords);
  std::optional<Members> members;
  if (to.members)
    members.emplace(*this, to);
  Value count = forEachWindow(windowWords * kMembersOfWord, [&](Value first,
                                                                Value size,
                                                                Value found) {
    IndexMath m = program.math();
    Value numWords = m.divideUnsigned(m.add(size, kMembersOfWord - 1),
                                      m.constant(kMembersOfWord));
    clear(marks);
    forEachEntry(first, size, [&](const Entries &entries) {
      NeighbourMath &math = entries.math;
      math.scatter(Combine::Or, getBit(math, entries.key), marks,
                   math.divide(entries.key, kMembersOfWord), entries.isInside);
    });
    Value all = countMarked(marks, before, numWords, found);
    if (members)
      members->clear(found, all);
    forEachEntry(first, size, [&](const Entries &entries) {
      NeighbourMath &math = entries.math;
      Tile word = math.divide(entries.key, kMembersOfWord);
      Tile lower = math.sub(getBit(math, entries.key), math.word(1));
      Tile earlier = math.apply<arith::AndIOp>(
          math.gather(marks, word, entries.isInside), lower);
      Tile number =
          math.toIndex(math.add(math.gather(before, word, entries.isInside),
                                countBits(math, earlier)));
      math.scatter(Combine::Set,
                   math.toWord(math.add(entries.key, math.index(first))),
                   to.blocks, getIndices(to.place, number), entries.isInside);
      if (members)
        members->add(entries, number);
    });
    return all;
  });
  if (members)
    members->write(count);
  SmallVector<Value> place(to.place);
  place.push_back(program.math().constant(0));
  memref::StoreOp::create(program.getBuilder(), program.getLoc(),
                          toI32(program, count), to.counts, place);
}

//===----------------------------------------------------------------------===//
// Entries by keys
//===----------------------------------------------------------------------===//

static constexpr int64_t kWindowKeys = 4096;

/// Place of the numbers of neighbouring keys.
static SmallVector<Tile> getNumbers(NeighbourMath &math,
                                    const NumbersOfKeys &numbers, Tile keys) {
  Tile last = math.apply<arith::MulIOp>(keys, math.index(numbers.step));
  last = math.add(last, math.index(numbers.place.back()));
  return getIndices(ArrayRef(numbers.place).drop_back(), last);
}

void ListCode::count(const NumbersOfKeys &counts) {
  Value counters = allocate(kWindowKeys);
  forEachWindow(kWindowKeys, [&](Value first, Value size, Value carried) {
    clear(counters);
    forEachEntry(first, size, [&](const Entries &entries) {
      entries.math.scatter(Combine::Add, entries.math.word(1), counters,
                           entries.key, entries.isInside);
    });
    NeighbourMath math(program, getTileSize(/*ofLane=*/4));
    forTiles(program, size, math.getRows(), [&](Value key) {
      Tile keys = math.from(key);
      Tile isInside = math.isBelow(keys, math.index(size));
      keys = math.add(keys, math.index(first));
      math.scatter(Combine::Set, math.load(counters, key, size), counts.buffer,
                   getNumbers(math, counts, keys), isInside);
    });
    return carried;
  });
}

void ListCode::sort(const NumbersOfKeys &starts, Value sorted,
                    ArrayRef<Value> place) {
  Value counters = allocate(kWindowKeys);
  Value firstNumber = program.math().mul(lists.first, lists.getTop());
  forEachWindow(kWindowKeys, [&](Value first, Value size, Value carried) {
    NeighbourMath math(program, getTileSize(/*ofLane=*/4));
    forTiles(program, size, math.getRows(), [&](Value key) {
      Tile keys = math.from(key);
      Tile isInside = math.isBelow(keys, math.index(size));
      Tile all = math.add(keys, math.index(first));
      Tile begins =
          math.gather(starts.buffer, getNumbers(math, starts, all), isInside);
      math.scatter(Combine::Set, begins, counters, keys, isInside);
    });
    forEachEntry(first, size, [&](const Entries &entries) {
      NeighbourMath &math = entries.math;
      Tile turn = {
          nsatile::EnumerateOp::create(
              program.getBuilder(), program.getLoc(),
              math.getType(TileAxes::Row, math.getBuilder().getI32Type()),
              math.toRow(entries.key), counters, math.toRow(entries.isInside)),
          TileAxes::Row};
      Tile target = math.add(math.toIndex(turn), math.index(place.back()));
      math.scatter(
          Combine::Set,
          math.toWord(math.add(entries.number, math.index(firstNumber))),
          sorted, getIndices(place.drop_back(), target), entries.isInside);
    });
    return carried;
  });
}

void nsacc::replaceBySums(ProgramBuilder &program, Value buffer,
                          ArrayRef<Value> place, Value count) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  NeighbourMath math(program, 4 * kWarpSize * kSumWarps);
  Value end = m.add(place.back(), count);
  Value none = arith::ConstantIntOp::create(builder, loc, 0, /*width=*/32);
  Value sum = forTiles(program, place.back(), end, math.getRows(), none,
                       [&](Value first, Value before) {
                         SmallVector<Value> at(place);
                         at.back() = first;
                         Tile indices = math.from(first);
                         auto scan = nsatile::ScanOp::create(
                             builder, loc, math.load(buffer, at, end).value);
                         Tile sums = math.add({scan.getBefore(), TileAxes::Row},
                                              {before, TileAxes::Scalar});
                         math.scatter(Combine::Set, sums, buffer,
                                      getIndices(place.drop_back(), indices),
                                      math.isBelow(indices, math.index(end)));
                         return arith::AddIOp::create(builder, loc, before,
                                                      scan.getSum());
                       });
  SmallVector<Value> behind(place);
  behind.back() = end;
  memref::StoreOp::create(builder, loc, sum, buffer, behind);
}
