#include "nsacc/Tensor/RandomInputs.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace nsacc;

static Dim makeDim(const char *name, Dim::Kind kind = Dim::Kind::Named) {
  Dim dim;
  dim.kind = kind;
  dim.name = name;
  return dim;
}

static Argument makeInput(DType dtype, std::vector<Dim> dims) {
  Argument result;
  result.name = "x";
  result.dtype = dtype;
  result.dims = std::move(dims);
  return result;
}

static Tensor make(const Argument &argument, const DimSizes &sizes,
                   uint64_t seed = 0) {
  return llvm::cantFail(makeRandomInput(argument, sizes, seed));
}

TEST(RandomStream, FixedNumbers) {
  // The formulas of RandomInputs.h, evaluated with Python integers.
  RandomStream stream(0, "q");
  EXPECT_EQ(stream.draw(0), 0x339cae0bff6ef323ull);
  EXPECT_EQ(stream.draw(1), 0xa5edc28e09092c3cull);
  EXPECT_EQ(stream.drawNormal(0), 0.13671875);
  EXPECT_EQ(RandomStream(7, "kc").drawNormal(1000), 1.4205169677734375);
}

TEST(RandomInputs, RealsAreStandardNormal) {
  DimSizes sizes;
  sizes.sizes["N"] = 100000;
  double sum = 0, squares = 0, fourth = 0;
  for (double value :
       make(makeInput(DType::F32, {makeDim("N")}), sizes).toReals()) {
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
  }
  // Within five standard deviations; the fourth moment of the sum of twelve
  // uniform numbers is 2.9.
  EXPECT_LT(std::fabs(sum / 1e5), 0.016);
  EXPECT_LT(std::fabs(squares / 1e5 - 1), 0.022);
  EXPECT_LT(std::fabs(fourth / 1e5 - 2.9), 0.15);
}

TEST(RandomInputs, DependOnSeedAndNameAlone) {
  DimSizes sizes;
  sizes.sizes["N"] = 16;
  Argument x = makeInput(DType::BF16, {makeDim("N")});
  Argument y = x;
  y.name = "y";
  EXPECT_EQ(make(x, sizes, 3).toReals(), make(x, sizes, 3).toReals());
  EXPECT_NE(make(x, sizes, 3).toReals(), make(x, sizes, 4).toReals());
  EXPECT_NE(make(x, sizes, 3).toReals(), make(y, sizes, 3).toReals());
  // Narrower types round the same numbers.
  std::vector<double> wide =
      make(makeInput(DType::F64, {makeDim("N")}), sizes, 3).toReals();
  std::vector<double> narrow = make(x, sizes, 3).toReals();
  for (size_t i = 0; i < wide.size(); ++i)
    EXPECT_EQ(roundTo(DType::BF16, wide[i]), narrow[i]);
}

TEST(RandomInputs, SelectionsAreSetsOfBlocks) {
  Dim width;
  width.kind = Dim::Kind::Constant;
  width.size = 4;
  Argument idx =
      makeInput(DType::I32, {makeDim("B"), makeDim("T"), makeDim("H"), width});
  idx.domain = Domain{Domain::Kind::Blocks, 0, 0, "S", 64};
  DimSizes sizes;
  sizes.sizes["B"] = 2;
  sizes.sizes["T"] = 50;
  sizes.sizes["H"] = 2;
  sizes.sizes["S"] = 64 * 6 + 1;
  std::vector<int64_t> values = make(idx, sizes).toIntegers();
  std::vector<int> seen(7);
  for (size_t row = 0; row < values.size(); row += 4) {
    for (int i = 0; i < 4; ++i) {
      ASSERT_GE(values[row + i], 0);
      ASSERT_LT(values[row + i], 7);
      ++seen[values[row + i]];
      if (i > 0)
        EXPECT_GT(values[row + i], values[row + i - 1]);
    }
  }
  for (int count : seen)
    EXPECT_GT(count, 50);
  sizes.sizes["S"] = 65;
  values = make(idx, sizes).toIntegers();
  EXPECT_EQ(std::vector<int64_t>(values.begin(), values.begin() + 4),
            (std::vector<int64_t>{0, 1, -1, -1}));
}

TEST(RandomInputs, SelectionsOfRaggedRowsStayInTheirRow) {
  Dim width;
  width.kind = Dim::Kind::Constant;
  width.size = 2;
  Argument idx = makeInput(
      DType::I32, {makeDim("T", Dim::Kind::Ragged), makeDim("H"), width});
  idx.domain = Domain{Domain::Kind::Blocks, 0, 0, "S", 32};
  DimSizes sizes;
  sizes.sizes["T"] = 3;
  sizes.sizes["S"] = 97;
  sizes.sizes["H"] = 1;
  sizes.offsets["T"] = {0, 2, 2, 3};
  sizes.offsets["S"] = {0, 0, 64, 97};
  EXPECT_EQ(make(idx, sizes).toIntegers(),
            (std::vector<int64_t>{-1, -1, -1, -1, 0, 1}));
}

/// Consecutive lists, with heads first: [H, ragged P] beside [H, ragged N].
TEST(RandomInputs, ListsBehindEachOtherStayInTheirRow) {
  Argument offsets =
      makeInput(DType::I32, {makeDim("H"), makeDim("P", Dim::Kind::Ragged)});
  offsets.domain = Domain{Domain::Kind::Offsets, 0, 3, "N", 0, "P"};
  Argument entries =
      makeInput(DType::I64, {makeDim("H"), makeDim("N", Dim::Kind::Ragged)});
  entries.domain = Domain{Domain::Kind::Blocks, 0, 0, "S", 32, "N"};
  DimSizes sizes;
  sizes.sizes = {{"H", 2}, {"P", 9}, {"N", 12}, {"S", 97}};
  sizes.offsets["P"] = {0, 5, 6, 9};
  sizes.offsets["N"] = {0, 7, 7, 12};
  sizes.offsets["S"] = {0, 64, 64, 97};
  bool isUsed = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int64_t> bounds = make(offsets, sizes, seed).toIntegers();
    std::vector<int64_t> blocks = make(entries, sizes, seed).toIntegers();
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t row = 0; row < 3; ++row) {
        int64_t most = sizes.offsets["N"][row + 1] - sizes.offsets["N"][row];
        int64_t first = head * 9 + sizes.offsets["P"][row],
                end = head * 9 + sizes.offsets["P"][row + 1];
        EXPECT_EQ(bounds[first], 0);
        for (int64_t i = first + 1; i < end; ++i) {
          EXPECT_GE(bounds[i], bounds[i - 1]);
          EXPECT_LE(bounds[i], std::min(bounds[i - 1] + 3, most));
          isUsed |= bounds[i] == 7;
        }
      }
      for (int64_t i = 0; i < 12; ++i) {
        EXPECT_GE(blocks[head * 12 + i], 0);
        EXPECT_LT(blocks[head * 12 + i], 2);
      }
    }
  }
  EXPECT_TRUE(isUsed);
}

TEST(RandomInputs, IntegersNeedADomain) {
  DimSizes sizes;
  sizes.sizes["N"] = 1000;
  sizes.offsets["T"] = {0, 3, 5};
  sizes.batchRows = 2;
  Argument table = makeInput(DType::I32, {makeDim("N")});
  llvm::Expected<Tensor> tensor = makeRandomInput(table, sizes, 0);
  ASSERT_FALSE(bool(tensor));
  EXPECT_EQ(llvm::toString(tensor.takeError()),
            "no values known for the integers of 'x: i32[N]'");
  table.domain = Domain{Domain::Kind::Range, -2, 2, "", 0};
  std::vector<int> seen(5);
  for (int64_t value : make(table, sizes).toIntegers())
    ++seen.at(value + 2);
  for (int count : seen)
    EXPECT_GT(count, 100);
  EXPECT_EQ(
      make(makeInput(DType::I32, {makeDim("T", Dim::Kind::Offsets)}), sizes)
          .toIntegers(),
      (std::vector<int64_t>{0, 3, 5}));
}
