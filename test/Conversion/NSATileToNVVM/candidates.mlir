// A row's list of candidates is the work of one warp: it needs no barrier of the block, and no
// atomic operation decides about an order.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm | FileCheck %s

!keys = tensor<4x64xi64, #nsatile.blocked<threads = 128>>
!numbers = tensor<4xi64, #nsatile.blocked<threads = 128>>
!lists = !nsatile.candidates<rows = 4, keep = 1024, room = 2048>

// CHECK-LABEL: llvm.func @choose
nsatile.program @choose(%x: memref<4x64xi64>, %n: index) {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %64 = arith.constant 64 : index
  %keys_at = nsatile.at %x[%0, %0] dims [0, 1] limits [%4, %64] : memref<4x64xi64> -> !nsatile.place<4x64xi64>
  %keys = nsatile.load %keys_at : !keys
  %lists = nsatile.candidates from 1 : !lists

  // Keys go through shared memory, to the warps of their rows. A list that has no room for 64 more
  // is cut: a loop over digits counts the keys that have each,
  // CHECK: nvvm.barrier
  // CHECK: scf.for
  // CHECK-NOT: nvvm.barrier
  // CHECK: arith.cmpi sgt, %{{.*}}, %c1984_i32
  // CHECK: scf.while
  // CHECK: llvm.atomicrmw add %{{.*}} syncscope("block") monotonic : !llvm.ptr<3>, i32
  // adds up what is above each of a lane's eight,
  // CHECK-COUNT-5: nvvm.shfl.sync idx
  // and reads the digit from the lane that has it.
  // CHECK: nvvm.vote.sync ballot
  // CHECK: "llvm.intr.cttz"
  // CHECK-COUNT-3: nvvm.shfl.sync idx
  // Keys that aren't below the floor move to the front, in their order.
  // CHECK: nvvm.vote.sync ballot
  // CHECK: llvm.intr.ctpop
  // Two rounds of a warp append the 64 that are offered.
  // CHECK-COUNT-2: nvvm.vote.sync ballot
  // CHECK-NOT: nvvm.vote.sync ballot
  nsatile.offer %keys to %lists : !keys, !lists
  // CHECK: nvvm.barrier

  // CHECK: arith.minsi
  // CHECK: arith.cmpi sge, %{{.*}}, %c100_i64
  // CHECK: nvvm.vote.sync ballot
  // CHECK: scf.while
  %numbers = arith.constant dense<7> : !numbers
  nsatile.choose %numbers of %lists beside 100 : !numbers, !lists

  // Any thread reads what the rows' warps left.
  // CHECK: nvvm.barrier
  // CHECK: arith.select %{{.*}}, %{{.*}}, %c-1_i64
  %chosen = nsatile.chosen %lists[%n] : !lists -> !keys
  %to = nsatile.at %x[%0, %0] dims [0, 1] limits [%4, %64] : memref<4x64xi64> -> !nsatile.place<4x64xi64>
  nsatile.store %chosen, %to : !keys
  nsatile.return
}
