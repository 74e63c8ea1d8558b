// What isn't stored isn't computed: rows behind the end of a tensor.
// RUN: nsacc-opt %s --convert-nsatile-to-vector --canonicalize --cse --split-input-file | FileCheck %s

// Four rows for each of the tokens before the limit, in blocks of registers.
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %{{.*}}: memref<?x4x8xf32>, %{{.*}}: memref<8x64xf32>, %{{.*}}: memref<?x4x64xf32>, %[[N:[a-z0-9]+]]: index, %[[P:[a-z0-9]+]]: index
// CHECK: %[[TOKENS:.*]] = arith.subi %[[N]], %[[P]]
// CHECK: %[[ROWS:.*]] = arith.muli %[[TOKENS]], %c4
// CHECK: %[[LIVE:.*]] = arith.maxsi %[[ROWS]], %c0
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[LIVE]], %c4
// CHECK: %[[UP:.*]] = arith.muli %[[BLOCKS]], %c4
// CHECK: %[[END:.*]] = arith.minui %[[UP]], %c64
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c4
// CHECK: vector.fma
nsatile.program @product(%x: memref<?x4x8xf32>, %y: memref<8x64xf32>, %z: memref<?x4x64xf32>, %n: index) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  %64 = arith.constant 64 : index
  %p = nsatile.program_id 0
  %q_at = nsatile.at %x[%p, %0, %0] dims [0, 1, 2] limits [%n, %4, %8] : memref<?x4x8xf32> -> !nsatile.place<16x4x8xf32>
  %q = nsatile.load %q_at : tensor<16x4x8xf32>
  %rows = tensor.collapse_shape %q [[0, 1], [2]] : tensor<16x4x8xf32> into tensor<64x8xf32>
  %k_at = nsatile.at %y[%0, %0] dims [0, 1] limits [%8, %64] : memref<8x64xf32> -> !nsatile.place<8x64xf32>
  %k = nsatile.load %k_at : tensor<8x64xf32>
  %s = nsatile.dot %rows, %k : (tensor<64x8xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
  %out = tensor.expand_shape %s [[0, 1], [2]] output_shape [16, 4, 64] : tensor<64x64xf32> into tensor<16x4x64xf32>
  %to = nsatile.at %z[%p, %0, %0] dims [0, 1, 2] limits [%n, %4, %64] : memref<?x4x64xf32> -> !nsatile.place<16x4x64xf32>
  nsatile.store %out, %to : tensor<16x4x64xf32>
  nsatile.return
}

// -----

// A sum over rows is of all of them.
// CHECK-LABEL: func.func @sum_of_rows(
// CHECK-NOT: arith.ceildivui
// CHECK: return
nsatile.program @sum_of_rows(%x: memref<?x8xf32>, %y: memref<8x64xf32>, %z: memref<64xf32>, %n: index) {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  %64 = arith.constant 64 : index
  %p = nsatile.program_id 0
  %q_at = nsatile.at %x[%p, %0] dims [0, 1] limits [%n, %8] : memref<?x8xf32> -> !nsatile.place<16x8xf32>
  %q = nsatile.load %q_at : tensor<16x8xf32>
  %k_at = nsatile.at %y[%0, %0] dims [0, 1] limits [%8, %64] : memref<8x64xf32> -> !nsatile.place<8x64xf32>
  %k = nsatile.load %k_at : tensor<8x64xf32>
  %s = nsatile.dot %q, %k : (tensor<16x8xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %sum = nsatile.reduce sum %s along 0 : tensor<16x64xf32> -> tensor<64xf32>
  %to = nsatile.at %z[%0] dims [0] limits [%64] : memref<64xf32> -> !nsatile.place<64xf32>
  nsatile.store %sum, %to : tensor<64xf32>
  nsatile.return
}

// -----

// Two stores with different ends need the rows of both.
// CHECK-LABEL: func.func @two_ends(
// CHECK-NOT: arith.ceildivui
// CHECK: return
nsatile.program @two_ends(%x: memref<?x8xf32>, %y: memref<8x64xf32>, %z: memref<?x64xf32>, %n: index, %m: index) {
  %0 = arith.constant 0 : index
  %8 = arith.constant 8 : index
  %64 = arith.constant 64 : index
  %p = nsatile.program_id 0
  %q_at = nsatile.at %x[%p, %0] dims [0, 1] limits [%n, %8] : memref<?x8xf32> -> !nsatile.place<16x8xf32>
  %q = nsatile.load %q_at : tensor<16x8xf32>
  %k_at = nsatile.at %y[%0, %0] dims [0, 1] limits [%8, %64] : memref<8x64xf32> -> !nsatile.place<8x64xf32>
  %k = nsatile.load %k_at : tensor<8x64xf32>
  %s = nsatile.dot %q, %k : (tensor<16x8xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %to = nsatile.at %z[%p, %0] dims [0, 1] limits [%n, %64] : memref<?x64xf32> -> !nsatile.place<16x64xf32>
  nsatile.store %s, %to : tensor<16x64xf32>
  %to_1 = nsatile.at %z[%p, %0] dims [0, 1] limits [%m, %64] : memref<?x64xf32> -> !nsatile.place<16x64xf32>
  nsatile.store %s, %to_1 : tensor<16x64xf32>
  nsatile.return
}

// -----

// No row of a divisor may be any bits: a processor ends a program that divides
// by 0. What is computed of both is of the rows that are stored.
// CHECK-LABEL: func.func @divisor(
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1 {
// CHECK: arith.maxsi %{{.*}} : vector<16xi32>
// CHECK: %[[END:.*]] = arith.minui
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c1 {
// CHECK: arith.remsi %{{.*}} : vector<16xi32>
nsatile.program @divisor(%x: memref<?x16xi32>, %z: memref<?x16xi32>, %w: memref<?x16xi32>, %n: index) {
  %0 = arith.constant 0 : index
  %16 = arith.constant 16 : index
  %ones = arith.constant dense<1> : tensor<8x16xi32>
  %p = nsatile.program_id 0
  %t_at = nsatile.at %x[%p, %0] dims [0, 1] limits [%n, %16] : memref<?x16xi32> -> !nsatile.place<8x16xi32>
  %t = nsatile.load %t_at : tensor<8x16xi32>
  %d = arith.maxsi %t, %ones : tensor<8x16xi32>
  %to = nsatile.at %w[%p, %0] dims [0, 1] limits [%n, %16] : memref<?x16xi32> -> !nsatile.place<8x16xi32>
  nsatile.store %d, %to : tensor<8x16xi32>
  %r = arith.remsi %t, %d : tensor<8x16xi32>
  %to_1 = nsatile.at %z[%p, %0] dims [0, 1] limits [%n, %16] : memref<?x16xi32> -> !nsatile.place<8x16xi32>
  nsatile.store %r, %to_1 : tensor<8x16xi32>
  %to_2 = nsatile.at %w[%p, %0] dims [0, 1] limits [%n, %16] : memref<?x16xi32> -> !nsatile.place<8x16xi32>
  nsatile.store %r, %to_2 : tensor<8x16xi32>
  nsatile.return
}

// -----

// A part of a larger tile has what is left of it behind its own first row.
// CHECK-LABEL: func.func @parts(
// CHECK: %[[START:.*]] = arith.muli %{{.*}}, %c16
// CHECK: arith.subi %{{.*}}, %[[START]]
// CHECK: vector.fma
nsatile.program @parts(%x: memref<?x8xf32>, %y: memref<8x64xf32>, %z: memref<?x64xf32>, %n: index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  %16 = arith.constant 16 : index
  %64 = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = nsatile.program_id 0
  %q_at = nsatile.at %x[%p, %0] dims [0, 1] limits [%n, %8] : memref<?x8xf32> -> !nsatile.place<64x8xf32>
  %q = nsatile.load %q_at : tensor<64x8xf32>
  %k_at = nsatile.at %y[%0, %0] dims [0, 1] limits [%8, %64] : memref<8x64xf32> -> !nsatile.place<8x64xf32>
  %k = nsatile.load %k_at : tensor<8x64xf32>
  %all = scf.for %i = %0 to %4 step %1 iter_args(%acc = %zeros) -> (tensor<64x64xf32>) {
    %start = arith.muli %i, %16 : index
    %part = tensor.extract_slice %q[%start, 0] [16, 8] [1, 1] : tensor<64x8xf32> to tensor<16x8xf32>
    %s = nsatile.dot %part, %k : (tensor<16x8xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
    %with = tensor.insert_slice %s into %acc[%start, 0] [16, 64] [1, 1] : tensor<16x64xf32> into tensor<64x64xf32>
    scf.yield %with : tensor<64x64xf32>
  }
  %to = nsatile.at %z[%p, %0] dims [0, 1] limits [%n, %64] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %all, %to : tensor<64x64xf32>
  nsatile.return
}
