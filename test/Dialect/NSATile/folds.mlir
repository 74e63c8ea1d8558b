// What the folds of the nsatile dialect know.
// RUN: nsacc-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: nsatile.program @splats
nsatile.program @splats(%o: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %rows = arith.constant dense<2.0> : tensor<4xf32>
  // CHECK-DAG: %[[ALL:.*]] = arith.constant dense<2.000000e+00> : tensor<4x8xf32>
  // CHECK-DAG: %[[EACH:.*]] = arith.constant dense<2.000000e+00> : tensor<8xf32>
  %all = nsatile.broadcast %rows along [1] : tensor<4xf32> -> tensor<4x8xf32>
  // CHECK: nsatile.store %[[ALL]]
  %to = nsatile.at %o[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x?xf32> -> !nsatile.place<4x8xf32>
  nsatile.store %all, %to : tensor<4x8xf32>
  %max = nsatile.reduce max %all along 0 : tensor<4x8xf32> -> tensor<8xf32>
  // CHECK: nsatile.store %[[EACH]]
  %to_1 = nsatile.at %o[%c0, %c0] dims [1] limits [%n] : memref<?x?xf32> -> !nsatile.place<8xf32>
  nsatile.store %max, %to_1 : tensor<8xf32>
  // CHECK: %[[SUM:.*]] = nsatile.reduce {{ ?}}sum %[[ALL]]
  %sum = nsatile.reduce sum %all along 0 : tensor<4x8xf32> -> tensor<8xf32>
  // CHECK: nsatile.store %[[SUM]]
  %to_2 = nsatile.at %o[%c0, %c0] dims [1] limits [%n] : memref<?x?xf32> -> !nsatile.place<8xf32>
  nsatile.store %sum, %to_2 : tensor<8xf32>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @sorts
nsatile.program @sorts(%i: memref<?x?xi64>, %o: memref<?x?xi64>, %n: index) {
  %c0 = arith.constant 0 : index
  %t_at = nsatile.at %i[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x?xi64> -> !nsatile.place<4x8xi64>
  %t = nsatile.load %t_at : tensor<4x8xi64>
  // CHECK: %[[UP:.*]] = nsatile.sort {{ ?}}ascending
  %up = nsatile.sort ascending %t : tensor<4x8xi64>
  %again = nsatile.sort ascending %up : tensor<4x8xi64>
  // CHECK-NEXT: nsatile.at
  // CHECK-NEXT: nsatile.store %[[UP]]
  %to = nsatile.at %o[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x?xi64> -> !nsatile.place<4x8xi64>
  nsatile.store %again, %to : tensor<4x8xi64>
  // CHECK: %[[DOWN:.*]] = nsatile.sort {{ ?}}descending %[[UP]]
  %down = nsatile.sort descending %again : tensor<4x8xi64>
  // CHECK-NEXT: nsatile.at
  // CHECK-NEXT: nsatile.store %[[DOWN]]
  %to_1 = nsatile.at %o[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x?xi64> -> !nsatile.place<4x8xi64>
  nsatile.store %down, %to_1 : tensor<4x8xi64>
  nsatile.return
}

// CHECK-LABEL: nsatile.plan @plan
nsatile.plan @plan(%i: memref<?x?xi64>, %o: memref<?x?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK-NOT: grid(%c0
  nsatile.launch @sorts grid(%c0, %c1, %c1) (%i, %o, %c1) : memref<?x?xi64>, memref<?x?xi64>, index
  // CHECK: nsatile.launch @sorts grid(%c1, %c1, %c1)
  nsatile.launch @sorts grid(%c1, %c1, %c1) (%i, %o, %c1) : memref<?x?xi64>, memref<?x?xi64>, index
  nsatile.return
}

// CHECK-LABEL: nsatile.plan @repeats
nsatile.plan @repeats(%i: memref<?x?xi64>, %o: memref<?x?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %i, %c0 : memref<?x?xi64>
  // Once: there is no loop.
  // CHECK-NOT: nsatile.repeat
  // CHECK: nsatile.launch @sorts grid(%c1, %c1, %c1) (%{{.*}}, %{{.*}}, %c0)
  nsatile.repeat %t below %c1 {
    nsatile.launch @sorts grid(%c1, %c1, %c1) (%i, %o, %t) : memref<?x?xi64>, memref<?x?xi64>, index
  }
  // Never, or nothing.
  nsatile.repeat %t below %c0 {
    nsatile.launch @sorts grid(%c1, %c1, %c1) (%i, %o, %t) : memref<?x?xi64>, memref<?x?xi64>, index
  }
  nsatile.repeat %t below %n {
    nsatile.launch @sorts grid(%c1, %c0, %c1) (%i, %o, %t) : memref<?x?xi64>, memref<?x?xi64>, index
  }
  // CHECK: nsatile.repeat %[[T:.*]] below %{{.*}} {
  // CHECK-NEXT: nsatile.launch @sorts grid(%[[T]], %c1, %c1)
  // CHECK-NEXT: }
  // CHECK-NEXT: nsatile.return
  nsatile.repeat %t below %n {
    nsatile.launch @sorts grid(%t, %c1, %c1) (%i, %o, %t) : memref<?x?xi64>, memref<?x?xi64>, index
  }
  nsatile.return
}
