// A softmax over all tiles becomes one that carries maximum, sum and accumulator.
// RUN: nsacc-opt %s --nsatile-online-softmax --split-input-file | FileCheck %s

// CHECK-LABEL: nsatile.program @attend
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK-DAG: %[[NO_SUM:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
// CHECK: %[[R:.*]]:3 = nsatile.fold over %{{.*}} to %{{.*}} full %{{.*}} to %{{.*}} state(%[[NONE]], %[[NO_SUM]], %[[ZEROS]] :
// CHECK-NEXT: ^bb0(%[[TILE:.*]]: index, %[[PARTIAL:.*]]: i1, %[[M:.*]]: tensor<64xf32>, %[[L:.*]]: tensor<64xf32>, %[[O:.*]]: tensor<64x64xf32>):
// CHECK: %[[S:.*]] = nsatile.dot
// CHECK: %[[M1:.*]], %[[L1:.*]], %[[P:.*]], %[[DECAY:.*]] = nsatile.softmax_update %[[M]], %[[L]], %[[S]] scale %{{.*}}
// CHECK: %[[D2:.*]] = nsatile.broadcast %[[DECAY]] along [1]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[O]], %[[D2]]
// Values are loaded when the softmax is done.
// CHECK: %[[V:.*]] = nsatile.load
// CHECK: %[[P16:.*]] = arith.truncf %[[P]]
// CHECK: %[[SEEN:.*]] = arith.cmpf une, %[[S]], %{{.*}}
// CHECK: %[[O1:.*]] = nsatile.dot %[[P16]], %[[V]] acc %[[SCALED]] where %[[SEEN]]
// CHECK: nsatile.yield %[[M1]], %[[L1]], %[[O1]]
// CHECK: nsatile.softmax_finalize %[[R]]#0, %[[R]]#1, %[[R]]#2
nsatile.program @attend(%q: tensor<64x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %a: index, %b: index, %c: index, %d: index, %n: index, %scale: f32, %out: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %r:3 = nsatile.softmax_fold over %a to %d full %b to %c : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32> {
  ^bb0(%tile: index, %partial: i1):
    %kt_at = nsatile.at %k[%tile, %c0] dims [0, 1] limits [%n, %n] : memref<?x64xbf16> -> !nsatile.place<32x64xbf16>
    %kt = nsatile.load %kt_at : tensor<32x64xbf16>
    %s = nsatile.dot %q, transpose %kt : (tensor<64x64xbf16>, tensor<32x64xbf16>) -> tensor<64x32xf32>
    %vt_at = nsatile.at %v[%tile, %c0] dims [0, 1] limits [%n, %n] : memref<?x64xbf16> -> !nsatile.place<32x64xbf16>
    %vt = nsatile.load %vt_at : tensor<32x64xbf16>
    nsatile.yield_scores %s scale %scale values %vt : tensor<64x32xf32>, tensor<32x64xbf16>
  }
  %o, %lse = nsatile.softmax_finalize %r#0, %r#1, %r#2 : tensor<64xf32>, tensor<64x64xf32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %o, %to : tensor<64x64xf32>
  nsatile.return
}

// -----

// Without values there is no accumulator; a state goes on from where it was.

// CHECK-LABEL: nsatile.program @lse
// CHECK: nsatile.fold at %{{.*}} state(%m, %l : tensor<4xf32>, tensor<4xf32>)
// CHECK: nsatile.softmax_update
// CHECK-NOT: nsatile.dot
// CHECK: nsatile.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
nsatile.program @lse(%m: tensor<4xf32>, %l: tensor<4xf32>, %s: tensor<4x8xf32>, %a: index, %scale: f32) {
  %r:2 = nsatile.softmax_fold at %a from(%m, %l) : tensor<4xf32>, tensor<4xf32> {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield_scores %s scale %scale : tensor<4x8xf32>
  }
  nsatile.return
}
