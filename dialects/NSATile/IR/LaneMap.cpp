//===- LaneMap.cpp - Elements of a tile in a warp's lanes -----------------===//

#include "NSATile/IR/LaneMap.h"
#include "NSATile/IR/WarpRoles.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace nsacc::nsatile;

namespace {

/// Elements of every thread's registers, computed once.
class Elements {
public:
  using Element = std::optional<SmallVector<int64_t, 3>>;

  explicit Elements(const TileLayout &layout)
      : registers(layout.getNumRegisters()), threads(layout.getNumThreads()) {
    for (int64_t thread = 0; thread < threads; ++thread)
      for (int64_t reg = 0; reg < registers; ++reg)
        elements.push_back(layout.getElement(thread, reg));
  }

  const Element &get(int64_t thread, int64_t reg) const {
    return elements[thread * registers + reg];
  }
  int64_t getNumThreads() const { return threads; }
  int64_t getNumRegisters() const { return registers; }
  /// None if the register is padding in all threads.
  std::optional<int64_t> getFirstThread(int64_t reg) const {
    for (int64_t thread = 0; thread < threads; ++thread)
      if (get(thread, reg))
        return thread;
    return std::nullopt;
  }

private:
  int64_t registers, threads;
  std::vector<Element> elements;
};

} // namespace

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

static bool brings(const Elements &elements, int64_t reg, LaneMove move,
                   int64_t mask) {
  for (int64_t thread = 0; thread < elements.getNumThreads(); ++thread) {
    Elements::Element wanted = elements.get(thread, reg);
    if (!wanted)
      continue;
    wanted->back() ^= mask;
    if (elements.get(thread ^ move.lanes, move.reg) != wanted)
      return false;
  }
  return true;
}

static std::optional<LaneMove> findMove(const Elements &elements, int64_t reg,
                                        int64_t mask) {
  std::optional<int64_t> thread = elements.getFirstThread(reg);
  if (!thread)
    return LaneMove{reg, 0};
  Elements::Element wanted = elements.get(*thread, reg);
  wanted->back() ^= mask;
  // The thread's own registers come first: they cost nothing.
  for (int64_t lanes = 0; lanes < kWarpSize; ++lanes)
    for (int64_t other = 0; other < elements.getNumRegisters(); ++other) {
      LaneMove move = {other, lanes};
      if (elements.get(*thread ^ lanes, other) == wanted &&
          brings(elements, reg, move, mask))
        return move;
    }
  return std::nullopt;
}

std::optional<SmallVector<LaneMove>>
nsacc::nsatile::findExchange(const TileLayout &layout, int64_t mask) {
  if (layout.getNumThreads() % kWarpSize != 0)
    return std::nullopt;
  Elements elements(layout);
  SmallVector<LaneMove> moves;
  for (int64_t reg = 0; reg < elements.getNumRegisters(); ++reg) {
    std::optional<LaneMove> move = findMove(elements, reg, mask);
    if (!move)
      return std::nullopt;
    moves.push_back(*move);
  }
  return moves;
}

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

static bool precedes(const Elements &elements, int64_t reg,
                     LanePredecessor from, int64_t columns) {
  int64_t others = std::max<int64_t>(from.lanes, 1) - 1;
  for (int64_t thread = 0; thread < elements.getNumThreads(); ++thread) {
    Elements::Element wanted = elements.get(thread, reg);
    if (!wanted)
      continue;
    bool isFirst = from.lanes > 0 && (thread & others) == 0;
    if ((wanted->back() == 0) != isFirst)
      return false;
    wanted->back() = (isFirst ? columns : wanted->back()) - 1;
    int64_t lane = (thread & ~others) | ((thread - 1) & others);
    if (elements.get(from.lanes == 0 ? thread : lane, from.reg) != wanted)
      return false;
  }
  return true;
}

std::optional<SmallVector<LanePredecessor>>
nsacc::nsatile::findPredecessors(const TileLayout &layout) {
  if (layout.getNumThreads() % kWarpSize != 0)
    return std::nullopt;
  Elements elements(layout);
  int64_t columns = layout.getShape().back();
  auto find = [&](int64_t reg) -> std::optional<LanePredecessor> {
    for (int64_t lanes = 0; lanes <= kWarpSize;
         lanes = std::max<int64_t>(1, 2 * lanes))
      for (int64_t other = 0; other < elements.getNumRegisters(); ++other)
        if (precedes(elements, reg, {other, lanes}, columns))
          return LanePredecessor{other, lanes};
    return std::nullopt;
  };
  SmallVector<LanePredecessor> predecessors;
  for (int64_t reg = 0; reg < elements.getNumRegisters(); ++reg) {
    std::optional<LanePredecessor> found = find(reg);
    if (!found)
      return std::nullopt;
    predecessors.push_back(*found);
  }
  return predecessors;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Whether `registers` of the lanes that `bits` reach hold each part of the
/// result's element exactly once.
static bool covers(const Elements &source, const Elements &result, int64_t reg,
                   ArrayRef<int64_t> registers, int64_t bits, int64_t dim,
                   int64_t size) {
  for (int64_t thread = 0; thread < result.getNumThreads(); ++thread) {
    const Elements::Element &wanted = result.get(thread, reg);
    if (!wanted)
      continue;
    llvm::BitVector found(size);
    for (int64_t lanes = 0; lanes < kWarpSize; ++lanes) {
      if ((lanes & ~bits) != 0)
        continue;
      for (int64_t part : registers) {
        Elements::Element element = source.get(thread ^ lanes, part);
        if (!element || found.test((*element)[dim]))
          return false;
        found.set((*element)[dim]);
        element->erase(element->begin() + dim);
        if (element != wanted)
          return false;
      }
    }
    if (!found.all())
      return false;
  }
  return true;
}

/// Registers in which a thread holds parts of its element of the result.
static SmallVector<int64_t> findParts(const Elements &source,
                                      const Elements::Element &wanted,
                                      int64_t thread, int64_t dim) {
  SmallVector<int64_t> parts;
  for (int64_t reg = 0; reg < source.getNumRegisters(); ++reg) {
    Elements::Element element = source.get(thread, reg);
    if (!element)
      continue;
    element->erase(element->begin() + dim);
    if (element == wanted)
      parts.push_back(reg);
  }
  return parts;
}

std::optional<LaneReduction>
nsacc::nsatile::findReduction(const TileLayout &source,
                              const TileLayout &result, int64_t dim) {
  int64_t size = source.getShape()[dim];
  if (ShapedType::isDynamic(size) ||
      source.getNumThreads() != result.getNumThreads() ||
      source.getNumThreads() % kWarpSize != 0)
    return std::nullopt;
  Elements from(source), to(result);
  LaneReduction reduction;
  std::optional<int64_t> bits;
  for (int64_t reg = 0; reg < to.getNumRegisters(); ++reg) {
    std::optional<int64_t> thread = to.getFirstThread(reg);
    reduction.registers.emplace_back();
    if (!thread)
      continue;
    SmallVector<int64_t> &parts = reduction.registers.back();
    parts = findParts(from, to.get(*thread, reg), *thread, dim);
    if (parts.empty() || size % static_cast<int64_t>(parts.size()) != 0)
      return std::nullopt;
    int64_t lanes = size / parts.size();
    // The lanes are the same for all registers.
    for (int64_t tried = 0; !bits && tried < kWarpSize; ++tried)
      if (int64_t{1} << llvm::popcount(static_cast<uint64_t>(tried)) == lanes &&
          covers(from, to, reg, parts, tried, dim, size))
        bits = tried;
    if (!bits || !covers(from, to, reg, parts, *bits, dim, size))
      return std::nullopt;
  }
  for (int64_t lane = 1; lane < kWarpSize; lane *= 2)
    if (bits && (*bits & lane))
      reduction.lanes.push_back(lane);
  return reduction;
}

//===----------------------------------------------------------------------===//
// Reductions whose sums are distributed
//===----------------------------------------------------------------------===//

namespace {

/// Values that threads hold of a reduction's result before lanes have combined
/// them.
class PartialSums {
public:
  PartialSums(const TileLayout &source, int64_t dim)
      : elements(source), dim(dim), size(source.getShape()[dim]) {}

  /// Groups registers by the element of the result that they are part of. False
  /// if threads group them differently.
  bool group();
  /// Finds the bits of lane numbers along which the elements are the same.
  /// False if these lanes don't have all parts of them.
  bool findLanes();
  /// The element of the result that a thread's value is part of.
  Elements::Element get(int64_t thread, int64_t value) const {
    Elements::Element element = elements.get(thread, registers[value].front());
    element->erase(element->begin() + dim);
    return element;
  }
  int64_t getNumThreads() const { return elements.getNumThreads(); }

  SmallVector<SmallVector<int64_t>> registers;
  SmallVector<int64_t> lanes;

private:
  Elements elements;
  int64_t dim, size;
};

} // namespace

bool PartialSums::group() {
  for (int64_t reg = 0; reg < elements.getNumRegisters(); ++reg) {
    Elements::Element element = elements.get(0, reg);
    if (!element)
      return false;
    element->erase(element->begin() + dim);
    auto known = llvm::find_if(registers, [&](ArrayRef<int64_t> group) {
      Elements::Element other = elements.get(0, group.front());
      other->erase(other->begin() + dim);
      return other == element;
    });
    if (known == registers.end())
      registers.push_back({reg});
    else
      known->push_back(reg);
  }
  for (int64_t thread = 0; thread < getNumThreads(); ++thread)
    for (auto [value, group] : llvm::enumerate(registers))
      for (int64_t reg : group) {
        Elements::Element element = elements.get(thread, reg);
        if (!element)
          return false;
        element->erase(element->begin() + dim);
        if (element != get(thread, value))
          return false;
      }
  return true;
}

bool PartialSums::findLanes() {
  int64_t values = registers.size();
  for (int64_t lane = 1; lane < kWarpSize; lane *= 2) {
    bool isSame = true;
    for (int64_t thread = 0; thread < getNumThreads() && isSame; ++thread)
      for (int64_t value = 0; value < values && isSame; ++value)
        isSame = get(thread ^ lane, value) == get(thread, value);
    if (isSame)
      lanes.push_back(lane);
  }
  int64_t bits = 0;
  for (int64_t lane : lanes)
    bits |= lane;
  for (int64_t thread = 0; thread < getNumThreads(); ++thread)
    for (ArrayRef<int64_t> group : registers) {
      llvm::BitVector found(size);
      for (int64_t other = 0; other < kWarpSize; ++other) {
        if ((other & ~bits) != 0)
          continue;
        for (int64_t reg : group) {
          int64_t part = (*elements.get(thread ^ other, reg))[dim];
          if (found.test(part))
            return false;
          found.set(part);
        }
      }
      if (!found.all())
        return false;
    }
  return true;
}

/// Values that remain in a thread after the steps.
static SmallVector<int64_t> keepValues(ArrayRef<LaneScatter::Step> steps,
                                       int64_t thread, int64_t count) {
  auto kept = llvm::to_vector(llvm::seq<int64_t>(0, count));
  for (LaneScatter::Step step : steps) {
    bool isFirst = (thread & step.lane) == 0;
    int64_t half = kept.size() / 2;
    SmallVector<int64_t> next;
    for (int64_t index = 0; index < half; ++index)
      next.push_back(step.even ? kept[2 * index + !isFirst]
                               : kept[index + (isFirst ? 0 : half)]);
    kept = std::move(next);
  }
  return kept;
}

/// Lanes in which each lane finds its element of a register, if value number
/// `value` that remains in lanes is that element.
static std::optional<LaneScatter::Source>
findSource(const PartialSums &sums, ArrayRef<SmallVector<int64_t>> kept,
           const Elements &result, int64_t reg, int64_t value) {
  auto find = [&](int64_t thread) -> std::optional<int64_t> {
    Elements::Element wanted = result.get(thread, reg);
    int64_t warp = thread / kWarpSize * kWarpSize;
    for (int64_t lane = 0; wanted && lane < kWarpSize; ++lane)
      if (sums.get(warp + lane, kept[warp + lane][value]) == wanted)
        return lane;
    return std::nullopt;
  };
  std::optional<int64_t> base = find(0);
  if (!base)
    return std::nullopt;
  LaneScatter::Source source = {value, *base, {}};
  for (int64_t lane = 1; lane < kWarpSize; lane *= 2) {
    std::optional<int64_t> found = find(lane);
    if (!found)
      return std::nullopt;
    source.ofBit.push_back(*found ^ *base);
  }
  for (int64_t thread = 0; thread < result.getNumThreads(); ++thread) {
    int64_t expected = *base;
    for (auto [bit, change] : llvm::enumerate(source.ofBit))
      if (thread & (int64_t{1} << bit))
        expected ^= change;
    if (find(thread) != expected)
      return std::nullopt;
  }
  return source;
}

bool LaneScatter::Source::isOwn() const {
  return base == 0 &&
         llvm::all_of(llvm::enumerate(ofBit), [](const auto &change) {
           return change.value() == int64_t{1} << change.index();
         });
}

std::optional<LaneScatter> nsacc::nsatile::findScatter(const TileLayout &source,
                                                       const TileLayout &result,
                                                       int64_t dim) {
  if (ShapedType::isDynamic(source.getShape()[dim]) ||
      source.getNumThreads() != result.getNumThreads() ||
      source.getNumThreads() % kWarpSize != 0)
    return std::nullopt;
  PartialSums sums(source, dim);
  if (!sums.group() || !sums.findLanes() || sums.lanes.empty())
    return std::nullopt;
  int64_t count = sums.registers.size(), bits = sums.lanes.size();
  if (count % (int64_t{1} << bits) != 0)
    return std::nullopt;
  Elements to(result);
  for (int64_t choice = 0; choice < int64_t{1} << bits; ++choice) {
    LaneScatter scatter;
    scatter.registers = sums.registers;
    for (auto [index, lane] : llvm::enumerate(llvm::reverse(sums.lanes)))
      scatter.steps.push_back({lane, ((choice >> index) & 1) != 0});
    SmallVector<SmallVector<int64_t>> kept;
    for (int64_t thread = 0; thread < sums.getNumThreads(); ++thread)
      kept.push_back(keepValues(scatter.steps, thread, count));
    for (int64_t reg = 0; reg < to.getNumRegisters(); ++reg)
      for (int64_t value = 0; value < count >> bits; ++value)
        if (std::optional<LaneScatter::Source> found =
                findSource(sums, kept, to, reg, value)) {
          scatter.sources.push_back(*found);
          break;
        }
    if (static_cast<int64_t>(scatter.sources.size()) == to.getNumRegisters())
      return scatter;
  }
  return std::nullopt;
}
