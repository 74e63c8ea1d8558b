// What several loops give is combined as soon as it is there, and the loop that keeps most comes first.
// RUN: nsacc-opt %s --pass-pipeline='builtin.module(nsatile.program(nsatile-combine-early))' --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=sums | Remark="computed in front of a loop that would keep its operands"
// REMARK: [Missed] {{.*}}Function=shared | Remark="stays behind a loop: its result is larger than the operands that it frees"
// REMARK: [Passed] {{.*}}Function=heaviest | Remark="the loop that keeps most runs first"
// REMARK: [Missed] {{.*}}Function=written | Remark="the loop that keeps most doesn't run first: something is written in front of it that it may read"

// A sum whose parts nobody else needs stands in front of the next loop.
// CHECK-LABEL: nsatile.program @sums
// CHECK: %[[A:.*]] = scf.for
// CHECK: %[[GATE:.*]] = nsatile.broadcast
// CHECK-NEXT: %[[PART:.*]] = arith.mulf %[[A]], %[[GATE]]
// CHECK: %[[B:.*]] = scf.for
// CHECK: arith.addf %[[PART]], %[[B]]
// CHECK: scf.for
nsatile.program @sums(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %g: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<4x8xf32>) {
    %t_at = nsatile.at %x[%i, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
    %t = nsatile.load %t_at : tensor<4x8xf32>
    %next = arith.addf %s, %t : tensor<4x8xf32>
    scf.yield %next : tensor<4x8xf32>
  }
  %gates_at = nsatile.at %g[%c0] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<4xf32>
  %gates = nsatile.load %gates_at : tensor<4xf32>
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<4x8xf32>) {
    %t_at_1 = nsatile.at %x[%i, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
    %t = nsatile.load %t_at_1 : tensor<4x8xf32>
    %next = arith.subf %s, %t : tensor<4x8xf32>
    scf.yield %next : tensor<4x8xf32>
  }
  %c = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<4x8xf32>) {
    %t_at_2 = nsatile.at %x[%i, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
    %t = nsatile.load %t_at_2 : tensor<4x8xf32>
    %next = arith.mulf %s, %t : tensor<4x8xf32>
    scf.yield %next : tensor<4x8xf32>
  }
  %wide = nsatile.broadcast %gates along [1] : tensor<4xf32> -> tensor<4x8xf32>
  %part = arith.mulf %a, %wide : tensor<4x8xf32>
  %sum = arith.addf %part, %b : tensor<4x8xf32>
  %all = arith.addf %sum, %c : tensor<4x8xf32>
  %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
  nsatile.store %all, %to : tensor<4x8xf32>
  nsatile.return
}

// Moving a tile's only part that others need, too, would keep both.
// CHECK-LABEL: nsatile.program @shared
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.negf
nsatile.program @shared(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<4x8xf32>) {
    %t_at = nsatile.at %x[%i, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
    %t = nsatile.load %t_at : tensor<4x8xf32>
    scf.yield %t : tensor<4x8xf32>
  }
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> (tensor<4x8xf32>) {
    %t_at_1 = nsatile.at %x[%i, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
    %t = nsatile.load %t_at_1 : tensor<4x8xf32>
    scf.yield %t : tensor<4x8xf32>
  }
  %minus = arith.negf %a : tensor<4x8xf32>
  %all = arith.addf %minus, %b : tensor<4x8xf32>
  %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
  nsatile.store %all, %to : tensor<4x8xf32>
  nsatile.return
}

// A loop with a loop in it that carries tiles, too, goes in front, with what it is computed from.
// CHECK-LABEL: nsatile.program @heaviest
// CHECK: %[[END:.*]] = arith.muli
// CHECK: scf.for {{.*}} to %[[END]]
// CHECK:   scf.for
// CHECK: %[[SIMPLE:.*]] = scf.for
// CHECK-NOT: scf.for
// CHECK: nsatile.return
nsatile.program @heaviest(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<4x8xf32>) {
    %t_at = nsatile.at %x[%i, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
    %t = nsatile.load %t_at : tensor<4x8xf32>
    scf.yield %t : tensor<4x8xf32>
  }
  %end = arith.muli %n, %c8 : index
  %b = scf.for %i = %c0 to %end step %c1 iter_args(%s = %zero) -> (tensor<4x8xf32>) {
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%r = %s) -> (tensor<4x8xf32>) {
      %t_at_1 = nsatile.at %x[%j, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
      %t = nsatile.load %t_at_1 : tensor<4x8xf32>
      %next = arith.addf %r, %t : tensor<4x8xf32>
      scf.yield %next : tensor<4x8xf32>
    }
    scf.yield %inner : tensor<4x8xf32>
  }
  %all = arith.addf %a, %b : tensor<4x8xf32>
  %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
  nsatile.store %all, %to : tensor<4x8xf32>
  nsatile.return
}

// What is read may have been written in between.
// CHECK-LABEL: nsatile.program @written
// CHECK: scf.for
// CHECK: nsatile.store
// CHECK: scf.for
// CHECK:   scf.for
nsatile.program @written(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<4x8xf32>) {
    %t_at = nsatile.at %x[%i, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
    %t = nsatile.load %t_at : tensor<4x8xf32>
    scf.yield %t : tensor<4x8xf32>
  }
  %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
  nsatile.store %a, %to : tensor<4x8xf32>
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<4x8xf32>) {
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%r = %s) -> (tensor<4x8xf32>) {
      %t_at_1 = nsatile.at %y[%j, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
      %t = nsatile.load %t_at_1 : tensor<4x8xf32>
      %next = arith.addf %r, %t : tensor<4x8xf32>
      scf.yield %next : tensor<4x8xf32>
    }
    scf.yield %inner : tensor<4x8xf32>
  }
  %to_1 = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%n, %c8] : memref<?x8xf32> -> !nsatile.place<4x8xf32>
  nsatile.store %b, %to_1 : tensor<4x8xf32>
  nsatile.return
}
