//===- TensorMapTest.cpp - Descriptors of bulk copies ---------------------===//

#include "RTTest.h"
#include <cstring>

using namespace nsacc::rt;
using ::testing::HasSubstr;

using TensorMapTest = RTTest;

static fakecuda::MapContent getMap(size_t launch) {
  fakecuda::MapContent content;
  const std::string &bytes =
      fakecuda::getLaunches().at(launch).parameters.at(13);
  std::memcpy(&content, bytes.data(), sizeof(content));
  return content;
}

TEST_F(TensorMapTest, DescribesTheBuffer) {
  Module module(makePackage());
  expectLaunch(module, Tensors(3, 100));
  fakecuda::MapContent map = getMap(0);
  EXPECT_EQ(map.address, 0x20000u);
  EXPECT_EQ(map.type, 7u); // f32
  EXPECT_EQ(map.rank, 3u);
  uint64_t sizes[] = {64, 100, 3}, strides[] = {256, 25600};
  EXPECT_THAT(std::vector(map.sizes, map.sizes + 3),
              ::testing::ElementsAreArray(sizes));
  EXPECT_THAT(std::vector(map.strides, map.strides + 2),
              ::testing::ElementsAreArray(strides));
  EXPECT_THAT(std::vector(map.box, map.box + 3),
              ::testing::ElementsAre(32, 32, 1));
  EXPECT_THAT(std::vector(map.steps, map.steps + 3),
              ::testing::ElementsAre(1, 1, 1));
  EXPECT_EQ(map.swizzle, 3u); // 128 bytes
}

// 32 rows, one every 4: a box spans 125. A map without steps takes every row.
TEST_F(TensorMapTest, TakesEverySoManyRows) {
  Package package = makePackage();
  TensorMap &map = package.variants[0].targets[0].plan.launches[0].extra[0].map;
  map.steps = {1, 4, 1};
  std::string bytes = writePackage(package);
  Package read = readPackage(bytes.data(), bytes.size());
  EXPECT_EQ(read.variants[0].targets[0].plan.launches[0].extra[0].map.steps,
            map.steps);
  Module module(read);
  expectLaunch(module, Tensors(3, 100));
  fakecuda::MapContent content = getMap(0);
  EXPECT_THAT(std::vector(content.box, content.box + 3),
              ::testing::ElementsAre(32, 125, 1));
  EXPECT_THAT(std::vector(content.steps, content.steps + 3),
              ::testing::ElementsAre(1, 4, 1));
}

// Callers have [T, B, 64], kernels [B, T, 64].
TEST_F(TensorMapTest, HasTheKernelsOrder) {
  Package package = makePackage();
  Parameter &result = package.parameters[1];
  std::swap(result.sizes[0], result.sizes[1]);
  result.order = {1, 0, 2};
  Module module(package);
  Tensors tensors(3, 100);
  int64_t shape[] = {100, 3, 64};
  tensors.tensors[1].shape = shape;
  for (bool isStrided : {false, true}) {
    // Without strides, rows are consecutive in the caller's order.
    int64_t strides[] = {256, 64, 1};
    tensors.tensors[1].strides = isStrided ? strides : nullptr;
    expectLaunch(module, tensors);
    fakecuda::MapContent map = getMap(isStrided ? 2 : 0);
    EXPECT_THAT(std::vector(map.sizes, map.sizes + 3),
                ::testing::ElementsAre(64u, 100u, 3u));
    EXPECT_THAT(std::vector(map.strides, map.strides + 2),
                ::testing::ElementsAre(isStrided ? 1024u : 768u, 256u));
  }
  int64_t odd[] = {65, 6500, 1};
  tensors.tensors[1].strides = odd;
  EXPECT_THAT(failLaunch(module, tensors),
              HasSubstr("result 'o': dimension 0 has a stride of 65"));
  int64_t wrong[] = {3, 100, 64};
  tensors.tensors[1].shape = wrong;
  tensors.tensors[1].strides = nullptr;
  EXPECT_EQ(failLaunch(module, tensors),
            "result 'o': size 1 is 100; input 'q' has B = 3");
}

TEST_F(TensorMapTest, AreKept) {
  Module module(makePackage());
  Tensors tensors(3, 100);
  for (int i = 0; i < 3; ++i)
    expectLaunch(module, tensors);
  EXPECT_EQ(fakecuda::countCalls("cuTensorMapEncodeTiled"), 1u);
  tensors.tensors[1].data = reinterpret_cast<void *>(0x30000);
  expectLaunch(module, tensors);
  EXPECT_EQ(getMap(6).address, 0x30000u);
  // More buffers than the cache holds.
  for (uint64_t i = 0; i < 600; ++i) {
    tensors.tensors[1].data = reinterpret_cast<void *>(0x40000 + 256 * i);
    expectLaunch(module, tensors);
  }
  EXPECT_EQ(getMap(8 + 2 * 599).address, 0x40000u + 256 * 599);
}

TEST_F(TensorMapTest, NeedsAlignment) {
  Module module(makePackage());
  Tensors misplaced(3, 100);
  misplaced.tensors[1].data = reinterpret_cast<void *>(0x20004);
  EXPECT_EQ(failLaunch(module, misplaced),
            "result 'o': its address isn't a multiple of the 16 bytes that its "
            "kernels need: pass a contiguous tensor that owns its memory");
  Tensors odd(3, 100);
  int64_t strides[] = {6500, 65, 1};
  odd.tensors[1].strides = strides;
  EXPECT_THAT(
      failLaunch(module, odd),
      HasSubstr("result 'o': dimension 1 has a stride of 65 elements of "
                "4 bytes; its kernels need strides that are multiples "
                "of 16 bytes"));
}

TEST_F(TensorMapTest, StridesOfSingleElementsDontMatter) {
  Module module(makePackage());
  Tensors tensors(1, 1);
  int64_t strides[] = {7, -3, 1};
  tensors.tensors[1].strides = strides;
  expectLaunch(module, tensors);
  EXPECT_EQ(getMap(0).strides[0], 256u);
}

// A key tensor without keys: no element of its map is used.
TEST_F(TensorMapTest, CanBeOfNothing) {
  Package package = makePackage();
  package.variants[0].targets[0].plan.launches[0].grid[0] = 4;
  Module module(package);
  expectLaunch(module, Tensors(1, 0));
  EXPECT_TRUE(fakecuda::isDeviceAddress(getMap(0).address));
}
