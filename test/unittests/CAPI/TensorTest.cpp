//===- TensorTest.cpp - Tensors that the C interface rejects --------------===//

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

  /// Runs with `input` as x and `output` as the result.
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

TEST_F(Tensors, WildNumberOfInputs) {
  nsacc_tensor input = x.get(), output = out.get();
  for (size_t count : {size_t(2), size_t(1) << 63, SIZE_MAX}) {
    nsacc_error *error = nullptr;
    EXPECT_EQ(nsacc_program_run(compiled.program.get(), &input, count, &output,
                                1, nullptr, &error),
              NSACC_ERROR_USER);
    EXPECT_THAT(nsacc_error_message(error),
                HasSubstr("kernel 'twice' takes 1 inputs, found " +
                          std::to_string(count)));
    nsacc_error_destroy(error);
    nsacc_shapes *shapes = nullptr;
    EXPECT_EQ(nsacc_program_infer_shapes(compiled.program.get(), &input, count,
                                         &shapes, nullptr),
              NSACC_ERROR_USER);
    EXPECT_EQ(shapes, nullptr);
  }
}

namespace {
/// Two results, of 3x4 elements each.
class TwoOutputs : public testing::Test {
protected:
  Outcome runAt(int64_t first, int64_t second, const int64_t *strides) {
    nsacc_tensor one = {memory.data.data() + first, NSACC_DTYPE_F32, 2, shape,
                        strides};
    nsacc_tensor other = one;
    other.data = memory.data.data() + second;
    return run(compiled.program.get(), {x.get()}, {one, other});
  }

  void expectShared(const Outcome &outcome) {
    EXPECT_EQ(outcome.status, NSACC_ERROR_USAGE);
    EXPECT_EQ(outcome.message(), "output 'a' and output 'b' share memory: give "
                                 "each its own");
  }

  const int64_t shape[2] = {3, 4};
  Floats x{{3, 4}, 1}, memory{{40}};
  Compiled compiled =
      compileForOracle("kernel two(x: [M, N]) -> (a: [M, N], b: [M, N]) {\n"
                       "  return x + 1, x + 2;\n"
                       "}\n");
};
} // namespace

TEST_F(TwoOutputs, MayNotShareMemory) {
  const int64_t wide[] = {8, 1}, apart[] = {8, 2}, backwards[] = {-4, -1};
  for (int64_t second : {0, 1, 3, 11})
    expectShared(runAt(0, second, nullptr));
  for (int64_t second : {0, 3, 8, 11, 16})
    expectShared(runAt(0, second, wide));
  for (int64_t second : {0, 2, 6, 8})
    expectShared(runAt(0, second, apart));
  expectShared(runAt(11, 12, backwards));
}

// Columns and halves of one array: each lies between the other's first and last
// element.
TEST_F(TwoOutputs, MayLieBetweenEachOther) {
  const int64_t wide[] = {8, 1}, apart[] = {8, 2}, transposed[] = {2, 6};
  auto expectRun = [&](int64_t second, const int64_t *strides) {
    Outcome outcome = runAt(0, second, strides);
    EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
    EXPECT_EQ(memory.data[0], 2);
    EXPECT_EQ(memory.data[second], 3);
  };
  expectRun(12, nullptr);
  expectRun(4, wide);
  expectRun(1, apart);
  expectRun(1, transposed);
}
