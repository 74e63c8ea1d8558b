#include "NSATile/IR/TileLayout.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace mlir;
using namespace nsacc::nsatile;

namespace {

using Element = SmallVector<int64_t, 3>;

class TileLayoutTest : public ::testing::Test {
protected:
  TileLayoutTest() { context.loadDialect<NSATileDialect>(); }

  TileLayout read(StringRef type) {
    auto tile = cast<RankedTensorType>(parseType(type, &context));
    std::optional<TileLayout> layout = TileLayout::get(tile);
    EXPECT_TRUE(layout) << type.str();
    return *layout;
  }

  /// Threads that hold each element.
  static std::map<std::vector<int64_t>, std::set<int64_t>>
  getHolders(const TileLayout &layout) {
    std::map<std::vector<int64_t>, std::set<int64_t>> holders;
    for (int64_t thread = 0; thread < layout.getNumThreads(); ++thread)
      for (int64_t reg = 0; reg < layout.getNumRegisters(); ++reg)
        if (std::optional<Element> element = layout.getElement(thread, reg)) {
          auto &found = holders[{element->begin(), element->end()}];
          EXPECT_TRUE(found.insert(thread).second)
              << "thread " << thread << " holds an element twice";
        }
    return holders;
  }

  /// Checks that each element of the tile, and none outside it, is held
  /// `copies` times.
  void expectCover(StringRef type, size_t copies) {
    SCOPED_TRACE(type.str());
    TileLayout layout = read(type);
    auto holders = getHolders(layout);
    EXPECT_EQ(static_cast<int64_t>(holders.size()),
              ShapedType::getNumElements(layout.getShape()));
    for (const auto &[element, threads] : holders) {
      EXPECT_EQ(threads.size(), copies);
      for (auto [index, size] : llvm::zip_equal(element, layout.getShape())) {
        EXPECT_GE(index, 0);
        EXPECT_LT(index, size);
      }
    }
  }

  MLIRContext context;
};

TEST_F(TileLayoutTest, MmaCoversEachElementOnce) {
  expectCover("tensor<64x64xf32, #nsatile.mma<warps = 4>>", 1);
  expectCover("tensor<192x80xf32, #nsatile.mma<warps = 4>>", 1);
  expectCover("tensor<63x37xf32, #nsatile.mma<warps = 2>>", 1);
  expectCover("tensor<4x3xi64, #nsatile.mma<warps = 1>>", 1);
}

TEST_F(TileLayoutTest, MmaIsTheFragmentOfTensorCores) {
  TileLayout layout = read("tensor<128x16xf32, #nsatile.mma<warps = 4>>");
  ASSERT_EQ(layout.getNumRegisters(), 2 * 2 * 4);
  for (int64_t thread = 0; thread < 128; ++thread)
    for (int64_t m = 0, reg = 0; m < 2; ++m)
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t b = 0; b < 2; ++b)
          for (int64_t c = 0; c < 2; ++c, ++reg) {
            int64_t lane = thread % 32;
            Element expected = {64 * m + 16 * (thread / 32) + lane / 4 + 8 * b,
                                8 * n + 2 * (lane % 4) + c};
            EXPECT_EQ(layout.getElement(thread, reg), expected);
          }
}

TEST_F(TileLayoutTest, SlicesHoldCopies) {
  expectCover("tensor<64xf32, #nsatile.slice<dim = 1, of = #nsatile.mma<warps "
              "= 4>>>",
              4);
  expectCover("tensor<40xf32, #nsatile.slice<dim = 0, of = #nsatile.mma<warps "
              "= 2>>>",
              16);
  TileLayout rows =
      read("tensor<100xf32, #nsatile.slice<dim = 1, of = #nsatile.mma<warps "
           "= 4>>>");
  EXPECT_EQ(rows.getNumRegisters(), 4);
  EXPECT_EQ(rows.getCopies().size(), 1u);
  EXPECT_EQ(rows.getCopies().front(), ThreadDim::InGroup);
}

TEST_F(TileLayoutTest, ReshapesMoveNothing) {
  for (StringRef of : {"#nsatile.mma<warps = 2>",
                       "#nsatile.blocked<threads = 64, vector = 4>"}) {
    TileLayout matrix = read(("tensor<63x40xf32, " + of + ">").str());
    TileLayout cube =
        read(("tensor<21x3x40xf32, #nsatile.reshape<as = [63, 40], of = " + of +
              ">>")
                 .str());
    ASSERT_EQ(matrix.getNumRegisters(), cube.getNumRegisters());
    for (int64_t thread = 0; thread < 64; ++thread)
      for (int64_t reg = 0; reg < matrix.getNumRegisters(); ++reg) {
        std::optional<Element> from = matrix.getElement(thread, reg);
        std::optional<Element> to = cube.getElement(thread, reg);
        ASSERT_EQ(from.has_value(), to.has_value());
        if (!from)
          continue;
        Element expected = {(*from)[0] / 3, (*from)[0] % 3, (*from)[1]};
        EXPECT_EQ(*to, expected);
      }
  }
}

TEST_F(TileLayoutTest, SlicesOfReshapesKnowTheSizesThatAreLeft) {
  std::string cube =
      "#nsatile.reshape<as = [64, 64], of = #nsatile.mma<warps = 4>>";
  expectCover("tensor<16x4xf32, #nsatile.slice<dim = 2, of = " + cube + ">>",
              4);
  expectCover("tensor<16xf32, #nsatile.slice<dim = 1, of = #nsatile.slice<dim "
              "= 2, of = " +
                  cube + ">>>",
              16);
  expectCover("tensor<16xf32, #nsatile.slice<dim = 1, of = #nsatile.reshape<as "
              "= [64], of = #nsatile.slice<dim = 1, of = #nsatile.mma<warps = "
              "4>>>>>",
              16);
  expectCover("tensor<64xf32, #nsatile.slice<dim = 0, of = #nsatile.slice<dim "
              "= 1, of = " +
                  cube + ">>>",
              32);
}

TEST_F(TileLayoutTest, BlockedDealsVectorsOut) {
  expectCover("tensor<16x4x64xbf16, #nsatile.blocked<threads = 128, vector = "
              "8>>",
              1);
  expectCover("tensor<7x5xf32, #nsatile.blocked<threads = 32>>", 1);
  expectCover("tensor<7x12xi64, #nsatile.blocked<threads = 64, vector = 2>>",
              1);
  TileLayout layout =
      read("tensor<16x40xbf16, #nsatile.blocked<threads = 32, vector = 8>>");
  EXPECT_EQ(*layout.getElement(7, 3), Element({1, 19}));
}

TEST_F(TileLayoutTest, PaddingIsKnown) {
  TileLayout layout = read("tensor<4x64xf32, #nsatile.mma<warps = 1>>");
  // Rows 8 and up.
  EXPECT_TRUE(layout.isPadding(2));
  EXPECT_FALSE(layout.isPadding(0));
  EXPECT_EQ(layout.getConditions(0).size(), 1u);
  EXPECT_TRUE(read("tensor<64x64xf32, #nsatile.mma<warps = 4>>")
                  .getConditions(5)
                  .empty());
}

TEST_F(TileLayoutTest, LayoutsOfOtherTiles) {
  Attribute mma = MmaLayoutAttr::get(&context, 4);
  Attribute cube = TileLayout::getReshaped({64, 64}, mma, {16, 4, 64});
  EXPECT_EQ(TileLayout::getReshaped({16, 4, 64}, cube, {64, 64}), mma);
  // The order in which dimensions are removed doesn't matter.
  EXPECT_EQ(TileLayout::getSlice(TileLayout::getSlice(cube, 2), 1),
            TileLayout::getSlice(TileLayout::getSlice(cube, 1), 1));
}

} // namespace
