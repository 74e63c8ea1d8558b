//===- PackageVariantsTest.cpp - Packages for several sizes ---------------===//

#include "PackageVariants.h"
#include "llvm/ADT/STLExtras.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace nsacc;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// q: f32[B, heads, T], whose buffers have tokens before heads, in code with
/// one kernel.
static PackageVariant makeVariant(int64_t heads, const char *ptx,
                                  std::vector<SizeCondition> conditions = {}) {
  rt::Package package;
  package.kernel = "f";
  package.parameters = {{"q",
                         DType::F32,
                         {{{}, "B"}, {heads, "H"}, {{}, "T"}},
                         {{}, {}, 1},
                         {0, 2, 1},
                         false}};
  package.images = {{ptx, "", {}}};
  rt::TargetCode code;
  code.architecture = "sm_90a";
  code.plan.steps = {{rt::Step::Kind::Constant, 1, {}}};
  rt::Launch launch = {};
  launch.kernel = "f_0";
  launch.threads = 128;
  code.plan.launches = {launch};
  package.variants = {{{}, {}, {code}}};
  return {package, std::move(conditions)};
}

static rt::Package combine(std::vector<PackageVariant> variants) {
  auto package = combineVariants(std::move(variants));
  EXPECT_TRUE(static_cast<bool>(package)) << toString(package.takeError());
  // Reading a package checks it.
  std::string bytes = rt::writePackage(*package);
  return rt::readPackage(bytes.data(), bytes.size());
}

static std::string fail(std::vector<PackageVariant> variants) {
  auto package = combineVariants(std::move(variants));
  return package ? "no error" : toString(package.takeError());
}

static std::vector<std::string> getGuards(const rt::Variant &variant) {
  std::vector<std::string> guards;
  for (const rt::Guard &guard : variant.guards)
    guards.push_back(guard.what);
  return guards;
}

static const SizeCondition kLong = {{"T"}, 1, 100};
static const SizeCondition kMany = {{"T", "B", "H"}, 3, 1000};
static const SizeCondition kFew = {{"B", "H"}, 3, 1000, /*isMost=*/true};

/// The variant for a call with these sizes; -1 if there is none.
static int pick(const rt::Package &package, int64_t batch, int64_t heads,
                int64_t tokens) {
  int64_t sizes[] = {batch, tokens, heads};
  for (auto [index, variant] : llvm::enumerate(package.variants)) {
    std::vector<int64_t> numbers;
    EXPECT_EQ(rt::computeSteps(variant.steps, {sizes}, numbers), std::nullopt);
    if (!rt::findFailedGuard(variant, numbers))
      return static_cast<int>(index);
  }
  return -1;
}

TEST(PackageVariantsTest, OneHasNoGuards) {
  rt::Package package = combine({makeVariant(4, "a")});
  ASSERT_EQ(package.variants.size(), 1u);
  EXPECT_THAT(getGuards(package.variants[0]), IsEmpty());
  EXPECT_EQ(package.parameters[0].sizes[1].fixed, 4);
}

TEST(PackageVariantsTest, SizesThatDifferAreGuards) {
  rt::Package package = combine(
      {makeVariant(4, "a", {kLong}), makeVariant(4, "b"), makeVariant(8, "c")});
  EXPECT_EQ(package.parameters[0].sizes[1].fixed, std::nullopt);
  EXPECT_EQ(package.parameters[0].sizes[1].name, "H");
  ASSERT_EQ(package.variants.size(), 3u);
  EXPECT_THAT(getGuards(package.variants[0]), ElementsAre("H = 4", "T >= 100"));
  EXPECT_THAT(getGuards(package.variants[1]), ElementsAre("H = 4"));
  EXPECT_THAT(getGuards(package.variants[2]), ElementsAre("H = 8"));
  EXPECT_EQ(pick(package, 1, 4, 100), 0);
  EXPECT_EQ(pick(package, 1, 4, 99), 1);
  EXPECT_EQ(pick(package, 1, 8, 100), 2);
  EXPECT_EQ(pick(package, 1, 5, 100), -1);
  EXPECT_EQ(pick(package, 1, 0, 0), -1);
}

// The rule is the same for sizes of a run, which the JIT has, and of a call.
TEST(PackageVariantsTest, ConditionsAreThoseOfTheCompiler) {
  rt::Package package =
      combine({makeVariant(4, "a", {kLong, kMany}),
               makeVariant(4, "b", {kLong, kFew}), makeVariant(4, "c")});
  EXPECT_THAT(getGuards(package.variants[0]),
              ElementsAre("T >= 100", "T * B * H * 3 >= 1000"));
  EXPECT_THAT(getGuards(package.variants[1]),
              ElementsAre("T >= 100", "B * H * 3 <= 1000"));
  const int64_t most = INT32_MAX;
  for (int64_t batch : {int64_t(0), int64_t(1), int64_t(2), most})
    for (int64_t heads : {int64_t(0), int64_t(1), int64_t(3), int64_t(4), most})
      for (int64_t tokens :
           {int64_t(0), int64_t(1), int64_t(83), int64_t(84), int64_t(99),
            int64_t(100), int64_t(101), int64_t(333), int64_t(334), most}) {
        llvm::StringMap<int64_t> sizes = {
            {"B", batch}, {"H", heads}, {"T", tokens}};
        bool holds = kLong.holds(sizes) && kMany.holds(sizes);
        EXPECT_EQ(holds, tokens >= 100 &&
                             __int128_t(tokens) * batch * heads * 3 >= 1000);
        bool areFew = kLong.holds(sizes) && kFew.holds(sizes);
        EXPECT_EQ(areFew,
                  tokens >= 100 && __int128_t(batch) * heads * 3 <= 1000);
        EXPECT_EQ(pick(package, batch, heads, tokens), holds    ? 0
                                                       : areFew ? 1
                                                                : 2)
            << batch << ' ' << heads << ' ' << tokens;
      }
}

TEST(PackageVariantsTest, UnknownSizesCountAsEnough) {
  EXPECT_FALSE(kMany.holds({{"B", 1 << 20}, {"H", 1 << 20}}));
  EXPECT_TRUE(kMany.holds({{"T", 1}}));
  EXPECT_FALSE(kMany.holds({{"T", 0}}));
  EXPECT_FALSE(kMany.holds({{"T", 1}, {"B", 0}}));
  EXPECT_FALSE(kMany.holds({{"T", 1}, {"B", 1}, {"H", 333}}));
  EXPECT_TRUE(kMany.holds({{"T", 1}, {"B", 1}, {"H", 334}}));
  SizeCondition fixed = {{}, 999, 1000};
  EXPECT_FALSE(fixed.holds({}));
  fixed.factor = 1000;
  EXPECT_TRUE(fixed.holds({}));
}

TEST(PackageVariantsTest, UnknownSizesAreNotFew) {
  EXPECT_FALSE(kFew.holds({{"B", 1}}));
  EXPECT_FALSE(kFew.holds({{"H", 1}}));
  EXPECT_TRUE(kFew.holds({{"B", 1}, {"H", 333}}));
  EXPECT_FALSE(kFew.holds({{"B", 1}, {"H", 334}}));
  EXPECT_TRUE(kFew.holds({{"B", 1 << 20}, {"H", 0}}));
}

TEST(PackageVariantsTest, EqualImagesStandOnce) {
  rt::Package package =
      combine({makeVariant(4, "a"), makeVariant(8, "b"), makeVariant(2, "a")});
  ASSERT_EQ(package.images.size(), 2u);
  std::vector<uint32_t> used;
  for (const rt::Variant &variant : package.variants)
    used.push_back(variant.targets[0].plan.launches[0].image);
  EXPECT_THAT(used, ElementsAre(0, 1, 0));
  EXPECT_EQ(package.images[1].ptx, "b");
}

TEST(PackageVariantsTest, EqualCodeNeedsNoConditions) {
  rt::Package package =
      combine({makeVariant(4, "a", {kLong}), makeVariant(4, "a")});
  ASSERT_EQ(package.variants.size(), 1u);
  EXPECT_THAT(getGuards(package.variants[0]), IsEmpty());
  // A variant with conditions doesn't cover all calls of the one before it.
  package = combine({makeVariant(4, "a", {kLong}), makeVariant(4, "a", {kMany}),
                     makeVariant(4, "b")});
  EXPECT_EQ(package.variants.size(), 3u);
}

TEST(PackageVariantsTest, DimensionsWithoutNames) {
  PackageVariant first = makeVariant(4, "a"), second = makeVariant(8, "b");
  for (PackageVariant *each : {&first, &second})
    each->package.parameters[0].sizes[1].name.clear();
  rt::Package package = combine({first, second});
  EXPECT_THAT(getGuards(package.variants[1]), ElementsAre("size 1 of 'q' = 8"));
  EXPECT_EQ(pick(package, 1, 8, 1), 1);
}

TEST(PackageVariantsTest, StridesAreTheSame) {
  PackageVariant other = makeVariant(8, "b");
  other.package.parameters[0].strides[1] = 2;
  EXPECT_EQ(fail({makeVariant(4, "a"), other}),
            "the sizes of a package's variants ask for other strides of 'q' "
            "each: write a package for each");
}

TEST(PackageVariantsTest, ArentTooMany) {
  std::vector<PackageVariant> variants;
  for (int64_t heads = 1; heads <= 64; ++heads)
    variants.push_back(makeVariant(heads, "a"));
  EXPECT_EQ(combine(variants).variants.size(), 64u);
  variants.push_back(makeVariant(65, "a"));
  EXPECT_EQ(fail(variants), "these sizes are 65 variants; a package has 64 at "
                            "most: write several packages");
}
