//===- SoftmaxTest.cpp - Reductions and the streaming softmax -------------===//

#include "TileTest.h"
#include <cmath>
#include <limits>

using namespace nsacc;
using namespace nsacc::cpu;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class SoftmaxTest : public TileTest {
protected:
  static constexpr const char *update = R"(
    !rows = memref<$Rxf32>
    !matrix = memref<$Rx$Cxf32>
    nsatile.program @update(%max: !rows, %sum: !rows, %scores: !matrix, %probs: !matrix, %decay: !rows, %lse: !rows, %out: !matrix) {
      %0 = arith.constant 0 : index
      %r = arith.constant $R : index
      %c = arith.constant $C : index
      %scale = arith.constant 0.5 : f32
      %m_at = nsatile.at %max[%0] dims [0] limits [%r] : !rows -> !nsatile.place<$Rxf32>
      %m = nsatile.load %m_at : tensor<$Rxf32>
      %l_at = nsatile.at %sum[%0] dims [0] limits [%r] : !rows -> !nsatile.place<$Rxf32>
      %l = nsatile.load %l_at : tensor<$Rxf32>
      %s_at = nsatile.at %scores[%0, %0] dims [0, 1] limits [%r, %c] : !matrix -> !nsatile.place<$Rx$Cxf32>
      %s = nsatile.load %s_at : tensor<$Rx$Cxf32>
      %m1, %l1, %p, %d = nsatile.softmax_update %m, %l, %s scale %scale : tensor<$Rxf32>, tensor<$Rx$Cxf32>
      %o, %e = nsatile.softmax_finalize %m1, %l1, %p : tensor<$Rxf32>, tensor<$Rx$Cxf32>
      %to = nsatile.at %probs[%0, %0] dims [0, 1] limits [%r, %c] : !matrix -> !nsatile.place<$Rx$Cxf32>
      nsatile.store %p, %to : tensor<$Rx$Cxf32>
      %to_1 = nsatile.at %out[%0, %0] dims [0, 1] limits [%r, %c] : !matrix -> !nsatile.place<$Rx$Cxf32>
      nsatile.store %o, %to_1 : tensor<$Rx$Cxf32>
      %to_2 = nsatile.at %decay[%0] dims [0] limits [%r] : !rows -> !nsatile.place<$Rxf32>
      nsatile.store %d, %to_2 : tensor<$Rxf32>
      %to_3 = nsatile.at %lse[%0] dims [0] limits [%r] : !rows -> !nsatile.place<$Rxf32>
      nsatile.store %e, %to_3 : tensor<$Rxf32>
      %to_4 = nsatile.at %max[%0] dims [0] limits [%r] : !rows -> !nsatile.place<$Rxf32>
      nsatile.store %m1, %to_4 : tensor<$Rxf32>
      %to_5 = nsatile.at %sum[%0] dims [0] limits [%r] : !rows -> !nsatile.place<$Rxf32>
      nsatile.store %l1, %to_5 : tensor<$Rxf32>
      nsatile.return
    }
    nsatile.plan @plan(%max: !rows, %sum: !rows, %scores: !matrix, %probs: !matrix, %decay: !rows, %lse: !rows, %out: !matrix) {
      %1 = arith.constant 1 : index
      nsatile.launch @update grid(%1, %1, %1) (%max, %sum, %scores, %probs, %decay, %lse, %out) : !rows, !rows, !matrix, !matrix, !rows, !rows, !matrix
      nsatile.return
    })";

  void check(int64_t rows, int64_t columns, std::vector<double> maxima,
             std::vector<double> sums, std::vector<double> scores) {
    Tensor max = fromReals(DType::F32, {rows}, maxima);
    Tensor sum = fromReals(DType::F32, {rows}, sums);
    Tensor score = fromReals(DType::F32, {rows, columns}, scores);
    Tensor probs = Tensor::zeros(DType::F32, {rows, columns});
    Tensor out = Tensor::zeros(DType::F32, {rows, columns});
    Tensor decay = Tensor::zeros(DType::F32, {rows});
    Tensor lse = Tensor::zeros(DType::F32, {rows});
    run(substitute(update, {{"R", std::to_string(rows)},
                            {"C", std::to_string(columns)}}),
        {max, sum, score, probs, decay, lse, out});

    std::vector<double> p(rows * columns), o(p), d(rows), e(rows), l(rows);
    for (int64_t i = 0; i < rows; ++i) {
      double m = maxima[i];
      for (int64_t j = 0; j < columns; ++j)
        m = std::fmax(m, 0.5 * scores[i * columns + j]);
      // For infinities: exp(inf - 0), since inf - inf would be NaN.
      double base = std::isinf(m) ? 0 : m;
      d[i] = maxima[i] == m ? 1 : std::exp(maxima[i] - m);
      l[i] = sums[i] * d[i];
      for (int64_t j = 0; j < columns; ++j)
        l[i] += p[i * columns + j] =
            std::exp(0.5 * scores[i * columns + j] - base);
      for (int64_t j = 0; j < columns; ++j)
        o[i * columns + j] = l[i] == 0 ? 0 : p[i * columns + j] / l[i];
      e[i] = l[i] == 0 ? -kInfinity : m + std::log(l[i]);
    }
    SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) +
                 " columns");
    expectNear(probs.toReals(), p, 1e-6);
    expectNear(decay.toReals(), d, 1e-6);
    expectNear(sum.toReals(), l, 1e-5 * columns);
    expectNear(out.toReals(), o, 1e-6);
    expectNear(lse.toReals(), e, 1e-5);
  }
};

TEST_F(SoftmaxTest, Sizes) {
  for (int64_t columns : {1, 8, 17, 64, 128, 300, 1000})
    for (int64_t rows : {1, 5, 20}) {
      std::vector<double> scores =
          random(DType::F32, {rows, columns}).toReals();
      for (double &score : scores)
        score *= 20;
      check(rows, columns, random(DType::F32, {rows}, 1).toReals(),
            std::vector<double>(rows, 1.5), scores);
      if (HasFailure())
        return;
    }
}

TEST_F(SoftmaxTest, RowsThatSawNothing) {
  for (int64_t columns : {3, 40, 500}) {
    std::vector<double> scores(2 * columns, -kInfinity);
    scores[columns + 1] = 1.0;
    check(2, columns, {-kInfinity, -kInfinity}, {0, 0}, scores);
  }
}

TEST_F(SoftmaxTest, NonFiniteScores) {
  for (int64_t columns : {3, 40, 500}) {
    std::vector<double> scores(4 * columns, -kInfinity);
    scores[1] = kNaN;       // the only key that the row sees
    scores[columns] = kNaN; // first of two
    scores[columns + 1] = 1.0;
    scores[3 * columns - 1] = kNaN; // last of two
    scores[2 * columns] = 2.0;
    scores[4 * columns - 1] = kInfinity;
    check(4, columns, std::vector<double>(4, -kInfinity),
          std::vector<double>(4, 0.0), scores);
  }
}

constexpr const char *reduce = R"(
  nsatile.program @reduce(%x: memref<$S>, %y: memref<$T>) {
    %0 = arith.constant 0 : index
    %many = arith.constant 1000 : index
    %t_at = nsatile.at %x[%0, %0, %0] dims [0, 1, 2] limits [%many, %many, %many] : memref<$S> -> !nsatile.place<$S>
    %t = nsatile.load %t_at : tensor<$S>
    %r = nsatile.reduce $K %t along $D : tensor<$S> -> tensor<$T>
    %to = nsatile.at %y[%0, %0] dims [0, 1] limits [%many, %many] : memref<$T> -> !nsatile.place<$T>
    nsatile.store %r, %to : tensor<$T>
    nsatile.return
  }
  nsatile.plan @plan(%x: memref<$S>, %y: memref<$T>) {
    %1 = arith.constant 1 : index
    nsatile.launch @reduce grid(%1, %1, %1) (%x, %y) : memref<$S>, memref<$T>
    nsatile.return
  })";

TEST_F(SoftmaxTest, ReduceAlongEachDimension) {
  llvm::SmallVector<int64_t> shape = {3, 5, 37};
  std::vector<double> values = random(DType::F32, shape).toReals();
  values[4] = kNaN;
  values[200] = -kInfinity;
  for (bool isMax : {false, true})
    for (int64_t dim : {0, 1, 2}) {
      llvm::SmallVector<int64_t> kept(shape);
      kept.erase(kept.begin() + dim);
      Tensor x = fromReals(DType::F32, shape, values);
      Tensor y = Tensor::zeros(DType::F32, kept);
      run(substitute(reduce, {{"S", typeOf(shape, "f32")},
                              {"T", typeOf(kept, "f32")},
                              {"K", isMax ? "max" : "sum"},
                              {"D", std::to_string(dim)}}),
          {x, y});
      std::vector<double> expected(kept[0] * kept[1], isMax ? -kInfinity : 0.0);
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 5; ++j)
          for (int64_t k = 0; k < 37; ++k) {
            int64_t at = dim == 0   ? j * 37 + k
                         : dim == 1 ? i * 37 + k
                                    : i * 5 + j;
            double value = values[(i * 5 + j) * 37 + k];
            if (!isMax)
              expected[at] += value;
            else if (!(expected[at] > value) && !std::isnan(expected[at]))
              expected[at] = value;
          }
      SCOPED_TRACE("dimension " + std::to_string(dim));
      expectNear(y.toReals(), expected, 1e-4);
    }
}

} // namespace
