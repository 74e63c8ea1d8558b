//===- PlanTest.cpp - Launch plans and their errors -----------------------===//

#include "TileTest.h"
#include <thread>

using namespace nsacc;
using namespace nsacc::cpu;
using testing::Test;

namespace {

class PlanTest : public TileTest {
protected:
  /// y = (x + 1) · 2, through a workspace, tile by tile.
  static constexpr const char *twoLaunches = R"(
    !v = memref<?xf32>
    nsatile.program @add(%x: !v, %y: !v, %n: index, %c: f32) {
      %16 = arith.constant 16 : index
      %p = nsatile.program_id 0
      %i = arith.muli %p, %16 : index
      %t_at = nsatile.at %x[%i] dims [0] limits [%n] : !v -> !nsatile.place<16xf32>
      %t = nsatile.load %t_at : tensor<16xf32>
      %s = tensor.splat %c : tensor<16xf32>
      %u = arith.addf %t, %s : tensor<16xf32>
      %to = nsatile.at %y[%i] dims [0] limits [%n] : !v -> !nsatile.place<16xf32>
      nsatile.store %u, %to : tensor<16xf32>
      nsatile.return
    }
    nsatile.program @double(%x: !v, %y: !v, %n: index) {
      %16 = arith.constant 16 : index
      %p = nsatile.program_id 0
      %i = arith.muli %p, %16 : index
      %t_at = nsatile.at %x[%i] dims [0] limits [%n] : !v -> !nsatile.place<16xf32>
      %t = nsatile.load %t_at : tensor<16xf32>
      %u = arith.addf %t, %t : tensor<16xf32>
      %to = nsatile.at %y[%i] dims [0] limits [%n] : !v -> !nsatile.place<16xf32>
      nsatile.store %u, %to : tensor<16xf32>
      nsatile.return
    }
    nsatile.plan @plan(%x: !v, %y: !v) {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %16 = arith.constant 16 : index
      %f = arith.constant 1.0 : f32
      %n = memref.dim %x, %0 : !v
      %tiles = arith.ceildivsi %n, %16 : index
      %w = nsatile.workspace(%n) : !v
      nsatile.launch @add grid(%tiles, %1, %1) (%x, %w, %n, %f) : !v, !v, index, f32
      nsatile.launch @double grid(%tiles, %1, %1) (%w, %y, %n) : !v, !v, index
      %w2 = nsatile.workspace(%n) : !v
      nsatile.launch @add grid(%tiles, %1, %0) (%x, %w2, %n, %f) : !v, !v, index, f32
      nsatile.return
    })";
};

TEST_F(PlanTest, WorkspaceAndSizes) {
  auto executable = compileText(twoLaunches);
  ASSERT_TRUE(executable);
  // Nothing is computed for a result without elements.
  Usage none;
  ASSERT_FALSE(executable->run(
      {Tensor::zeros(DType::F32, {0}), Tensor::zeros(DType::F32, {0})}, {},
      &none));
  EXPECT_EQ(none.peakWorkspaceBytes, 0);
  EXPECT_EQ(none.launches, 0);
  for (int64_t size : {1, 15, 16, 17, 1000}) {
    Tensor x = random(DType::F32, {size}),
           y = Tensor::zeros(DType::F32, {size});
    Usage usage;
    ASSERT_FALSE(executable->run({x, y}, {}, &usage));
    std::vector<double> expected = x.toReals();
    for (double &value : expected)
      value = (value + 1) * 2;
    expectNear(y.toReals(), expected, 0);
    // The first buffer is freed before the second is allocated.
    EXPECT_EQ(usage.peakWorkspaceBytes, (size * 4 + 63) / 64 * 64);
    EXPECT_EQ(usage.launches, 3);
    EXPECT_EQ(usage.programs, (size + 15) / 16 * 2);
  }
}

/// Tiles of 16 in slices of 2, each through a workspace for one slice.
TEST_F(PlanTest, RepeatedLaunches) {
  auto executable = compileText(R"(
    !v = memref<?xf32>
    nsatile.program @add(%x: !v, %y: !v, %first: index, %n: index) {
      %16 = arith.constant 16 : index
      %p = nsatile.program_id 0
      %to = arith.muli %p, %16 : index
      %i = arith.addi %to, %first : index
      %32 = arith.constant 32 : index
      %t_at = nsatile.at %x[%i] dims [0] limits [%n] : !v -> !nsatile.place<16xf32>
      %t = nsatile.load %t_at : tensor<16xf32>
      %u = arith.addf %t, %t : tensor<16xf32>
      %to_1 = nsatile.at %y[%to] dims [0] limits [%32] : !v -> !nsatile.place<16xf32>
      nsatile.store %u, %to_1 : tensor<16xf32>
      nsatile.return
    }
    nsatile.program @copy(%x: !v, %y: !v, %first: index, %n: index) {
      %16 = arith.constant 16 : index
      %p = nsatile.program_id 0
      %from = arith.muli %p, %16 : index
      %i = arith.addi %from, %first : index
      %t_at = nsatile.at %x[%from] dims [0] limits [%n] : !v -> !nsatile.place<16xf32>
      %t = nsatile.load %t_at : tensor<16xf32>
      %to = nsatile.at %y[%i] dims [0] limits [%n] : !v -> !nsatile.place<16xf32>
      nsatile.store %t, %to : tensor<16xf32>
      nsatile.return
    }
    nsatile.plan @plan(%x: !v, %y: !v) {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %2 = arith.constant 2 : index
      %32 = arith.constant 32 : index
      %n = memref.dim %x, %0 : !v
      %slices = arith.ceildivsi %n, %32 : index
      %w = nsatile.workspace(%32) : !v
      nsatile.repeat %i below %slices {
        %first = arith.muli %i, %32 : index
        nsatile.launch @add grid(%2, %1, %1) (%x, %w, %first, %n) : !v, !v, index, index
        nsatile.launch @copy grid(%2, %1, %1) (%w, %y, %first, %n) : !v, !v, index, index
      }
      nsatile.return
    })");
  ASSERT_TRUE(executable);
  for (int64_t size : {0, 1, 32, 33, 100}) {
    Tensor x = random(DType::F32, {size}),
           y = Tensor::zeros(DType::F32, {size});
    Usage usage;
    ASSERT_FALSE(executable->run({x, y}, {}, &usage));
    std::vector<double> expected = x.toReals();
    for (double &value : expected)
      value *= 2;
    expectNear(y.toReals(), expected, 0);
    EXPECT_EQ(usage.peakWorkspaceBytes, size == 0 ? 0 : 128);
    EXPECT_EQ(usage.launches, (size + 31) / 32 * 2);
  }
}

TEST_F(PlanTest, OnlyResultsAreWritten) {
  auto executable = compileText(twoLaunches);
  ASSERT_TRUE(executable);
  ASSERT_EQ(executable->getParameters().size(), 2u);
  EXPECT_FALSE(executable->getParameters()[0].isResult);
  EXPECT_TRUE(executable->getParameters()[1].isResult);
  ASSERT_EQ(executable->getParameters()[0].sizes.size(), 1u);
  EXPECT_EQ(executable->getParameters()[0].sizes[0].fixed, std::nullopt);
}

TEST_F(PlanTest, StridesThatCodeWasNotCompiledFor) {
  auto executable = compileText(twoLaunches);
  ASSERT_TRUE(executable);
  Tensor x = random(DType::F32, {40}), y = Tensor::zeros(DType::F32, {60});
  Tensor backwards = Tensor::borrow(static_cast<float *>(x.getData()) + 38,
                                    DType::F32, {20}, {-2}, nullptr);
  Tensor everyThird =
      Tensor::borrow(y.getData(), DType::F32, {20}, {3}, nullptr);
  ASSERT_FALSE(executable->run({backwards, everyThird}));
  std::vector<double> from = x.toReals(), expected(60);
  for (int i = 0; i < 20; ++i)
    expected[3 * i] = (from[38 - 2 * i] + 1) * 2;
  expectNear(y.toReals(), expected, 0);
}

TEST_F(PlanTest, RunsOverlap) {
  auto executable = compileText(twoLaunches);
  ASSERT_TRUE(executable);
  std::vector<std::thread> threads;
  std::vector<std::vector<double>> results(4);
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        Tensor x = random(DType::F32, {3000}, i);
        Tensor y = Tensor::zeros(DType::F32, {3000});
        llvm::consumeError(executable->run({x, y}, {.threads = 3}));
        results[i] = y.toReals();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (unsigned i = 0; i < 4; ++i) {
    std::vector<double> expected = random(DType::F32, {3000}, i).toReals();
    for (double &value : expected)
      value = static_cast<float>((value + 1) * 2);
    expectNear(results[i], expected, 0);
  }
}

TEST_F(PlanTest, WrongTensors) {
  auto executable = compileText(twoLaunches);
  ASSERT_TRUE(executable);
  Tensor good = Tensor::zeros(DType::F32, {4});
  auto message = [&](llvm::ArrayRef<Tensor> tensors) {
    return llvm::toString(executable->run(tensors));
  };
  EXPECT_EQ(message({good}),
            "expected 2 tensors, inputs and then results, found 1");
  EXPECT_EQ(message({good, Tensor::zeros(DType::F16, {4})}),
            "result 'argument 1': expected elements of f32, found f16");
  EXPECT_EQ(message({Tensor::zeros(DType::F32, {4, 4}), good}),
            "input 'argument 0': expected 1 dimensions, found 2");
}

TEST_F(PlanTest, WrongOptions) {
  Options options;
  options.cpu = "z80";
  EXPECT_EQ(compileError(twoLaunches, options)
                .find("there is no processor "
                      "'z80'"),
            0u);
  options.cpu = "";
  options.features = "avx2";
  EXPECT_EQ(compileError(twoLaunches, options),
            "expected features like '+avx2,-avx512f', found 'avx2'");
  options.features = "";
  options.plan = "nobody";
  EXPECT_EQ(compileError(twoLaunches, options),
            "the module has no plan 'nobody'");
  EXPECT_EQ(compileError("module {}"), "the module has no plan to run");
}

TEST_F(PlanTest, DivisionByZero) {
  auto executable = compileText(R"(
    nsatile.program @nothing() { nsatile.return }
    nsatile.plan @plan(%x: memref<?xf32>) {
      %0 = arith.constant 0 : index
      %n = memref.dim %x, %0 : memref<?xf32>
      %q = arith.divsi %n, %n : index
      nsatile.launch @nothing grid(%q, %q, %q) ()
      nsatile.return
    })");
  ASSERT_TRUE(executable);
  EXPECT_EQ(llvm::toString(executable->run({Tensor::zeros(DType::F32, {0})})),
            "the launch plan divides by zero");
  EXPECT_FALSE(executable->run({Tensor::zeros(DType::F32, {3})}));
}

TEST_F(PlanTest, SizesThatNoWorkspaceHas) {
  auto executable = compileText(R"(
    nsatile.program @nothing(%w: memref<?xf32>) { nsatile.return }
    nsatile.plan @plan(%x: memref<?xf32>) {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %3 = arith.constant 3 : index
      %large = arith.constant 0x3fffffffffffffff : index
      %n = memref.dim %x, %0 : memref<?xf32>
      %behind = arith.subi %n, %3 : index
      %size = arith.muli %behind, %large : index
      %w = nsatile.workspace(%size) : memref<?xf32>
      nsatile.launch @nothing grid(%1, %1, %1) (%w) : memref<?xf32>
      nsatile.return
    })");
  ASSERT_TRUE(executable);
  auto message = [&](int64_t size) {
    return llvm::toString(executable->run({Tensor::zeros(DType::F32, {size})}));
  };
  EXPECT_EQ(message(2), "the launch plan asks for a buffer of size "
                        "-4611686018427387903");
  EXPECT_EQ(message(3), "");
  for (int64_t size : {4, 10})
    EXPECT_EQ(message(size),
              "these sizes are too large: the launch plan leaves 64 bits");
}

// An input that is only read isn't written back.
TEST_F(PlanTest, ReadingByElementIsNoWriting) {
  auto executable = compileText(R"(
    nsatile.program @copy(%x: memref<?xi32>, %y: memref<?xi32>) {
      %0 = arith.constant 0 : index
      %e = memref.load %x[%0] : memref<?xi32>
      memref.store %e, %y[%0] : memref<?xi32>
      nsatile.return
    }
    nsatile.plan @plan(%x: memref<?xi32>, %y: memref<?xi32>) {
      %1 = arith.constant 1 : index
      nsatile.launch @copy grid(%1, %1, %1) (%x, %y) : memref<?xi32>, memref<?xi32>
      nsatile.return
    })");
  ASSERT_TRUE(executable);
  EXPECT_FALSE(executable->getParameters()[0].isResult);
  EXPECT_TRUE(executable->getParameters()[1].isResult);
}

TEST_F(PlanTest, PlansThatCantBeRead) {
  EXPECT_NE(
      compileError(R"(
    nsatile.plan @plan(%x: memref<?xf32>) {
      %f = arith.constant 1.0 : f32
      %g = arith.addf %f, %f : f32
      nsatile.return
    })")
          .find("'arith.addf' op in a plan isn't supported by the CPU target"),
      std::string::npos);
  EXPECT_NE(compileError(R"(
    nsatile.plan @plan(%x: index) {
      nsatile.return
    })")
                .find("expected strided buffers"),
            std::string::npos);
}

TEST_F(PlanTest, TilesBeyondTheStack) {
  std::string message = compileError(R"(
    nsatile.program @big(%x: memref<?x?xf32>) {
      %0 = arith.constant 0 : index
      %t_at = nsatile.at %x[%0, %0] dims [0, 1] limits [%0, %0] : memref<?x?xf32> -> !nsatile.place<4096x4096xf32>
      %t = nsatile.load %t_at : tensor<4096x4096xf32>
      %to = nsatile.at %x[%0, %0] dims [0, 1] limits [%0, %0] : memref<?x?xf32> -> !nsatile.place<4096x4096xf32>
      nsatile.store %t, %to : tensor<4096x4096xf32>
      nsatile.return
    }
    nsatile.plan @plan(%x: memref<?x?xf32>) {
      %1 = arith.constant 1 : index
      nsatile.launch @big grid(%1, %1, %1) (%x) : memref<?x?xf32>
      nsatile.return
    })");
  EXPECT_EQ(message.find("a program's tiles take 67108864 bytes of a stack"),
            0u);
}

} // namespace
