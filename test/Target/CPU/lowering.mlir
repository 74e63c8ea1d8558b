// The pipeline ends in the LLVM dialect, with vectors of the asked width and
// nothing of a library that the JIT doesn't have.
// RUN: nsacc-opt %s --nsacc-cpu-lowering | FileCheck %s
// RUN: nsacc-opt %s --nsacc-cpu-lowering=vector-bits=256 | FileCheck %s --check-prefix=AVX2

// CHECK-LABEL: llvm.func @softmax
// CHECK-NOT: math.
// CHECK: llvm.load {{.*}} vector<16xf32>
// CHECK: llvm.intr.fma
// CHECK-NOT: llvm.fptrunc
// AVX2-LABEL: llvm.func @softmax
// AVX2-NOT: vector<16x
// AVX2: llvm.load {{.*}} vector<8xf32>
nsatile.program @softmax(%s: memref<?x64xf32>, %p: memref<?x64xbf16>, %n: index) {
  %0 = arith.constant 0 : index
  %64 = arith.constant 64 : index
  %scale = arith.constant 1.0 : f32
  %m = arith.constant dense<0xFF800000> : tensor<4xf32>
  %l = arith.constant dense<0.0> : tensor<4xf32>
  %t_at = nsatile.at %s[%0, %0] dims [0, 1] limits [%n, %64] : memref<?x64xf32> -> !nsatile.place<4x64xf32>
  %t = nsatile.load %t_at : tensor<4x64xf32>
  %m1, %l1, %e, %d = nsatile.softmax_update %m, %l, %t scale %scale : tensor<4xf32>, tensor<4x64xf32>
  %r = arith.truncf %e : tensor<4x64xf32> to tensor<4x64xbf16>
  %to = nsatile.at %p[%0, %0] dims [0, 1] limits [%n, %64] : memref<?x64xbf16> -> !nsatile.place<4x64xbf16>
  nsatile.store %r, %to : tensor<4x64xbf16>
  nsatile.return
}
