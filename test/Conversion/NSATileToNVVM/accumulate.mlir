// Sums in memory. In turns: each thread waits for its counter, adds, and one counts up when all have added. In any order: additions alone.
// RUN: nsacc-opt %s --nsacc-tile-opt-phase=device=sm_80 --nsacc-nvvm-phase=device=sm_80 | FileCheck %s

// CHECK-LABEL: llvm.func @turns
// CHECK: ld.acquire.gpu.global.b32 word, [$0]; setp.lt.u32 waits, word, $1; @waits bra again;
// The first turn writes.
// CHECK: llvm.icmp "eq"
// CHECK: llvm.store
// CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} syncscope("device") monotonic
// CHECK: nvvm.barrier
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK-NEXT: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") monotonic {{.*}} i32
// CHECK-NOT: atomicrmw
nsatile.program @turns(%a: memref<?x64xf32>, %sums: memref<?x64xf32>, %turns: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = nsatile.program_id 0
  %at = arith.muli %x, %c64 : index
  %t_at = nsatile.at %a[%at, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
  %t = nsatile.load %t_at : tensor<64x64xf32>
  %to = nsatile.at %sums[%c0, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.accumulate %t, %to turn %x of %turns[%c0] : memref<?xi32> : tensor<64x64xf32>
  nsatile.return
}

// CHECK-LABEL: llvm.func @any_order
// CHECK-NOT: ld.acquire
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") monotonic {{.*}} i32
// CHECK-NOT: nvvm.barrier
nsatile.program @any_order(%a: memref<?x64xi32>, %sums: memref<?x64xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = nsatile.program_id 0
  %at = arith.muli %x, %c64 : index
  %t_at = nsatile.at %a[%at, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
  %t = nsatile.load %t_at : tensor<64x64xi32>
  %to = nsatile.at %sums[%c0, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
  nsatile.accumulate %t, %to : tensor<64x64xi32>
  nsatile.return
}
