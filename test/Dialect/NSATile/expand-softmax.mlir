// A merge of streaming softmaxes and weights become arithmetic on their tiles; updates stay, and so does what may be
// approximate, if asked for.
// RUN: nsacc-opt %s --nsatile-expand-softmax | FileCheck %s
// RUN: nsacc-opt %s --nsatile-expand-softmax=keep-approximate | FileCheck %s --check-prefix=KEEP

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

// CHECK-LABEL: nsatile.program @weights
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<4x8xf32>, %[[LSE:[a-z0-9]+]]: tensor<4x8xf32>, %[[REST:[a-z0-9]+]]: tensor<4x8xf32>, %[[C:[a-z0-9]+]]: f32
// KEEP-LABEL: nsatile.program @weights
nsatile.program @weights(%s: tensor<4x8xf32>, %lse: tensor<4x8xf32>, %rest: tensor<4x8xf32>, %c: f32, %out: memref<4x8xf32>) {
  // CHECK: %[[SCALE:.*]] = tensor.splat %[[C]]
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[S]], %[[SCALE]]
  // CHECK: %[[DISTANCE:.*]] = arith.subf %[[SCALED]], %[[LSE]]
  // CHECK: %[[MINUS:.*]] = arith.constant dense<-1.44269502>
  // CHECK: %[[OFFSET:.*]] = arith.mulf %[[REST]], %[[MINUS]]
  // CHECK: %[[LOG2E:.*]] = arith.constant dense<1.44269502>
  // CHECK: %[[EXPONENT:.*]] = math.fma %[[DISTANCE]], %[[LOG2E]], %[[OFFSET]]
  // CHECK: math.exp2 %[[EXPONENT]]
  // KEEP: math.exp2
  %w = nsatile.softmax_weights %s, %lse, %rest scale %c : tensor<4x8xf32>
  // CHECK-NOT: nsatile.softmax_weights
  // KEEP: nsatile.softmax_weights %{{.*}} scale %{{.*}} approximate
  %a = nsatile.softmax_weights %w, %lse, %rest scale %c approximate : tensor<4x8xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c4, %c8] : memref<4x8xf32> -> !nsatile.place<4x8xf32>
  nsatile.store %a, %to : tensor<4x8xf32>
  nsatile.return
}
