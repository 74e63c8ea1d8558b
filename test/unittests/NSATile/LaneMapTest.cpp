#include "NSATile/IR/LaneMap.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace nsacc::nsatile;

namespace {

using Element = SmallVector<int64_t, 3>;

class LaneMapTest : public ::testing::Test {
protected:
  LaneMapTest() { context.loadDialect<NSATileDialect>(); }

  TileLayout read(const std::string &shape, const std::string &layout) {
    auto tile = cast<RankedTensorType>(parseType(
        "tensor<" + shape + "xf32, #nsatile." + layout + ">", &context));
    return *TileLayout::get(tile);
  }

  /// Checks that each move gives a thread the elements that the exchange needs.
  static void expectExchange(const TileLayout &layout, int64_t mask) {
    SCOPED_TRACE(testing::Message() << "mask " << mask);
    auto moves = findExchange(layout, mask);
    ASSERT_TRUE(moves);
    ASSERT_EQ(static_cast<int64_t>(moves->size()), layout.getNumRegisters());
    for (int64_t thread = 0; thread < layout.getNumThreads(); ++thread)
      for (auto [reg, move] : llvm::enumerate(*moves)) {
        std::optional<Element> wanted = layout.getElement(thread, reg);
        if (!wanted)
          continue;
        wanted->back() ^= mask;
        EXPECT_LT(move.lanes, 32);
        EXPECT_EQ(layout.getElement(thread ^ move.lanes, move.reg), wanted);
      }
  }

  /// Adds up elements' numbers as lanes would: butterflies add the values of
  /// both lanes.
  void expectReduction(const std::string &shape, int64_t dim,
                       const std::string &of) {
    SCOPED_TRACE(shape);
    TileLayout source = read(shape, of);
    SmallVector<int64_t> rest(source.getShape());
    rest.erase(rest.begin() + dim);
    TileLayout result = read(
        std::to_string(rest[0]) + "x" + std::to_string(rest[1]),
        "slice<dim = " + std::to_string(dim) + ", of = #nsatile." + of + ">");
    auto reduction = findReduction(source, result, dim);
    ASSERT_TRUE(reduction);
    int64_t threads = source.getNumThreads(), size = source.getShape()[dim];
    for (int64_t reg = 0; reg < result.getNumRegisters(); ++reg) {
      std::vector<std::multiset<int64_t>> held(threads);
      for (int64_t thread = 0; thread < threads; ++thread)
        for (int64_t part : reduction->registers[reg])
          held[thread].insert((*source.getElement(thread, part))[dim]);
      for (int64_t lane : reduction->lanes) {
        std::vector<std::multiset<int64_t>> before = held;
        for (int64_t thread = 0; thread < threads; ++thread)
          held[thread].insert(before[thread ^ lane].begin(),
                              before[thread ^ lane].end());
      }
      for (int64_t thread = 0; thread < threads; ++thread) {
        if (!result.getElement(thread, reg))
          continue;
        std::multiset<int64_t> all;
        for (int64_t each = 0; each < size; ++each)
          all.insert(each);
        EXPECT_EQ(held[thread], all);
      }
    }
  }

  /// Simulates the lanes: each swaps halves of its values, and reads one.
  void expectScatter(const std::string &shape, const std::string &of,
                     const std::string &rest, const std::string &to) {
    SCOPED_TRACE(shape + " to " + to);
    TileLayout source = read(shape, of), result = read(rest, to);
    auto scatter = findScatter(source, result, /*dim=*/1);
    ASSERT_TRUE(scatter);
    using Parts = std::multiset<Element>;
    int64_t threads = source.getNumThreads();
    std::vector<std::vector<Parts>> held(threads);
    for (int64_t thread = 0; thread < threads; ++thread)
      for (ArrayRef<int64_t> group : scatter->registers) {
        held[thread].emplace_back();
        for (int64_t reg : group)
          held[thread].back().insert(*source.getElement(thread, reg));
      }
    for (LaneScatter::Step step : scatter->steps) {
      std::vector<std::vector<Parts>> kept(threads), sent(threads);
      for (int64_t thread = 0; thread < threads; ++thread) {
        size_t half = held[thread].size() / 2;
        for (size_t index = 0; index < half; ++index) {
          Parts first = held[thread][step.even ? 2 * index : index];
          Parts second = held[thread][step.even ? 2 * index + 1 : index + half];
          if (thread & step.lane)
            std::swap(first, second);
          kept[thread].push_back(first);
          sent[thread].push_back(second);
        }
      }
      for (int64_t thread = 0; thread < threads; ++thread)
        for (auto [mine, other] :
             llvm::zip_equal(kept[thread], sent[thread ^ step.lane]))
          mine.insert(other.begin(), other.end());
      held = std::move(kept);
    }
    ASSERT_EQ(static_cast<int64_t>(scatter->sources.size()),
              result.getNumRegisters());
    for (int64_t thread = 0; thread < threads; ++thread)
      for (auto [reg, from] : llvm::enumerate(scatter->sources)) {
        int64_t lane = from.base;
        for (auto [bit, change] : llvm::enumerate(from.ofBit))
          lane ^= (thread >> bit) & 1 ? change : 0;
        Element wanted = *result.getElement(thread, reg);
        Parts all;
        for (int64_t each = 0; each < source.getShape()[1]; ++each)
          all.insert({wanted[0], each, wanted[1]});
        EXPECT_EQ(held[thread / 32 * 32 + lane][from.value], all);
      }
  }

  MLIRContext context;
};

TEST_F(LaneMapTest, KeysAreExchangedWithinAWarp) {
  for (auto [shape, layout, columns] :
       {std::tuple{"64x32", "mma<warps = 4>", 32},
        {"5x16", "mma<warps = 1>", 16},
        {"4x32", "blocked<threads = 128>", 32},
        {"3x16", "blocked<threads = 64>", 16},
        {"4x64", "blocked<threads = 128, vector = 2>", 64},
        {"64x32", "blocked<threads = 128, vector = 16>", 32},
        {"7x128", "blocked<threads = 128, vector = 8>", 128}}) {
    SCOPED_TRACE(layout);
    TileLayout tile = read(shape, layout);
    for (int64_t mask = 1; mask < columns; mask *= 2)
      expectExchange(tile, mask);
    expectExchange(tile, columns - 1);
  }
}

TEST_F(LaneMapTest, AThreadsOwnKeysCostNothing) {
  auto moves =
      findExchange(read("4x64", "blocked<threads = 128, vector = 2>"), 1);
  ASSERT_TRUE(moves);
  for (LaneMove move : *moves)
    EXPECT_EQ(move.lanes, 0);
}

TEST_F(LaneMapTest, AnotherWarpsKeysAreOutOfReach) {
  EXPECT_FALSE(findExchange(read("4x64", "blocked<threads = 128>"), 32));
}

TEST_F(LaneMapTest, ColumnsInFrontAreOfTheSameWarp) {
  for (auto [shape, layout] :
       {std::pair{"4x64", "blocked<threads = 128, vector = 2>"},
        {"4x32", "blocked<threads = 128>"},
        {"8x64", "blocked<threads = 128, vector = 4>"},
        {"16x64", "blocked<threads = 128, vector = 8>"},
        {"128x4", "blocked<threads = 128, vector = 4>"},
        {"9x16", "blocked<threads = 64>"},
        {"3x1", "blocked<threads = 32>"}}) {
    SCOPED_TRACE(testing::Message() << shape << " " << layout);
    TileLayout tile = read(shape, layout);
    auto found = findPredecessors(tile);
    ASSERT_TRUE(found);
    ASSERT_EQ(static_cast<int64_t>(found->size()), tile.getNumRegisters());
    int64_t columns = tile.getShape()[1];
    for (int64_t thread = 0; thread < tile.getNumThreads(); ++thread)
      for (auto [reg, from] : llvm::enumerate(*found)) {
        std::optional<Element> wanted = tile.getElement(thread, reg);
        if (!wanted)
          continue;
        // The last lane of a row gets the tile before it.
        int64_t lanes = std::max<int64_t>(from.lanes, 1);
        int64_t lane = thread % lanes == 0 ? thread + lanes - 1 : thread - 1;
        int64_t source = from.lanes == 0 ? thread : lane;
        bool isOfFront = from.lanes > 0 && source % lanes == lanes - 1;
        Element element = *tile.getElement(source, from.reg);
        EXPECT_EQ(element[0], (*wanted)[0]);
        EXPECT_EQ(element[1] - (isOfFront ? columns : 0), (*wanted)[1] - 1);
        EXPECT_EQ(source / 32, thread / 32);
      }
  }
}

TEST_F(LaneMapTest, ColumnsInFrontMayBeOutOfReach) {
  // Rows of two warps; columns of a product, which lanes hold in turn.
  EXPECT_FALSE(findPredecessors(read("2x64", "blocked<threads = 128>")));
  EXPECT_FALSE(findPredecessors(read("64x32", "mma<warps = 4>")));
}

TEST_F(LaneMapTest, HeadsAreReducedInRegistersAndLanes) {
  std::string mma = "#nsatile.mma<warps = 4>>";
  for (auto [shape, as] : {std::pair{"32x2x16", "64, 16"},
                           {"16x4x32", "64, 32"},
                           {"8x8x8", "64, 8"},
                           {"4x16x32", "64, 32"},
                           {"8x16x40", "128, 40"}})
    expectReduction(shape, 1,
                    "reshape<as = [" + std::string(as) + "], of = " + mma);
}

TEST_F(LaneMapTest, SumsEndUpInTheLanesThatWantThem) {
  expectScatter("4x16x32",
                "reshape<as = [64, 32], of = #nsatile.mma<warps = 4>>", "4x32",
                "blocked<threads = 128>");
  expectScatter("8x16x32",
                "reshape<as = [128, 32], of = #nsatile.mma<warps = 8>>", "8x32",
                "blocked<threads = 256>");
}

TEST_F(LaneMapTest, SumsThatLanesHoldUnevenlyArentScattered) {
  auto find = [&](const std::string &shape, const std::string &as,
                  const std::string &rest, const std::string &to) {
    std::string of = "reshape<as = [" + as + "], of = #nsatile.mma<warps = 4>>";
    return findScatter(read(shape, of), read(rest, to), 1);
  };
  // Adjacent keys of a row, too few columns, and heads of two warps.
  EXPECT_FALSE(
      find("16x4x32", "64, 32", "16x32", "blocked<threads = 128, vector = 4>"));
  EXPECT_FALSE(find("4x16x16", "64, 16", "4x16", "blocked<threads = 128>"));
  EXPECT_FALSE(find("2x32x32", "64, 32", "2x32", "blocked<threads = 128>"));
}

TEST_F(LaneMapTest, UnequalPartsGoThroughSharedMemory) {
  auto find = [&](const std::string &shape, const std::string &rest,
                  const std::string &as) {
    std::string of = "reshape<as = [" + as + "], of = #nsatile.mma<warps = 4>>";
    return findReduction(read(shape, of),
                         read(rest, "slice<dim = 1, of = #nsatile." + of + ">"),
                         1);
  };
  // Three heads of 16 rows, and heads of two warps.
  EXPECT_FALSE(find("21x3x16", "21x16", "63, 16"));
  EXPECT_FALSE(find("2x32x16", "2x16", "64, 16"));
}

} // namespace
