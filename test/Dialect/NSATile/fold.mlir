// Folds in their assembly: printed as they were read, also through bytecode.
// RUN: nsacc-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: nsatile.program @folds
nsatile.program @folds(%list: memref<?x?x16xi32>, %members: memref<?x?x16x2xi32>, %row: memref<1x32xindex>, %k: memref<?x64xbf16>, %a: index, %b: index, %c: index, %d: index, %n: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %one = arith.constant 1.0 : f32
  // Full tiles in the middle, and a range without any.
  // CHECK: %[[R:.*]] = nsatile.fold over %[[A:.*]] to %[[D:.*]] full %[[B:.*]] to %[[C:.*]], %[[D]] to %{{.*}} state(%{{.*}} : tensor<64xf32>)
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %[[PARTIAL:.*]]: i1, %[[X:.*]]: tensor<64xf32>):
  // CHECK-NEXT: nsatile.yield %[[X]] : tensor<64xf32>
  %r = nsatile.fold over %a to %d full %b to %c, %d to %n state(%zero : tensor<64xf32>) {
  ^bb0(%tile: index, %partial: i1, %x: tensor<64xf32>):
    nsatile.yield %x : tensor<64xf32>
  }
  // CHECK: nsatile.fold in %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?x16xi32> count %{{.*}} parts 4 over %[[A]] to %[[D]] state
  %s = nsatile.fold in %list[%c0, %c0] : memref<?x?x16xi32> count %n parts 4 over %a to %d state(%r : tensor<64xf32>) {
  ^bb0(%tile: index, %partial: i1, %x: tensor<64xf32>):
    nsatile.yield %x : tensor<64xf32>
  }
  // CHECK: nsatile.fold in %{{.*}}[%{{.*}}] : memref<1x32xindex> state
  %t = nsatile.fold in %row[%c0] : memref<1x32xindex> state(%s : tensor<64xf32>) {
  ^bb0(%tile: index, %partial: i1, %x: tensor<64xf32>):
    nsatile.yield %x : tensor<64xf32>
  }
  // CHECK: nsatile.fold in %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?x16xi32> count %{{.*}} from %{{.*}} with %{{.*}} : memref<?x?x16x2xi32> state
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: i1, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: tensor<64xf32>)
  %u = nsatile.fold in %list[%c0, %c0] : memref<?x?x16xi32> count %n from %n with %members : memref<?x?x16x2xi32> state(%t : tensor<64xf32>) {
  ^bb0(%tile: index, %partial: i1, %low: i32, %high: i32, %x: tensor<64xf32>):
    nsatile.yield %x : tensor<64xf32>
  }
  // CHECK: nsatile.fold at %[[A]]
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: nsatile.yield{{$}}
  nsatile.fold at %a {
  ^bb0(%tile: index, %partial: i1):
    nsatile.yield
  }
  // CHECK: %[[M:.*]]:3 = nsatile.softmax_fold over %{{.*}} to %{{.*}} : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: i1):
  // CHECK: nsatile.yield_scores %{{.*}} scale %{{.*}} values %{{.*}} : tensor<64x32xf32>, tensor<32x64xbf16>
  %m:3 = nsatile.softmax_fold over %a to %b : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32> {
  ^bb0(%tile: index, %partial: i1):
    %v_at = nsatile.at %k[%tile, %c0] dims [0, 1] limits [%n, %n] : memref<?x64xbf16> -> !nsatile.place<32x64xbf16>
    %v = nsatile.load %v_at : tensor<32x64xbf16>
    %scores = nsatile.broadcast %zero along [1] : tensor<64xf32> -> tensor<64x32xf32>
    nsatile.yield_scores %scores scale %one values %v : tensor<64x32xf32>, tensor<32x64xbf16>
  }
  // CHECK: nsatile.softmax_fold at %{{.*}} parts 2 from(%[[M]]#0, %[[M]]#1) : tensor<64xf32>, tensor<64xf32>
  // CHECK: nsatile.yield_scores %{{.*}} scale %{{.*}} : tensor<64x32xf32>
  %l:2 = nsatile.softmax_fold at %a parts 2 from(%m#0, %m#1) : tensor<64xf32>, tensor<64xf32> {
  ^bb0(%tile: index, %partial: i1):
    %scores = nsatile.broadcast %zero along [1] : tensor<64xf32> -> tensor<64x32xf32>
    nsatile.yield_scores %scores scale %one : tensor<64x32xf32>
  }
  nsatile.return
}
