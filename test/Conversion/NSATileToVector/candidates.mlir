// Lists of candidates, and how many are in each, stand in a program's frame.
// RUN: nsacc-opt %s --convert-nsatile-to-vector | FileCheck %s

!lists = !nsatile.candidates<rows = 4, keep = 8, room = 32>

// CHECK-LABEL: func.func @choose(
// CHECK-DAG: %[[KEYS:.*]] = memref.alloca() {{.*}} : memref<4x32xi64>
// CHECK-DAG: %[[FLOORS:.*]] = memref.alloca() {{.*}} : memref<4xi64>
// CHECK-DAG: %[[COUNTS:.*]] = memref.alloca() {{.*}} : memref<4xindex>
// CHECK-DAG: %[[DIGITS:.*]] = memref.alloca() {{.*}} : memref<256xindex>
nsatile.program @choose(%x: memref<?x?xi64>, %n: index) {
  %c0 = arith.constant 0 : index
  %keys_at = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x?xi64> -> !nsatile.place<4x20xi64>
  %keys = nsatile.load %keys_at : tensor<4x20xi64>
  %numbers = arith.constant dense<7> : tensor<4xi64>
  // CHECK: scf.for
  // CHECK: memref.store %{{.*}}, %[[COUNTS]]
  // CHECK: memref.store %c1_i64{{.*}}, %[[FLOORS]]
  %lists = nsatile.candidates from 1 : !lists

  // A list without room for 20 more is cut: keys are counted by a digit, the
  // highest one first.
  // CHECK: arith.cmpi sgt, %{{.*}}, %c12
  // CHECK: scf.if
  // CHECK: scf.while
  // CHECK: arith.shrui
  // CHECK: arith.cmpi ult, %{{.*}}, %c256_i64
  // CHECK: memref.store %{{.*}}, %[[DIGITS]]
  // Then, whole vectors without a key that gets in take one comparison.
  // CHECK: arith.cmpi sge, %{{.*}} : vector<16xi64>
  // CHECK: vector.reduction <or>
  // CHECK: scf.if
  // CHECK: vector.compressstore %[[KEYS]]
  // CHECK: arith.cmpi sge, %{{.*}} : vector<4xi64>
  nsatile.offer %keys to %lists : tensor<4x20xi64>, !lists

  // Keys that count for themselves are counted first.
  // CHECK: arith.minsi %c8_i64
  // CHECK: arith.cmpi sge, %{{.*}}, %c100_i64
  // CHECK: scf.while
  nsatile.choose %numbers of %lists beside 100 : tensor<4xi64>, !lists

  // CHECK: %[[PLACE:.*]] = arith.addi %arg1,
  // CHECK: arith.cmpi slt, %[[PLACE]],
  // CHECK: scf.yield %c-1_i64
  %chosen = nsatile.chosen %lists[%n] : !lists -> tensor<4x16xi64>
  %to = nsatile.at %x[%c0, %c0] dims [0, 1] limits [%n, %n] : memref<?x?xi64> -> !nsatile.place<4x16xi64>
  nsatile.store %chosen, %to : tensor<4x16xi64>
  nsatile.return
}
