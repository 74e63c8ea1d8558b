//===- FlashTest.cpp - Causal attention by a hand-written program ---------===//

#include "TileTest.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::cpu;

namespace {

/// Group size 3, keys in tiles of 32, masked per element; rows are tokens
/// times heads.
constexpr const char *module = R"(
  !buffer = memref<?x?x?x40x$E, strided<[?, ?, ?, 1], offset: ?>>
  !result = memref<?x?x?x40xf32, strided<[?, ?, ?, 1], offset: ?>>
  !q = tensor<8x3x40x$E>
  !rows = tensor<24xf32>
  !out = tensor<24x40xf32>
  !s = tensor<24x32xf32>
  nsatile.program @flash(%q: !buffer, %k: !buffer, %v: !buffer, %o: !result, %T: index, %S: index, %HQ: index) {
    %0 = arith.constant 0 : index
    %3 = arith.constant 3 : index
    %8 = arith.constant 8 : index
    %32 = arith.constant 32 : index
    %40 = arith.constant 40 : index
    %none = arith.constant dense<0xFF800000> : !s
    %m0 = arith.constant dense<0xFF800000> : !rows
    %l0 = arith.constant dense<0.0> : !rows
    %a0 = arith.constant dense<0.0> : !out
    %scale = arith.constant 0.25 : f32
    %x = nsatile.program_id 0
    %h = nsatile.program_id 1
    %b = nsatile.program_id 2
    %t0 = arith.muli %x, %8 : index
    %h0 = arith.muli %h, %3 : index
    %q3_at = nsatile.at %q[%b, %t0, %h0, %0] dims [1, 2, 3] limits [%T, %HQ, %40] : !buffer -> !nsatile.place<8x3x40x$E>
    %q3 = nsatile.load %q3_at : !q
    %qt = tensor.collapse_shape %q3 [[0, 1], [2]] : !q into tensor<24x40x$E>
    %shift = arith.subi %S, %T : index
    %i0 = arith.addi %t0, %shift : index
    %i8 = nsatile.iota %i0 : tensor<8xindex>
    %i83 = nsatile.broadcast %i8 along [1] : tensor<8xindex> -> tensor<8x3xindex>
    %i = tensor.collapse_shape %i83 [[0, 1]] : tensor<8x3xindex> into tensor<24xindex>
    %end = arith.addi %i0, %8 : index
    %last = arith.minsi %end, %S : index
    %m, %l, %a = scf.for %j0 = %0 to %last step %32 iter_args(%m1 = %m0, %l1 = %l0, %a1 = %a0) -> (!rows, !rows, !out) {
      %kt_at = nsatile.at %k[%b, %j0, %h, %0] dims [1, 3] limits [%S, %40] : !buffer -> !nsatile.place<32x40x$E>
      %kt = nsatile.load %kt_at : tensor<32x40x$E>
      %vt_at = nsatile.at %v[%b, %j0, %h, %0] dims [1, 3] limits [%S, %40] : !buffer -> !nsatile.place<32x40x$E>
      %vt = nsatile.load %vt_at : tensor<32x40x$E>
      %s = nsatile.dot %qt, transpose %kt : (tensor<24x40x$E>, tensor<32x40x$E>) -> !s
      %j = nsatile.iota %j0 : tensor<32xindex>
      %ib = nsatile.broadcast %i along [1] : tensor<24xindex> -> tensor<24x32xindex>
      %jb = nsatile.broadcast %j along [0] : tensor<32xindex> -> tensor<24x32xindex>
      %sb = tensor.splat %S : tensor<24x32xindex>
      %c = arith.cmpi sle, %jb, %ib : tensor<24x32xindex>
      %d = arith.cmpi slt, %jb, %sb : tensor<24x32xindex>
      %seen = arith.andi %c, %d : tensor<24x32xi1>
      %s1 = arith.select %seen, %s, %none : tensor<24x32xi1>, !s
      %m2, %l2, %p, %decay = nsatile.softmax_update %m1, %l1, %s1 scale %scale : !rows, !s
      $ROUND
      %db = nsatile.broadcast %decay along [1] : !rows -> !out
      %a2 = arith.mulf %a1, %db : !out
      %a3 = nsatile.dot $P, %vt acc %a2 : (tensor<24x32x$E>, tensor<32x40x$E>, !out) -> !out
      scf.yield %m2, %l2, %a3 : !rows, !rows, !out
    }
    %r, %lse = nsatile.softmax_finalize %m, %l, %a : !rows, !out
    %r3 = tensor.expand_shape %r [[0, 1], [2]] output_shape [8, 3, 40] : !out into tensor<8x3x40xf32>
    %to = nsatile.at %o[%b, %t0, %h0, %0] dims [1, 2, 3] limits [%T, %HQ, %40] : !result -> !nsatile.place<8x3x40xf32>
    nsatile.store %r3, %to : tensor<8x3x40xf32>
    nsatile.return
  }
  nsatile.plan @plan(%q: !buffer, %k: !buffer, %v: !buffer, %o: !result) {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %8 = arith.constant 8 : index
    %B = memref.dim %q, %0 : !buffer
    %T = memref.dim %q, %1 : !buffer
    %HQ = memref.dim %q, %2 : !buffer
    %S = memref.dim %k, %1 : !buffer
    %H = memref.dim %k, %2 : !buffer
    %x = arith.ceildivsi %T, %8 : index
    nsatile.launch @flash grid(%x, %H, %B) (%q, %k, %v, %o, %T, %S, %HQ) : !buffer, !buffer, !buffer, !result, index, index, index
    nsatile.return
  })";

class FlashTest : public TileTest {
protected:
  static std::string getModule(DType dtype) {
    bool isF32 = dtype == DType::F32;
    std::string element = getName(dtype).str();
    return substitute(
        module,
        {{"E", element},
         {"P", isF32 ? "%p" : "%rounded"},
         {"ROUND", isF32 ? ""
                         : "%rounded = arith.truncf %p : !s to tensor<24x32x" +
                               element + ">"}});
  }

  static std::vector<double> attend(const Tensor &q, const Tensor &k,
                                    const Tensor &v) {
    int64_t batch = q.getShape()[0], t = q.getShape()[1], hq = q.getShape()[2];
    int64_t s = k.getShape()[1], heads = k.getShape()[2], d = 40;
    std::vector<double> qv = q.toReals(), kv = k.toReals(), vv = v.toReals();
    std::vector<double> out(batch * t * hq * d);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t row = 0; row < t * hq; ++row) {
        int64_t i = row / hq + s - t, h = row % hq / 3;
        const double *query = &qv[(b * t * hq + row) * d];
        double *result = &out[(b * t * hq + row) * d], sum = 0;
        for (int64_t j = 0; j <= i && j < s; ++j) {
          const double *key = &kv[((b * s + j) * heads + h) * d];
          double score = 0;
          for (int64_t c = 0; c < d; ++c)
            score += query[c] * key[c];
          double weight = std::exp(0.25 * score);
          sum += weight;
          for (int64_t c = 0; c < d; ++c)
            result[c] += weight * vv[((b * s + j) * heads + h) * d + c];
        }
        for (int64_t c = 0; c < d; ++c)
          result[c] = sum == 0 ? 0 : result[c] / sum;
      }
    return out;
  }

  void check(const Executable &executable, int64_t t, int64_t s, DType dtype,
             double tolerance) {
    Tensor q = random(dtype, {2, t, 6, 40}, 1);
    Tensor k = random(dtype, {2, s, 2, 40}, 2),
           v = random(dtype, {2, s, 2, 40}, 3);
    Tensor o = Tensor::zeros(DType::F32, {2, t, 6, 40});
    SCOPED_TRACE("T " + std::to_string(t) + ", S " + std::to_string(s));
    llvm::Error error = executable.run({q, k, v, o});
    ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    expectNear(o.toReals(), attend(q, k, v), tolerance);
  }
};

TEST_F(FlashTest, OddLengths) {
  for (const std::string &features : getVectorFeatures()) {
    Options options;
    options.features = features;
    auto executable = compileText(getModule(DType::F32), options);
    ASSERT_TRUE(executable);
    for (auto [t, s] :
         {std::pair(1, 1), std::pair(7, 7), std::pair(8, 32), std::pair(33, 33),
          std::pair(100, 127), std::pair(1, 65), std::pair(40, 20),
          std::pair(0, 5), std::pair(5, 0)})
      check(*executable, t, s, DType::F32, 2e-5);
  }
}

TEST_F(FlashTest, StorageTypes) {
  for (DType dtype : {DType::BF16, DType::F16}) {
    auto executable = compileText(getModule(dtype));
    ASSERT_TRUE(executable);
    check(*executable, 70, 70, dtype, 1e-2);
  }
}

TEST_F(FlashTest, SameBitsOnAnyNumberOfThreads) {
  Tensor q = random(DType::F32, {2, 120, 6, 40}, 1);
  Tensor k = random(DType::F32, {2, 120, 2, 40}, 2);
  std::vector<double> first;
  for (unsigned threads : {1, 2, 5}) {
    auto executable = compileText(getModule(DType::F32));
    ASSERT_TRUE(executable);
    Tensor o = Tensor::zeros(DType::F32, {2, 120, 6, 40});
    ASSERT_FALSE(executable->run({q, k, k, o}, {.threads = threads}));
    if (first.empty())
      first = o.toReals();
    EXPECT_EQ(first, o.toReals());
  }
}

/// q, k and v as parts of one packed tensor, off by one element.
TEST_F(FlashTest, PackedMisalignedInputs) {
  int64_t t = 21, rowSize = 10 * 40;
  Tensor all = random(DType::F32, {2 * t * rowSize + 1});
  auto part = [&](int64_t head, int64_t heads) {
    return Tensor::borrow(static_cast<float *>(all.getData()) + 1 + head * 40,
                          DType::F32, {2, t, heads, 40},
                          {t * rowSize, rowSize, 40, 1}, nullptr);
  };
  Tensor q = part(0, 6), k = part(6, 2), v = part(8, 2);
  Tensor o = Tensor::zeros(DType::F32, {2, t, 6, 40});
  run(getModule(DType::F32), {q, k, v, o});
  expectNear(o.toReals(), attend(q, k, v), 2e-5);
}

} // namespace
