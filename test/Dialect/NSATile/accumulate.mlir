// Sums in memory: of f32 in turns, of integers in any order.
// RUN: nsacc-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: nsatile.program @sums
// CHECK: nsatile.accumulate %{{.*}}, %{{.*}} turn %{{.*}} of %{{.*}}[%{{.*}}] : memref<?xi32> : tensor<4x8xf32>
// CHECK: nsatile.accumulate %{{.*}}, %{{.*}} : tensor<8xi64>
nsatile.program @sums(%a: tensor<4x8xf32>, %m: tensor<8xi64>, %sums: memref<?x8xf32>, %exact: memref<?xi64>, %turns: memref<?xi32>, %i: index, %n: index) {
  %to = nsatile.at %sums[%i, %i] dims [0, 1] limits [%n, %n] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
  nsatile.accumulate %a, %to turn %n of %turns[%i] : memref<?xi32> : tensor<4x8xf32>
  %to_1 = nsatile.at %exact[%i] dims [0] limits [%n] : memref<?xi64> -> !nsatile.place<8xi64>
  nsatile.accumulate %m, %to_1 : tensor<8xi64>
  nsatile.return
}
