//===- TensorTest.cpp - What the C interface refuses to touch -------------===//

#include "Handles.h"
#include <climits>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::AllOf;
using testing::HasSubstr;

namespace {
class Tensors : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(compiled.program, nullptr) << compiled.message();
  }

  /// Runs with `input` in place of x and `output` in place of the result.
  Outcome runWith(nsacc_tensor input, nsacc_tensor output) {
    return run(compiled.program.get(), {input}, {output});
  }

  void expectMisuse(nsacc_tensor input, const char *problem) {
    Outcome outcome = runWith(input, out.get());
    EXPECT_EQ(outcome.status, NSACC_ERROR_USAGE);
    EXPECT_THAT(outcome.message(),
                AllOf(HasSubstr("input 'x'"), HasSubstr(problem)));
  }

  Compiled compiled = compileForOracle("kernel twice(x: [M, N]) -> [M, N] {\n"
                                       "  return x + x;\n"
                                       "}\n");
  Floats x{{2, 3}, 1}, out{{2, 3}};
};
} // namespace

TEST_F(Tensors, Run) {
  Outcome outcome = runWith(x.get(), out.get());
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  EXPECT_THAT(out.data, testing::Each(2));
}

TEST_F(Tensors, NoMemory) {
  nsacc_tensor tensor = x.get();
  tensor.data = nullptr;
  expectMisuse(tensor, "NULL");
}

TEST_F(Tensors, NoShape) {
  nsacc_tensor tensor = x.get();
  tensor.shape = nullptr;
  expectMisuse(tensor, "shape is NULL");
}

TEST_F(Tensors, Misaligned) {
  nsacc_tensor tensor = x.get();
  tensor.data = reinterpret_cast<char *>(x.data.data()) + 1;
  expectMisuse(tensor, "aligned");
}

TEST_F(Tensors, WildRank) {
  nsacc_tensor tensor = x.get();
  for (int32_t rank : {-1, 65, INT_MAX, INT_MIN}) {
    tensor.rank = rank;
    expectMisuse(tensor, "rank");
  }
}

TEST_F(Tensors, WildDType) {
  nsacc_tensor tensor = x.get();
  tensor.dtype = 42;
  expectMisuse(tensor, "dtype 42");
}

TEST_F(Tensors, NegativeSize) {
  nsacc_tensor tensor = x.get();
  const int64_t shape[] = {2, -3};
  tensor.shape = shape;
  expectMisuse(tensor, "negative");
}

TEST_F(Tensors, OverflowingExtent) {
  nsacc_tensor tensor = x.get();
  const int64_t huge[] = {INT64_MAX, INT64_MAX};
  tensor.shape = huge;
  expectMisuse(tensor, "too far");
  tensor = x.get();
  for (int64_t stride : {INT64_MAX, INT64_MIN, INT64_MAX / 2}) {
    const int64_t strides[] = {stride, stride};
    tensor.strides = strides;
    expectMisuse(tensor, "too far");
  }
}

TEST_F(Tensors, OverlappingOutput) {
  nsacc_tensor tensor = out.get();
  for (std::pair<int64_t, int64_t> overlap :
       {std::pair<int64_t, int64_t>{0, 1}, {2, 1}, {1, 1}, {-1, 1}}) {
    const int64_t strides[] = {overlap.first, overlap.second};
    tensor.strides = strides;
    Outcome outcome = runWith(x.get(), tensor);
    EXPECT_EQ(outcome.status, NSACC_ERROR_USAGE);
    EXPECT_THAT(outcome.message(),
                AllOf(HasSubstr("output"), HasSubstr("overlap")));
  }
}

TEST_F(Tensors, TransposedOutput) {
  x.data = {1, 2, 3, 4, 5, 6};
  nsacc_tensor tensor = out.get();
  const int64_t strides[] = {1, 2};
  tensor.strides = strides;
  Outcome outcome = runWith(x.get(), tensor);
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  EXPECT_THAT(out.data, testing::ElementsAre(2, 8, 4, 10, 6, 12));
}
