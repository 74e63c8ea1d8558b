// A merge of streaming softmaxes becomes arithmetic on its rows; updates stay.
// RUN: nsacc-opt %s --nsatile-expand-softmax | FileCheck %s

// CHECK-LABEL: nsatile.program @merge
nsatile.program @merge(%m0: tensor<4xf32>, %l0: tensor<4xf32>, %m1: tensor<4xf32>, %l1: tensor<4xf32>,
                       %s: tensor<4x8xf32>, %c: f32) {
  // CHECK-NOT: nsatile.softmax_merge
  // CHECK: %[[MAX:.*]] = arith.maxnumf %{{.*}}, %{{.*}} : tensor<4xf32>
  // CHECK: %[[MIN:.*]] = arith.minnumf %{{.*}}, %{{.*}} : tensor<4xf32>
  // CHECK: %[[DISTANCE:.*]] = arith.subf %[[MIN]], %[[MAX]]
  // CHECK: %[[EXP:.*]] = math.exp %[[DISTANCE]]
  // CHECK: %[[SAME:.*]] = arith.cmpf oeq, %{{.*}}, %[[MAX]]
  // CHECK: %[[LEFT:.*]] = arith.select %[[SAME]], %{{.*}}, %[[EXP]]
  // CHECK: %[[OTHER:.*]] = arith.cmpf oeq, %{{.*}}, %[[MAX]]
  // CHECK: %[[RIGHT:.*]] = arith.select %[[OTHER]], %{{.*}}, %[[EXP]]
  // CHECK: arith.mulf %{{.*}}, %[[LEFT]]
  // CHECK: arith.mulf %{{.*}}, %[[RIGHT]]
  // CHECK: %[[SUM:.*]] = arith.addf
  %m, %l, %r0, %r1 = nsatile.softmax_merge %m0, %l0, %m1, %l1 : tensor<4xf32>
  // CHECK: nsatile.softmax_update %[[MAX]], %[[SUM]]
  %m2, %l2, %p, %decay = nsatile.softmax_update %m, %l, %s scale %c : tensor<4xf32>, tensor<4x8xf32>
  nsatile.return
}
