// Sums in memory: of f32 in turns, of integers in any order.
// RUN: nsacc-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: nsatile.program @sums
// CHECK: nsatile.accumulate %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] limits[%{{.*}}, %{{.*}}] turn %{{.*}} of %{{.*}}[%{{.*}}] : memref<?xi32> : tensor<4x8xf32>, memref<?x8xf32>
// CHECK: nsatile.accumulate %{{.*}}, %{{.*}}[%{{.*}}] dims [0] limits[%{{.*}}] : tensor<8xi64>, memref<?xi64>
nsatile.program @sums(%a: tensor<4x8xf32>, %m: tensor<8xi64>, %sums: memref<?x8xf32>, %exact: memref<?xi64>, %turns: memref<?xi32>, %i: index, %n: index) {
  nsatile.accumulate %a, %sums[%i, %i] dims [0, 1] limits [%n, %n] turn %n of %turns[%i] : memref<?xi32> : tensor<4x8xf32>, memref<?x8xf32>
  nsatile.accumulate %m, %exact[%i] dims [0] limits [%n] : tensor<8xi64>, memref<?xi64>
  nsatile.return
}
