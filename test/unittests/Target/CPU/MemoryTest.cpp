//===- MemoryTest.cpp - Loads, stores and gathers against loops -----------===//

#include "TileTest.h"

using namespace nsacc;
using namespace nsacc::cpu;

namespace {

class MemoryTest : public TileTest {
protected:
  static constexpr const char *copy = R"(
    !in = memref<?x?x?x$E, strided<[?, ?, $S], offset: ?>>
    !out = memref<?x?x$E, strided<[?, ?], offset: ?>>
    nsatile.program @copy(%in: !in, %out: !out) {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %r = arith.constant $R : index
      %c = arith.constant $C : index
      %x = arith.constant $X : index
      %rl = arith.constant $P : index
      %cl = arith.constant $Q : index
      %t_at = nsatile.at %in[%r, %1, %c] dims [0, 2] steps [$T, $U] limits [%rl, %cl] : !in -> !nsatile.place<5x$Wx$E>
      %t = nsatile.load %t_at : tensor<5x$Wx$E>
      %h = arith.constant 5 : index
      %w = arith.constant $W : index
      %to = nsatile.at %out[%x, %x] dims [0, 1] limits [%h, %w] : !out -> !nsatile.place<5x$Wx$E>
      nsatile.store %t, %to : tensor<5x$Wx$E>
      nsatile.return
    }
    nsatile.plan @plan(%in: !in, %out: !out) {
      %1 = arith.constant 1 : index
      nsatile.launch @copy grid(%1, %1, %1) (%in, %out) : !in, !out
      nsatile.return
    })";

  struct Window {
    int64_t row, column, rowLimit, columnLimit, rowStep, columnStep, width;
    int64_t target; // offset of the store, in both dimensions
    std::string stride;
    DType dtype;
  };

  /// in[9, 3, 50]; out[5, width] surrounded by guards.
  void check(const Window &w) {
    constexpr int64_t rows = 9, columns = 50;
    Tensor in = random(w.dtype, {rows, 3, columns});
    // Guards around the result reveal writes outside.
    Tensor whole = Tensor::zeros(w.dtype, {7, w.width + 4});
    whole.setReals(std::vector<double>(whole.getNumElements(), -1.0));
    int64_t bytes = getSize(w.dtype), stride = w.width + 4;
    Tensor out = Tensor::borrow(static_cast<char *>(whole.getData()) +
                                    (stride + 2) * bytes,
                                w.dtype, {5, w.width}, {stride, 1}, nullptr);
    std::vector<double> values = in.toReals(), expected = whole.toReals();
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < w.width; ++j) {
        int64_t row = w.row + i * w.rowStep;
        int64_t column = w.column + j * w.columnStep;
        bool inside = row >= 0 && row < std::min(w.rowLimit, rows) &&
                      column >= 0 && column < std::min(w.columnLimit, columns);
        int64_t x = i + w.target, y = j + w.target;
        if (x >= 0 && x < 5 && y >= 0 && y < w.width)
          expected[(x + 1) * stride + y + 2] =
              inside ? values[(row * 3 + 1) * columns + column] : 0.0;
      }
    run(substitute(copy, {{"E", getName(w.dtype).str()},
                          {"S", w.stride},
                          {"R", std::to_string(w.row)},
                          {"C", std::to_string(w.column)},
                          {"X", std::to_string(w.target)},
                          {"P", std::to_string(w.rowLimit)},
                          {"Q", std::to_string(w.columnLimit)},
                          {"T", std::to_string(w.rowStep)},
                          {"U", std::to_string(w.columnStep)},
                          {"W", std::to_string(w.width)}}),
        {in, out});
    expectNear(whole.toReals(), expected, 0);
  }
};

TEST_F(MemoryTest, TilesInsideOfTheBuffer) {
  for (int64_t width : {1, 3, 16, 17, 40})
    check({2, 4, 9, 50, 1, 1, width, 0, "1", DType::F32});
}

TEST_F(MemoryTest, TilesAcrossTheLimits) {
  for (int64_t width : {3, 16, 37}) {
    check({6, 30, 9, 41, 1, 1, width, 0, "1", DType::F32});  // beyond both
    check({-2, -3, 9, 50, 1, 1, width, 0, "1", DType::F32}); // before both
    check({20, 60, 9, 50, 1, 1, width, 0, "1", DType::F32}); // nothing left
    check({3, 0, 4, 50, 1, 1, width, 0, "1", DType::F32});   // one row
    check({3, 0, 9, 0, 1, 1, width, 0, "1", DType::F32});    // no column
  }
}

TEST_F(MemoryTest, LimitsBeyondTheBuffer) {
  check({6, 40, 1000, 1000, 1, 1, 16, 0, "1", DType::F32});
}

TEST_F(MemoryTest, StoresAcrossTheLimits) {
  check({0, 0, 9, 50, 1, 1, 19, 2, "1", DType::F32});
  check({0, 0, 9, 50, 1, 1, 19, -3, "1", DType::F32});
  check({0, 0, 9, 50, 1, 1, 19, 30, "1", DType::F32});
}

TEST_F(MemoryTest, Steps) {
  check({0, 1, 9, 50, 2, 1, 16, 0, "1", DType::F32});
  check({1, 1, 9, 50, 3, 1, 16, 0, "1", DType::F32});
  check({0, 0, 9, 50, 1, 3, 17, 0, "1", DType::F32});
  check({-3, -4, 8, 47, 2, 3, 17, 0, "1", DType::F32});
}

TEST_F(MemoryTest, UnknownStrides) {
  check({2, 4, 9, 50, 1, 1, 17, 0, "?", DType::F32});
  check({6, 30, 9, 41, 1, 1, 16, 0, "?", DType::F32});
}

TEST_F(MemoryTest, ElementTypes) {
  for (DType dtype : {DType::BF16, DType::F16, DType::I32, DType::I64})
    check({6, 30, 9, 41, 1, 1, 17, 0, "1", dtype});
}

/// Copies the same data from a view with other strides; the runtime converts it
/// to the layout that code was compiled for.
TEST_F(MemoryTest, TransposedAndMisalignedInputs) {
  Tensor base = random(DType::F32, {50 * 3 * 9 + 1});
  Tensor in = Tensor::borrow(static_cast<char *>(base.getData()) + 4,
                             DType::F32, {9, 3, 50}, {1, 9, 27}, nullptr);
  std::vector<double> values = in.toReals(), expected;
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 16; ++j)
      expected.push_back(i + 6 < 9 ? values[(i + 6) * 150 + 50 + j + 4] : 0.0);
  for (const char *stride : {"1", "?"}) {
    Tensor out = Tensor::zeros(DType::F32, {16, 5});
    Tensor view =
        Tensor::borrow(out.getData(), DType::F32, {5, 16}, {1, 5}, nullptr);
    run(substitute(copy, {{"E", "f32"},
                          {"S", stride},
                          {"R", "6"},
                          {"C", "4"},
                          {"X", "0"},
                          {"P", "9"},
                          {"Q", "50"},
                          {"T", "1"},
                          {"U", "1"},
                          {"W", "16"}}),
        {in, view});
    expectNear(view.toReals(), expected, 0);
  }
}

constexpr const char *gather = R"(
  nsatile.program @gather(%table: memref<?x?x$E>, %rows: memref<37xi64>, %out: memref<37x$E>) {
    %0 = arith.constant 0 : index
    %n = arith.constant 37 : index
    %r_at = nsatile.at %rows[%0] dims [0] limits [%n] : memref<37xi64> -> !nsatile.place<37xi64>
    %r = nsatile.load %r_at : tensor<37xi64>
    %i = arith.index_cast %r : tensor<37xi64> to tensor<37xindex>
    %j = nsatile.iota %0 : tensor<37xindex>
    %v = nsatile.gather %table[%i, %j] : memref<?x?x$E>, tensor<37xindex>, tensor<37xindex> -> tensor<37x$E>
    %to = nsatile.at %out[%0] dims [0] limits [%n] : memref<37x$E> -> !nsatile.place<37x$E>
    nsatile.store %v, %to : tensor<37x$E>
    nsatile.return
  }
  nsatile.plan @plan(%table: memref<?x?x$E>, %rows: memref<37xi64>, %out: memref<37x$E>) {
    %1 = arith.constant 1 : index
    nsatile.launch @gather grid(%1, %1, %1) (%table, %rows, %out) : memref<?x?x$E>, memref<37xi64>, memref<37x$E>
    nsatile.return
  })";

TEST_F(MemoryTest, GatherClampsIndices) {
  for (auto [dtype, name] :
       {std::pair(DType::F32, "f32"), std::pair(DType::BF16, "bf16"),
        std::pair(DType::I32, "i32"), std::pair(DType::Bool, "i8")}) {
    Tensor table = random(dtype, {5, 20});
    Tensor rows = Tensor::zeros(DType::I64, {37});
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < 37; ++i)
      indices.push_back((i * 7) % 13 - 4);
    rows.setIntegers(indices);
    Tensor out = Tensor::zeros(dtype, {37});
    run(substitute(gather, {{"E", name}}), {table, rows, out});
    std::vector<double> values = table.toReals(), expected;
    for (int64_t i = 0; i < 37; ++i)
      expected.push_back(values[std::clamp<int64_t>(indices[i], 0, 4) * 20 +
                                std::min<int64_t>(i, 19)]);
    expectNear(out.toReals(), expected, 0);
  }
}

TEST_F(MemoryTest, GatherFromNothingReadsNothing) {
  Tensor table = Tensor::borrow(nullptr, DType::F32, {0, 20}, {20, 1}, nullptr);
  Tensor rows = Tensor::zeros(DType::I64, {37});
  Tensor out = random(DType::F32, {37});
  run(substitute(gather, {{"E", "f32"}}), {table, rows, out});
  expectNear(out.toReals(), std::vector<double>(37, 0.0), 0);
}

} // namespace
