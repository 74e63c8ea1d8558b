//===- LaneMap.cpp - What lanes of a warp hold of a tile ------------------===//

#include "NSATile/IR/LaneMap.h"
#include "NSATile/IR/WarpRoles.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace nsacc::nsatile;

namespace {

/// Every thread's registers, asked once.
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
  /// None of a register that is padding everywhere.
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
  // A thread's own registers cost nothing: they come first.
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
// Reductions
//===----------------------------------------------------------------------===//

/// Whether `registers` of the lanes that `bits` reach are each element of the
/// result's once.
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

/// Registers in which a thread holds some of its element of the result.
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
