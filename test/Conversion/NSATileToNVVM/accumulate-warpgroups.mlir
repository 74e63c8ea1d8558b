// Two warpgroups of consumers count for themselves: a turn has come when both have counted the turn before. Only the threads of a warpgroup
// meet, and steps of the loop need no barrier between their additions.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm=registers=65536 | FileCheck %s

// CHECK-LABEL: llvm.func @warpgroups
// CHECK: scf.for
// CHECK: %[[TURN:.*]] = arith.muli %{{.*}}, %c2_i32
// CHECK: ld.acquire.gpu.global.b32 word, [$0]; setp.lt.u32 waits, word, $1; {{.*}} %[[TURN]] :
// CHECK: llvm.atomicrmw fadd
// CHECK-NOT: nvvm.barrier
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %c128_i32
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK: llvm.atomicrmw add
// CHECK-NOT: nvvm.barrier
// CHECK: scf.yield
#a = #nsatile.mma<warps = 8>
nsatile.program @warpgroups(%sums: memref<?x64xf32>, %turns: memref<?xi32>, %n: index, %turn: index) {
  nsatile.warp_specialize consumers 8 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %start = arith.constant dense<1.0> : tensor<128x64xf32, #a>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %start) -> tensor<128x64xf32, #a> {
      %to = nsatile.at %sums[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xf32> -> !nsatile.place<128x64xf32>
      nsatile.accumulate %t, %to turn %turn of %turns[%i] : memref<?xi32> : tensor<128x64xf32, #a>
      %next = arith.addf %t, %t : tensor<128x64xf32, #a>
      scf.yield %next : tensor<128x64xf32, #a>
    }
  } producer {
  }
  nsatile.return
}
