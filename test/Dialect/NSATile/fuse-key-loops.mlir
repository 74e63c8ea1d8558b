// Loops over full and partial tiles become one, with a branch for what only partial tiles do.
// RUN: nsacc-opt %s --nsatile-fuse-key-loops --split-input-file | FileCheck %s

// A window: partial, full, partial.
// CHECK-LABEL: nsatile.program @window
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[X:[a-z0-9]+]]: memref
nsatile.program @window(%n: index, %x: memref<?x64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  // CHECK-DAG: %[[HI:.*]] = arith.maxsi %[[N]], %c0
  %hi = arith.maxsi %n, %c0 : index
  // CHECK-DAG: %[[A:.*]] = arith.minsi %c4, %[[HI]]
  %a = arith.minsi %c4, %hi : index
  %b0 = arith.addi %n, %c4 : index
  %b1 = arith.minsi %b0, %hi : index
  // CHECK-DAG: %[[B:.*]] = arith.maxsi %{{.*}}, %[[A]]
  %b = arith.maxsi %b1, %a : index
  // CHECK: %[[SUM:.*]] = scf.for %[[J:.*]] = %c0 to %[[HI]] step %c1 iter_args(%[[ACC:.*]] = %{{.*}})
  // CHECK: %[[BEFORE:.*]] = arith.cmpi slt, %[[J]], %[[A]]
  // CHECK: %[[BEHIND:.*]] = arith.cmpi sge, %[[J]], %[[B]]
  // CHECK: %[[PARTIAL:.*]] = arith.ori %[[BEFORE]], %[[BEHIND]]
  // CHECK: %[[ROW:.*]] = nsatile.load %[[X]]
  // CHECK: %[[TERM:.*]] = scf.if %[[PARTIAL]]
  // CHECK:   %[[COLUMNS:.*]] = nsatile.iota
  // CHECK:   %[[SEEN:.*]] = arith.select %{{.*}}, %[[ROW]], %{{.*}}
  // CHECK:   scf.yield %[[SEEN]]
  // CHECK: } else {
  // CHECK:   scf.yield %[[ROW]]
  // CHECK: %[[NEXT:.*]] = arith.addf %[[ACC]], %[[TERM]]
  // CHECK: scf.yield %[[NEXT]]
  // CHECK-NOT: scf.for
  // CHECK: nsatile.store %[[SUM]]
  %s0 = scf.for %j = %c0 to %a step %c1 iter_args(%acc = %zero) -> tensor<64xf32> {
    %row = nsatile.load %x[%j, %c0] dims [1] limits [%c64] : memref<?x64xf32> -> tensor<64xf32>
    %i = nsatile.iota %j : tensor<64xindex>
    %last = tensor.splat %n : tensor<64xindex>
    %seen = arith.cmpi sle, %i, %last : tensor<64xindex>
    %masked = arith.select %seen, %row, %zero : tensor<64xi1>, tensor<64xf32>
    %sum = arith.addf %acc, %masked : tensor<64xf32>
    scf.yield %sum : tensor<64xf32>
  }
  %s1 = scf.for %j = %a to %b step %c1 iter_args(%acc = %s0) -> tensor<64xf32> {
    %row = nsatile.load %x[%j, %c0] dims [1] limits [%c64] : memref<?x64xf32> -> tensor<64xf32>
    %sum = arith.addf %acc, %row : tensor<64xf32>
    scf.yield %sum : tensor<64xf32>
  }
  %s2 = scf.for %j = %b to %hi step %c1 iter_args(%acc = %s1) -> tensor<64xf32> {
    %row = nsatile.load %x[%j, %c0] dims [1] limits [%c64] : memref<?x64xf32> -> tensor<64xf32>
    %i = nsatile.iota %j : tensor<64xindex>
    %last = tensor.splat %n : tensor<64xindex>
    %seen = arith.cmpi sle, %i, %last : tensor<64xindex>
    %masked = arith.select %seen, %row, %zero : tensor<64xi1>, tensor<64xf32>
    %sum = arith.addf %acc, %masked : tensor<64xf32>
    scf.yield %sum : tensor<64xf32>
  }
  nsatile.store %s2, %y[%c0] dims [0] limits [%c64] : tensor<64xf32>, memref<64xf32>
  nsatile.return
}

// -----

// Bounds that may be out of order: tiles between them would be looked at in another way.
// CHECK-LABEL: nsatile.program @unordered
// CHECK-COUNT-2: scf.for
nsatile.program @unordered(%n: index, %m: index, %y: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %s0 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> f32 {
    %sum = arith.addf %acc, %one : f32
    scf.yield %sum : f32
  }
  %s1 = scf.for %j = %n to %m step %c1 iter_args(%acc = %s0) -> f32 {
    %two = arith.addf %one, %one : f32
    %sum = arith.addf %acc, %two : f32
    scf.yield %sum : f32
  }
  memref.store %s1, %y[%c0] : memref<1xf32>
  nsatile.return
}

// -----

// Bodies that differ by more than an addition.
// CHECK-LABEL: nsatile.program @different
// CHECK-COUNT-2: scf.for
nsatile.program @different(%n: index, %y: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %hi = arith.maxsi %n, %c4 : index
  %s0 = scf.for %j = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> f32 {
    %sum = arith.addf %acc, %one : f32
    scf.yield %sum : f32
  }
  %s1 = scf.for %j = %c4 to %hi step %c1 iter_args(%acc = %s0) -> f32 {
    %two = arith.addf %one, %one : f32
    %sum = arith.mulf %acc, %two : f32
    scf.yield %sum : f32
  }
  memref.store %s1, %y[%c0] : memref<1xf32>
  nsatile.return
}

// -----

// What is added writes: it may not become a branch behind code that came after it.
// CHECK-LABEL: nsatile.program @writes
// CHECK-COUNT-2: scf.for
nsatile.program @writes(%n: index, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %hi = arith.maxsi %n, %c4 : index
  %s0 = scf.for %j = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> f32 {
    %sum = arith.addf %acc, %one : f32
    scf.yield %sum : f32
  }
  %s1 = scf.for %j = %c4 to %hi step %c1 iter_args(%acc = %s0) -> f32 {
    memref.store %acc, %y[%j] : memref<?xf32>
    %sum = arith.addf %acc, %one : f32
    scf.yield %sum : f32
  }
  memref.store %s1, %y[%c0] : memref<?xf32>
  nsatile.return
}
