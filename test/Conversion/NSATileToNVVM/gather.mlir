// Elements of a table: indices are clamped to it, and one branch for all of a thread's asks whether it has any.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm | FileCheck %s

#s = #nsatile.mma<warps = 4>

// CHECK-LABEL: llvm.func @buckets
// CHECK: %[[SOME:.*]] = arith.cmpi sgt
// CHECK: %{{.*}}:16 = scf.if %[[SOME]]
// CHECK-COUNT-16: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load
// CHECK: } else {
nsatile.program @buckets(%table: memref<?xf32>, %out: memref<64x32xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %j = nsatile.iota %c0 : tensor<32xindex, #nsatile.slice<dim = 0, of = #s>>
  %i = nsatile.iota %c0 : tensor<64xindex, #nsatile.slice<dim = 1, of = #s>>
  %js = nsatile.broadcast %j along [0] : tensor<32xindex, #nsatile.slice<dim = 0, of = #s>> -> tensor<64x32xindex, #s>
  %is = nsatile.broadcast %i along [1] : tensor<64xindex, #nsatile.slice<dim = 1, of = #s>> -> tensor<64x32xindex, #s>
  %n = arith.subi %is, %js : tensor<64x32xindex, #s>
  %t = nsatile.gather %table[%n] : memref<?xf32>, tensor<64x32xindex, #s> -> tensor<64x32xf32, #s>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xf32> -> !nsatile.place<64x32xf32>
  nsatile.store %t, %to : tensor<64x32xf32, #s>
  nsatile.return
}

// Half of the threads have a second element of 48: that of the others is zero.
// CHECK-LABEL: llvm.func @padded
// CHECK: scf.if
// CHECK: llvm.load {{.*}} -> f32
// CHECK: } else {
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
nsatile.program @padded(%table: memref<?xf32>, %out: memref<48xf32>) {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %j = nsatile.iota %c0 : tensor<48xindex, #nsatile.blocked<threads = 32>>
  %t = nsatile.gather %table[%j] : memref<?xf32>, tensor<48xindex, #nsatile.blocked<threads = 32>> -> tensor<48xf32, #nsatile.blocked<threads = 32>>
  %to = nsatile.at %out[%c0] dims [0] limits [%c48] : memref<48xf32> -> !nsatile.place<48xf32>
  nsatile.store %t, %to : tensor<48xf32, #nsatile.blocked<threads = 32>>
  nsatile.return
}
