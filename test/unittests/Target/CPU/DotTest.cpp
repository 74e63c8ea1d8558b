//===- DotTest.cpp - Products of tiles against loops ----------------------===//

#include "TileTest.h"

using namespace nsacc;
using namespace nsacc::cpu;

namespace {

struct DotCase {
  int64_t rows, inner, columns;
};

class DotTest : public TileTest {
protected:
  static constexpr const char *module = R"(
    nsatile.program @dot(%a: memref<$Ax$E>, %b: memref<$Bx$E>, %c: memref<$Cxf32>) {
      %z = arith.constant 0 : index
      %m = arith.constant $M : index
      %n = arith.constant $N : index
      %k = arith.constant $K : index
      %at_at = nsatile.at %a[%z, %z] dims [0, 1] limits [%m, %k] : memref<$Ax$E> -> !nsatile.place<$Ax$E>
      %at = nsatile.load %at_at : tensor<$Ax$E>
      %bt_at = nsatile.at %b[%z, %z] dims [0, 1] limits [$LIMITS] : memref<$Bx$E> -> !nsatile.place<$Bx$E>
      %bt = nsatile.load %bt_at : tensor<$Bx$E>
      %ct_at = nsatile.at %c[%z, %z] dims [0, 1] limits [%m, %n] : memref<$Cxf32> -> !nsatile.place<$Cxf32>
      %ct = nsatile.load %ct_at : tensor<$Cxf32>
      %two = arith.constant dense<2.0> : tensor<$Cxf32>
      %acc = arith.mulf %ct, %two : tensor<$Cxf32>
      %d = nsatile.dot %at, $TRANSPOSE %bt acc %acc : (tensor<$Ax$E>, tensor<$Bx$E>, tensor<$Cxf32>) -> tensor<$Cxf32>
      %to = nsatile.at %c[%z, %z] dims [0, 1] limits [%m, %n] : memref<$Cxf32> -> !nsatile.place<$Cxf32>
      nsatile.store %d, %to : tensor<$Cxf32>
      nsatile.return
    }
    nsatile.plan @plan(%a: memref<$Ax$E>, %b: memref<$Bx$E>, %c: memref<$Cxf32>) {
      %1 = arith.constant 1 : index
      nsatile.launch @dot grid(%1, %1, %1) (%a, %b, %c) : memref<$Ax$E>, memref<$Bx$E>, memref<$Cxf32>
      nsatile.return
    })";

  /// 2 · c + a · b, with b stored transposed or not.
  void check(DotCase shape, DType dtype, bool transposed,
             const std::string &features) {
    auto [m, k, n] = shape;
    SmallVector<int64_t> rhsShape = {transposed ? n : k, transposed ? k : n};
    Tensor a = random(dtype, {m, k}, 1), b = random(dtype, rhsShape, 2);
    Tensor c = random(DType::F32, {m, n}, 3);
    std::vector<double> av = a.toReals(), bv = b.toReals(), cv = c.toReals();
    std::vector<double> expected(m * n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 2 * cv[i * n + j];
        for (int64_t l = 0; l < k; ++l)
          sum += av[i * k + l] * bv[transposed ? j * k + l : l * n + j];
        expected[i * n + j] = sum;
      }
    auto dims = [](int64_t x, int64_t y) {
      return std::to_string(x) + "x" + std::to_string(y);
    };
    Options options;
    options.features = features;
    run(substitute(module, {{"A", dims(m, k)},
                            {"B", dims(rhsShape[0], rhsShape[1])},
                            {"C", dims(m, n)},
                            {"E", getName(dtype).str()},
                            {"M", std::to_string(m)},
                            {"N", std::to_string(n)},
                            {"K", std::to_string(k)},
                            {"LIMITS", transposed ? "%n, %k" : "%k, %n"},
                            {"TRANSPOSE", transposed ? "transpose" : ""}}),
        {a, b, c}, options);
    SCOPED_TRACE("rows " + std::to_string(m) + ", inner " + std::to_string(k) +
                 ", columns " + std::to_string(n) + ", " +
                 getName(dtype).str() + (transposed ? ", transposed" : "") +
                 " " + features);
    expectNear(c.toReals(), expected, 1e-5 * k);
  }

  template <typename T> using SmallVector = llvm::SmallVector<T>;
};

// Shapes with every combination of rows, vectors and remainders.
const DotCase shapes[] = {{1, 8, 1},   {1, 64, 64}, {3, 40, 24},  {4, 64, 64},
                          {5, 8, 48},  {7, 96, 17}, {16, 64, 80}, {33, 24, 40},
                          {48, 8, 96}, {2, 5, 3},   {12, 64, 512}};

TEST_F(DotTest, ShapesTimesTransposed) {
  for (const std::string &features : getVectorFeatures())
    for (DotCase shape : shapes)
      for (bool transposed : {false, true}) {
        check(shape, DType::F32, transposed, features);
        if (HasFailure())
          return;
      }
}

TEST_F(DotTest, StorageTypes) {
  for (DType dtype : {DType::BF16, DType::F16})
    for (bool transposed : {false, true})
      for (DotCase shape : {DotCase{16, 40, 48}, DotCase{5, 64, 17}})
        check(shape, dtype, transposed, "");
}

TEST_F(DotTest, NarrowVectors) {
  Options options;
  check({7, 16, 19}, DType::F32, true, "-avx,-avx2,-avx512f");
}

} // namespace
