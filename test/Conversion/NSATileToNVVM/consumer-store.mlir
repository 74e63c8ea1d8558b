// Tiles that consumers hand on to their next step. All threads of a block meet once a step: behind that barrier, they see what the step
// before wrote, and may write over what it read. Warps of consumers have barriers in shared memory that say which places are full and empty.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm=registers=65536 | FileCheck %s

#a = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #m>>
!C = memref<64x64xf32>

// CHECK-LABEL: llvm.func @threads
// CHECK-NOT: nvvm.barrier
// CHECK: scf.for
// CHECK-NOT: bf16, !llvm.ptr<3>
// CHECK: nvvm.barrier
// CHECK: llvm.store {{.*}} bf16, !llvm.ptr<3>
// CHECK-NOT: nvvm.barrier
// CHECK: nvvm.ldmatrix
// CHECK-NOT: nvvm.barrier
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}
// Behind the loop, which may have no step, threads meet before they read the last tile.
// CHECK: nvvm.barrier
// CHECK: nvvm.ldmatrix
nsatile.program @threads(%y: !C, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xbf16, #a>
  %sum0 = arith.constant dense<0.0> : tensor<64x64xf32, #a>
  %r = nsatile.circular_buffer : !R
  nsatile.consumer_store %zero, %r : tensor<64x64xbf16, #a>, !R
  %sum = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %sum0) -> tensor<64x64xf32, #a> {
    %t = arith.truncf %acc : tensor<64x64xf32, #a> to tensor<64x64xbf16, #a>
    nsatile.consumer_store %t, %r : tensor<64x64xbf16, #a>, !R
    %before = nsatile.consumer_wait %r : !R
    %next = nsatile.dot %t, transpose %before acc %acc : (tensor<64x64xbf16, #a>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #a>) -> tensor<64x64xf32, #a>
    nsatile.consumer_release %r : !R
    scf.yield %next : tensor<64x64xf32, #a>
  }
  %last = nsatile.consumer_wait %r : !R
  %all = nsatile.dot %zero, transpose %last acc %sum : (tensor<64x64xbf16, #a>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #a>) -> tensor<64x64xf32, #a>
  nsatile.consumer_release %r : !R
  %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%c64, %c64] : !C -> !nsatile.place<64x64xf32>
  nsatile.store %all, %to : tensor<64x64xf32, #a>
  nsatile.return
}

// Each of the four warps arrives once at each barrier.
// CHECK-LABEL: llvm.func @warps
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %{{.*}}
// CHECK: scf.for
// CHECK: mbarrier.try_wait
// CHECK: nvvm.stmatrix
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive
// CHECK: mbarrier.try_wait
// CHECK: wgmma.mma_async
// CHECK: mbarrier.arrive
// CHECK-NOT: nvvm.barrier
// CHECK: scf.yield
nsatile.program @warps(%y: !C, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %r = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %zero = arith.constant dense<0.0> : tensor<64x64xbf16, #a>
    %sum0 = arith.constant dense<0.0> : tensor<64x64xf32, #a>
    nsatile.consumer_store %zero, %r : tensor<64x64xbf16, #a>, !R
    %sum = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %sum0) -> tensor<64x64xf32, #a> {
      %t = arith.truncf %acc : tensor<64x64xf32, #a> to tensor<64x64xbf16, #a>
      nsatile.consumer_store %t, %r : tensor<64x64xbf16, #a>, !R
      %before = nsatile.consumer_wait %r : !R
      %started = nsatile.dot_async %t, transpose %before acc %acc : (tensor<64x64xbf16, #a>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #a>) -> !nsatile.pending<tensor<64x64xf32, #a>>
      %next = nsatile.dot_wait %started allow 0 : !nsatile.pending<tensor<64x64xf32, #a>>
      nsatile.consumer_release %r : !R
      scf.yield %next : tensor<64x64xf32, #a>
    }
    %last = nsatile.consumer_wait %r : !R
    nsatile.consumer_release %r : !R
    %to = nsatile.at %y[%c0, %c0] dims [0, 1] limits [%c64, %c64] : !C -> !nsatile.place<64x64xf32>
    nsatile.store %sum, %to : tensor<64x64xf32, #a>
  } producer {
  }
  nsatile.return
}
