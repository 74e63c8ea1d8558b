// Lists of candidates in their assembly: printed as it was read, also through bytecode.
// RUN: nsacc-opt %s --verify-roundtrip | FileCheck %s

!lists = !nsatile.candidates<rows = 4, keep = 2048, room = 4096>

// CHECK-LABEL: nsatile.program @choose
nsatile.program @choose(%x: memref<?x?xi64>, %n: index) {
  %c0 = arith.constant 0 : index
  %keys_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x?xi64> -> !nsatile.place<4x64xi64>
  %keys = nsatile.load %keys_at : tensor<4x64xi64>
  %numbers = arith.constant dense<7> : tensor<4xi64>
  // CHECK: %[[LISTS:.*]] = nsatile.candidates from 1 : <rows = 4, keep = 2048, room = 4096>
  %lists = nsatile.candidates from 1 : !lists
  // CHECK: nsatile.offer %{{.*}} to %[[LISTS]] : tensor<4x64xi64>, <rows = 4, keep = 2048, room = 4096>
  nsatile.offer %keys to %lists : tensor<4x64xi64>, !lists
  // CHECK: nsatile.choose %{{.*}} of %[[LISTS]] : tensor<4xi64>,
  nsatile.choose %numbers of %lists : tensor<4xi64>, !lists
  // CHECK: nsatile.choose %{{.*}} of %[[LISTS]] beside 100 : tensor<4xi64>,
  nsatile.choose %numbers of %lists beside 100 : tensor<4xi64>, !lists
  // CHECK: nsatile.chosen %[[LISTS]][%{{.*}}] : <rows = 4, keep = 2048, room = 4096> -> tensor<4x16xi64>
  %chosen = nsatile.chosen %lists[%n] : !lists -> tensor<4x16xi64>
  %to = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x?xi64> -> !nsatile.place<4x16xi64>
  nsatile.store %chosen, %to : tensor<4x16xi64>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @scheduled
// CHECK-SAME: schedule = #nsatile.schedule<tokens = 4, keys = 64, method = threshold>
nsatile.program @scheduled() attributes {schedule = #nsatile.schedule<tokens = 4, keys = 64, method = threshold>} {
  nsatile.return
}
