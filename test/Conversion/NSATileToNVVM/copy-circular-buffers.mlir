// Circular buffers of programs that aren't warp-specialized: threads copy for themselves, in groups.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm --split-input-file | FileCheck %s

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #m>>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// A step waits for the group of its own tiles and meets once. What is filled
// is in a group whether or not there is a next step. 2 circular buffers of 2 tiles.

// CHECK-LABEL: llvm.func @attend
// CHECK-SAME: shared = 32768
// CHECK: scf.if
// CHECK:   nvvm.cp.async.shared.global %{{.*}}, 16, cache = cg
// CHECK-NOT: commit.group
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK:   nvvm.cp.async.wait.group 0
// CHECK:   nvvm.barrier
// CHECK:   scf.if
// CHECK:     nvvm.cp.async.shared.global %{{.*}}, 16, cache = cg
// CHECK-NOT: barrier
// CHECK:   nvvm.cp.async.commit.group
// CHECK-NOT: barrier
// CHECK:   ldmatrix
// CHECK-NOT: barrier
// CHECK-NOT: cp.async
// CHECK:   scf.yield
nsatile.program @attend(%k: !B, %v: !B, %q: !B, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %rk = nsatile.circular_buffer : !R
  %rv = nsatile.circular_buffer : !R
  %any = arith.cmpi slt, %c0, %n : index
  scf.if %any {
    %from = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    nsatile.producer_load %rk, %from : !R
    %from_1 = nsatile.at %v[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    nsatile.producer_load %rv, %from_1 : !R
  }
  %p0 = arith.constant dense<1.0> : tensor<64x64xbf16, #s>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %kt = nsatile.consumer_wait %rk : !R
    %vt = nsatile.consumer_wait %rv : !R
    %next = arith.addi %j, %c1 : index
    %more = arith.cmpi slt, %next, %n : index
    scf.if %more {
      %from_2 = nsatile.at %k[%next, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %rk, %from_2 : !R
      %from_3 = nsatile.at %v[%next, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %rv, %from_3 : !R
    }
    %s = nsatile.dot %p0, transpose %kt : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
    nsatile.consumer_release %rk : !R
    %p = arith.truncf %s : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
    %o = nsatile.dot %p, %vt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    nsatile.consumer_release %rv : !R
    scf.yield %o : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<3 of tensor<64x64xbf16, #m>>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// With two tiles ahead, the later group may go on. A tile from before the loop
// is in the first group: nothing waits for all copies. Its place is read by
// every step and written by none: the threads don't meet for it.

// CHECK-LABEL: llvm.func @ahead
// CHECK: scf.for
// CHECK:   nvvm.cp.async.wait.group 1
// CHECK-NOT: wait
// CHECK:   nvvm.barrier
// CHECK-NOT: wait
// CHECK-NOT: barrier
// CHECK:   scf.yield %{{.*}} : f32
nsatile.program @ahead(%k: !B, %q: !B, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, stages = 3>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %qt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %qt = nsatile.load %qt_at : tensor<64x64xbf16, #m>
  %rk = nsatile.circular_buffer : !R
  %any = arith.cmpi slt, %c0, %n : index
  scf.if %any {
    %from = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    nsatile.producer_load %rk, %from : !R
  }
  %two = arith.cmpi slt, %c1, %n : index
  scf.if %two {
    %from_1 = nsatile.at %k[%c1, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    nsatile.producer_load %rk, %from_1 : !R
  }
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %kt = nsatile.consumer_wait %rk : !R
    %next = arith.addi %j, %c2 : index
    %more = arith.cmpi slt, %next, %n : index
    scf.if %more {
      %from_2 = nsatile.at %k[%next, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %rk, %from_2 : !R
    }
    %s = nsatile.dot %qt, transpose %kt acc %acc : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    nsatile.consumer_release %rk : !R
    scf.yield %s : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// -----

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// Room for one tile: threads meet between the last product and the next load.
// A circular buffer of an inner loop is empty, and free, when it is over.

// CHECK-LABEL: llvm.func @nested
// CHECK-SAME: shared = 8192
// CHECK: scf.for
// CHECK:   scf.for
// CHECK:     wait.group
// CHECK:     nvvm.barrier
// CHECK:     nvvm.mma.sync
// CHECK:     nvvm.barrier
// CHECK:     scf.if
// CHECK:       nvvm.cp.async.shared.global
// CHECK:     scf.yield
// CHECK:   nvvm.barrier
// CHECK:   scf.yield
nsatile.program @nested(%k: !B, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, stages = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %p0 = arith.constant dense<1.0> : tensor<64x64xbf16, #s>
  %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> tensor<64x64xf32, #s> {
    %rk = nsatile.circular_buffer : !R
    %any = arith.cmpi slt, %c0, %n : index
    scf.if %any {
      %from = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %rk, %from : !R
    }
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %sum) -> tensor<64x64xf32, #s> {
      %kt = nsatile.consumer_wait %rk : !R
      %s = nsatile.dot %p0, transpose %kt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %rk : !R
      %next = arith.addi %j, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      scf.if %more {
        %from_1 = nsatile.at %k[%next, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
        nsatile.producer_load %rk, %from_1 : !R
      }
      scf.yield %s : tensor<64x64xf32, #s>
    }
    scf.yield %r : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %all, %to : tensor<64x64xf32, #s>
  nsatile.return
}
