//===- ControlTest.cpp - Loops, branches and shared memory of tiles -------===//

#include "TileTest.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::cpu;

namespace {

/// Runs a body over tiles %x, %y : tensor<4x20xf32> that yields %r of that
/// type.
class ControlTest : public TileTest {
protected:
  using Function = std::function<double(int64_t, int64_t)>;

  void check(const std::string &body, const Function &expected) {
    std::string text = substitute(R"(
      !m = memref<4x20xf32>
      !t = tensor<4x20xf32>
      nsatile.program @body(%in: !m, %other: !m, %n: index) {
        %0 = arith.constant 0 : index
        %1 = arith.constant 1 : index
        %4 = arith.constant 4 : index
        %20 = arith.constant 20 : index
        %true = arith.cmpi sgt, %n, %0 : index
        %x_at = nsatile.at %in[%0, %0] dims [0, 1] limits [%4, %20] : !m -> !nsatile.place<4x20xf32>
        %x = nsatile.load %x_at : !t
        %y_at = nsatile.at %other[%0, %0] dims [0, 1] limits [%4, %20] : !m -> !nsatile.place<4x20xf32>
        %y = nsatile.load %y_at : !t
        $BODY
        %to = nsatile.at %in[%0, %0] dims [0, 1] limits [%4, %20] : !m -> !nsatile.place<4x20xf32>
        nsatile.store %r, %to : !t
        nsatile.return
      }
      nsatile.plan @plan(%a: !m, %b: !m) {
        %1 = arith.constant 1 : index
        %3 = arith.constant 3 : index
        nsatile.launch @body grid(%1, %1, %1) (%a, %b, %3) : !m, !m, index
        nsatile.return
      })",
                                  {{"BODY", body}});
    Tensor a = random(DType::F32, {4, 20}, 1),
           b = random(DType::F32, {4, 20}, 2);
    x = a.toReals();
    y = b.toReals();
    run(text, {a, b});
    std::vector<double> values;
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 20; ++j)
        values.push_back(expected(i, j));
    expectNear(a.toReals(), values, 1e-4);
  }
  double at(const std::vector<double> &v, int64_t i, int64_t j) const {
    return v[i * 20 + j];
  }

  std::vector<double> x, y;
};

TEST_F(ControlTest, LoopUpdatesInPlace) {
  check(R"(%r = scf.for %i = %0 to %n step %1 iter_args(%v = %x) -> (!t) {
             %w = arith.addf %v, %y : !t
             scf.yield %w : !t
           })",
        [&](auto i, auto j) { return at(x, i, j) + 3 * at(y, i, j); });
}

TEST_F(ControlTest, LoopThatNeverRuns) {
  check(R"(%r = scf.for %i = %n to %n step %1 iter_args(%v = %x) -> (!t) {
             %w = arith.addf %v, %y : !t
             scf.yield %w : !t
           })",
        [&](auto i, auto j) { return at(x, i, j); });
}

TEST_F(ControlTest, LoopSwapsItsTiles) {
  check(
      R"(%r, %s = scf.for %i = %0 to %n step %1 iter_args(%v = %x, %w = %y) -> (!t, !t) {
             scf.yield %w, %v : !t, !t
           })",
      [&](auto i, auto j) { return at(y, i, j); });
}

TEST_F(ControlTest, LoopReadsTheOldTileAfterTheNewOne) {
  // %v is read after %w is computed: %w must not overwrite it.
  check(R"(%r = scf.for %i = %0 to %n step %1 iter_args(%v = %x) -> (!t) {
             %w = arith.addf %v, %y : !t
             %s = nsatile.reduce max %w along 1 : !t -> tensor<4xf32>
             %b = nsatile.broadcast %s along [1] : tensor<4xf32> -> !t
             %u = arith.mulf %v, %b : !t
             %z = arith.subf %w, %u : !t
             %h = nsatile.reduce sum %u along 1 : !t -> tensor<4xf32>
             %g = nsatile.broadcast %h along [1] : tensor<4xf32> -> !t
             %f = arith.addf %z, %g : !t
             %q = arith.constant dense<0.01> : !t
             %e = arith.mulf %f, %q : !t
             scf.yield %e : !t
           })",
        [&](auto i, auto j) {
          std::vector<double> v(x.begin() + i * 20, x.begin() + i * 20 + 20);
          for (int step = 0; step < 3; ++step) {
            std::vector<double> w(20), e(20);
            double most = -1e30, sum = 0;
            for (int k = 0; k < 20; ++k)
              most = std::max(most, w[k] = v[k] + at(y, i, k));
            for (int k = 0; k < 20; ++k)
              sum += v[k] * most;
            for (int k = 0; k < 20; ++k)
              e[k] = 0.01 * (w[k] - v[k] * most + sum);
            v = e;
          }
          return v[j];
        });
}

TEST_F(ControlTest, AccumulatorOfADotInALoop) {
  check(R"(%i20 = nsatile.iota %0 : tensor<20xindex>
           %ci = nsatile.broadcast %i20 along [0] : tensor<20xindex> -> tensor<20x20xindex>
           %ri = nsatile.broadcast %i20 along [1] : tensor<20xindex> -> tensor<20x20xindex>
           %eq = arith.cmpi eq, %ci, %ri : tensor<20x20xindex>
           %ones = arith.constant dense<1.0> : tensor<20x20xf32>
           %zeros = arith.constant dense<0.0> : tensor<20x20xf32>
           %id = arith.select %eq, %ones, %zeros : tensor<20x20xi1>, tensor<20x20xf32>
           %half = arith.constant dense<0.5> : !t
           %r = scf.for %i = %0 to %n step %1 iter_args(%v = %x) -> (!t) {
             %s = arith.mulf %v, %half : !t
             %w = nsatile.dot %y, %id acc %s : (!t, tensor<20x20xf32>, !t) -> !t
             scf.yield %w : !t
           })",
        [&](auto i, auto j) { return at(x, i, j) / 8 + at(y, i, j) * 1.75; });
}

TEST_F(ControlTest, DotOfTheLoopsOwnTile) {
  // The loop's tile is operand and accumulator: it must not be overwritten.
  check(R"(%r = scf.for %i = %0 to %n step %1 iter_args(%v = %x) -> (!t) {
             %g = nsatile.dot %v, transpose %y : (!t, !t) -> tensor<4x4xf32>
             %q = arith.constant dense<0.125> : tensor<4x4xf32>
             %h = arith.mulf %g, %q : tensor<4x4xf32>
             %w = nsatile.dot %h, %v acc %v : (tensor<4x4xf32>, !t, !t) -> !t
             scf.yield %w : !t
           })",
        [&](auto i, auto j) {
          std::vector<double> v = x;
          for (int step = 0; step < 3; ++step) {
            std::vector<double> w = v;
            for (int a = 0; a < 4; ++a)
              for (int b = 0; b < 4; ++b) {
                double g = 0;
                for (int k = 0; k < 20; ++k)
                  g += v[a * 20 + k] * at(y, b, k);
                for (int k = 0; k < 20; ++k)
                  w[a * 20 + k] += g * 0.125 * v[b * 20 + k];
              }
            // Rounds like the program, so that errors don't accumulate.
            for (double &value : w)
              value = static_cast<float>(value);
            v = w;
          }
          return at(v, i, j);
        });
}

TEST_F(ControlTest, BranchChangesInPlaceOrNot) {
  for (const char *condition : {"sgt", "slt"})
    check(substitute(R"(
             %s = arith.addf %x, %y : !t
             %c = arith.cmpi $P, %n, %0 : index
             %r = scf.if %c -> !t {
               %w = arith.mulf %s, %s : !t
               scf.yield %w : !t
             } else {
               scf.yield %s : !t
             })",
                     {{"P", condition}}),
          [&](auto i, auto j) {
            double s = at(x, i, j) + at(y, i, j);
            return condition == std::string("sgt") ? s * s : s;
          });
}

TEST_F(ControlTest, BranchesContentIsReadAgain) {
  check(R"(%s = arith.addf %x, %y : !t
           %c = scf.if %true -> !t {
             %w = arith.mulf %s, %s : !t
             scf.yield %w : !t
           } else {
             scf.yield %s : !t
           }
           %r = arith.subf %c, %s : !t)",
        [&](auto i, auto j) {
          double s = at(x, i, j) + at(y, i, j);
          return s * s - s;
        });
}

TEST_F(ControlTest, ScalarsAndTilesTogether) {
  check(R"(%f = arith.constant 1.0 : f32
           %r, %k = scf.for %i = %0 to %n step %1 iter_args(%v = %x, %u = %f) -> (!t, f32) {
             %b = tensor.splat %u : !t
             %w = arith.mulf %v, %b : !t
             %u2 = arith.addf %u, %u : f32
             %two = scf.if %true -> f32 { scf.yield %u2 : f32 } else { scf.yield %u : f32 }
             scf.yield %w, %two : !t, f32
           })",
        [&](auto i, auto j) { return at(x, i, j) * 8; });
}

TEST_F(ControlTest, ReshapesAndElements) {
  check(
      R"(%s = arith.addf %x, %y : !t
           %c = tensor.collapse_shape %s [[0, 1]] : !t into tensor<80xf32>
           %e = tensor.expand_shape %c [[0, 1]] output_shape [4, 20] : tensor<80xf32> into !t
           %v = tensor.extract %y[%1, %4] : !t
           %b = tensor.splat %v : !t
           %r = arith.addf %e, %b : !t)",
      [&](auto i, auto j) { return at(x, i, j) + at(y, i, j) + at(y, 1, 4); });
}

TEST_F(ControlTest, SlicesOfATileThatChanges) {
  // The slice is read after %w is computed: %w must not overwrite %v.
  check(R"(%r = scf.for %i = %0 to %n step %1 iter_args(%v = %x) -> (!t) {
             %p = tensor.extract_slice %v[%i, 4] [1, 16] [1, 1] : !t to tensor<1x16xf32>
             %w = arith.addf %v, %y : !t
             %s = nsatile.reduce sum %p along 1 : tensor<1x16xf32> -> tensor<1xf32>
             %e = tensor.extract %s[%0] : tensor<1xf32>
             %b = tensor.splat %e : !t
             %u = arith.addf %w, %b : !t
             scf.yield %u : !t
           })",
        [&](auto i, auto j) {
          std::vector<double> v = x;
          for (int step = 0; step < 3; ++step) {
            double sum = 0;
            for (int k = 4; k < 20; ++k)
              sum += at(v, step, k);
            for (int k = 0; k < 80; ++k)
              v[k] += y[k] + sum;
          }
          return at(v, i, j);
        });
}

TEST_F(ControlTest, SlicesPutIntoATile) {
  check(R"(%r = scf.for %i = %0 to %n step %1 iter_args(%v = %x) -> (!t) {
             %p = tensor.extract_slice %v[%i, 4] [1, 16] [1, 1] : !t to tensor<1x16xf32>
             %q = arith.addf %p, %p : tensor<1x16xf32>
             %w = tensor.insert_slice %q into %v[%i, 2] [1, 16] [1, 1] : tensor<1x16xf32> into !t
             scf.yield %w : !t
           })",
        [&](auto i, auto j) {
          return i < 3 && j >= 2 && j < 18 ? 2 * at(x, i, j + 2) : at(x, i, j);
        });
}

TEST_F(ControlTest, InsertLeavesItsTargetToOtherReaders) {
  check(R"(%s = arith.addf %x, %y : !t
           %p = tensor.extract_slice %y[1, 4] [2, 16] [1, 1] : !t to tensor<2x16xf32>
           %w = tensor.insert_slice %p into %s[%1, 0] [2, 16] [1, 1] : tensor<2x16xf32> into !t
           %r = arith.subf %w, %s : !t)",
        [&](auto i, auto j) {
          double s = at(x, i, j) + at(y, i, j);
          return i >= 1 && i < 3 && j < 16 ? at(y, i, j + 4) - s : 0;
        });
}

TEST_F(ControlTest, NestedLoopsPassOnMemory) {
  check(R"(%s = arith.addf %x, %y : !t
           %r = scf.for %i = %0 to %n step %1 iter_args(%v = %s) -> (!t) {
             %o = scf.for %k = %0 to %4 step %1 iter_args(%u = %v) -> (!t) {
               %w = arith.addf %u, %y : !t
               scf.yield %w : !t
             }
             scf.yield %o : !t
           })",
        [&](auto i, auto j) { return at(x, i, j) + 13 * at(y, i, j); });
}

TEST_F(ControlTest, MasksInMemory) {
  check(R"(%m = arith.cmpf ogt, %x, %y : !t
           %s = arith.select %m, %x, %y : tensor<4x20xi1>, !t
           %n1 = arith.select %m, %y, %x : tensor<4x20xi1>, !t
           %h = nsatile.reduce sum %s along 1 : !t -> tensor<4xf32>
           %k = nsatile.reduce sum %n1 along 1 : !t -> tensor<4xf32>
           %hb = nsatile.broadcast %h along [1] : tensor<4xf32> -> !t
           %kb = nsatile.broadcast %k along [1] : tensor<4xf32> -> !t
           %r = arith.subf %hb, %kb : !t)",
        [&](auto i, auto) {
          double sum = 0;
          for (int k = 0; k < 20; ++k)
            sum += std::abs(at(x, i, k) - at(y, i, k));
          return sum;
        });
}

/// A loop in a branch in a loop updates the outer one's memory.
TEST_F(ControlTest, NestedLoopUpdatesInPlace) {
  check(R"(%r = scf.for %i = %0 to %n step %1 iter_args(%v = %x) -> (!t) {
             %even = arith.remsi %i, %4 : index
             %c = arith.cmpi ne, %even, %1 : index
             %b = scf.if %c -> (!t) {
               %d = scf.if %true -> (!t) {
                 %l = scf.for %j = %0 to %n step %1 iter_args(%w = %v) -> (!t) {
                   %s = arith.addf %w, %y : !t
                   scf.yield %s : !t
                 }
                 scf.yield %l : !t
               } else {
                 scf.yield %y : !t
               }
               scf.yield %d : !t
             } else {
               scf.yield %v : !t
             }
             scf.yield %b : !t
           })",
        [&](int64_t i, int64_t j) { return at(x, i, j) + 6 * at(y, i, j); });
}

/// The old value is read after the inner loop, so that one can't update it in
/// place.
TEST_F(ControlTest, NestedLoopKeepsWhatIsReadLater) {
  check(R"(%r = scf.for %i = %0 to %n step %1 iter_args(%v = %x) -> (!t) {
             %b = scf.if %true -> (!t) {
               %l = scf.for %j = %0 to %n step %1 iter_args(%w = %v) -> (!t) {
                 %s = arith.addf %w, %y : !t
                 scf.yield %s : !t
               }
               %e = arith.subf %l, %v : !t
               scf.yield %e : !t
             } else {
               scf.yield %v : !t
             }
             scf.yield %b : !t
           })",
        [&](int64_t i, int64_t j) { return 3 * at(y, i, j); });
}

/// The old value is read inside of the inner loop, too.
TEST_F(ControlTest, NestedLoopKeepsWhatItReads) {
  check(R"(%r = scf.for %i = %0 to %n step %1 iter_args(%v = %x) -> (!t) {
             %l = scf.for %j = %0 to %n step %1 iter_args(%w = %v) -> (!t) {
               %s = arith.addf %w, %v : !t
               scf.yield %s : !t
             }
             scf.yield %l : !t
           })",
        [&](int64_t i, int64_t j) { return 64 * at(x, i, j); });
}

/// Each loop starts from the other one's memory.
TEST_F(ControlTest, NestedLoopsThatSwap) {
  check(
      R"(%p, %q = scf.for %i = %0 to %n step %1 iter_args(%v = %x, %w = %y) -> (!t, !t) {
             %a, %b = scf.for %j = %0 to %n step %1 iter_args(%f = %w, %g = %v) -> (!t, !t) {
               %s = arith.addf %f, %f : !t
               scf.yield %s, %g : !t, !t
             }
             scf.yield %a, %b : !t, !t
           }
           %r = arith.subf %p, %q : !t)",
      [&](int64_t i, int64_t j) {
        // (x, y) -> (8 y, x) three times.
        return 64 * at(y, i, j) - 8 * at(x, i, j);
      });
}

} // namespace
