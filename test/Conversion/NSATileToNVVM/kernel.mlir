// A program as a kernel: parameters, registers, and predicated accesses.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm | FileCheck %s

#layout = #nsatile.blocked<threads = 64, vector = 4>

// CHECK-LABEL: llvm.func @square
// CHECK-SAME: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-SAME: nsatile.kernel = #nsatile.kernel<threads = 64>
// CHECK-SAME: nvvm.kernel
nsatile.program @square(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  // CHECK: nvvm.read.ptx.sreg.ctaid.x
  %p = nsatile.program_id 0
  %c512 = arith.constant 512 : index
  // CHECK: arith.muli {{.*}} : i32
  %i = arith.muli %p, %c512 : index
  // Vectors where the whole tile is there and aligned, elements elsewhere.
  // CHECK: scf.if {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32)
  // CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: } else {
  // CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  %t_at = nsatile.at %x[%i] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<512xf32>
  %t = nsatile.load %t_at : tensor<512xf32, #layout>
  // CHECK-COUNT-8: arith.mulf {{.*}} : f32
  %u = arith.mulf %t, %t : tensor<512xf32, #layout>
  // CHECK: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<1>
  %to = nsatile.at %y[%i] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<512xf32>
  nsatile.store %u, %to : tensor<512xf32, #layout>
  nsatile.return
}
