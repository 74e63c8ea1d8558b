// Left operands that stay the same over a loop are held in registers, as far as there is room.
// RUN: nsacc-opt %s --nsatile-operands-in-registers --split-input-file | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: nsacc-opt %s "--nsatile-operands-in-registers=registers=33792" --split-input-file --remarks-filter=".*" 2> %t.remarks | FileCheck %s --check-prefixes=CHECK,SLAB
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=columns | Remark="64 of 256 columns of the operand stay in registers"
// REMARK: [Missed] {{.*}}Function=kept | Remark="the loops' tiles leave a thread no registers"
// REMARK: [Missed] {{.*}}Function=between | Remark="a loop without products of the operand runs between those with some"

// Of a consumer's 240 registers, scores and sums take 64: there is room for all columns, but no more than 128 are held.
// With 33792 registers of a multiprocessor it has 120, of which 28 are left: 64 columns take 16.

#s = #nsatile.mma<warps = 8>
#m = #nsatile.shared<swizzle = 128>
!Q = !nsatile.circular_buffer<1 of tensor<128x256xbf16, #m>>
!K = !nsatile.circular_buffer<2 of tensor<64x256xbf16, #m>>

// CHECK-LABEL: nsatile.program @columns
// CHECK: %[[Q:.*]] = nsatile.consumer_wait
// ALL-NEXT: %[[F:.*]] = nsatile.fragment %[[Q]] : {{.*}} -> tensor<128x128xbf16, #nsatile.mma<warps = 8>>
// SLAB-NEXT: %[[F:.*]] = nsatile.fragment %[[Q]] : {{.*}} -> tensor<128x64xbf16, #nsatile.mma<warps = 8>>
// CHECK: nsatile.dot_async %[[Q]] head %[[F]], transpose
// CHECK: scf.for
// CHECK: nsatile.dot_async %[[Q]] head %[[F]], transpose
nsatile.program @columns(%n: index, %out: memref<128x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %rq = nsatile.circular_buffer : !Q
  %rk = nsatile.circular_buffer : !K
  nsatile.warp_specialize consumers 8 {
    %q = nsatile.consumer_wait %rq : !Q
    %k0 = nsatile.consumer_wait %rk : !K
    %p0 = nsatile.dot_async %q, transpose %k0 : (tensor<128x256xbf16, #m>, tensor<64x256xbf16, #m>) -> !nsatile.pending<tensor<128x64xf32, #s>>
    %first = nsatile.dot_wait %p0 allow 0 : !nsatile.pending<tensor<128x64xf32, #s>>
    nsatile.consumer_release %rk : !K
    %sum = scf.for %j = %c1 to %n step %c1 iter_args(%acc = %first) -> tensor<128x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !K
      %p = nsatile.dot_async %q, transpose %k : (tensor<128x256xbf16, #m>, tensor<64x256xbf16, #m>) -> !nsatile.pending<tensor<128x64xf32, #s>>
      %s = nsatile.dot_wait %p allow 0 : !nsatile.pending<tensor<128x64xf32, #s>>
      nsatile.consumer_release %rk : !K
      %t = arith.addf %acc, %s : tensor<128x64xf32, #s>
      scf.yield %t : tensor<128x64xf32, #s>
    }
    nsatile.consumer_release %rq : !Q
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c128, %c128] : memref<128x64xf32> -> !nsatile.place<128x64xf32>
    nsatile.store %sum, %to : tensor<128x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

// What is used behind a loop takes registers in it, too: 64 here. Loops that only go round need none.

#s = #nsatile.mma<warps = 8>
#m = #nsatile.shared<swizzle = 128>
!Q = !nsatile.circular_buffer<1 of tensor<128x128xbf16, #m>>
!K = !nsatile.circular_buffer<2 of tensor<64x128xbf16, #m>>

// CHECK-LABEL: nsatile.program @kept
// ALL: nsatile.fragment %{{.*}} -> tensor<128x128xbf16
// SLAB-NOT: nsatile.fragment
// CHECK: nsatile.return
nsatile.program @kept(%n: index, %other: tensor<128x256xf32, #s>, %out: memref<128x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %rq = nsatile.circular_buffer : !Q
  %rk = nsatile.circular_buffer : !K
  nsatile.warp_specialize consumers 8 {
    %q = nsatile.consumer_wait %rq : !Q
    %kept = arith.negf %other : tensor<128x256xf32, #s>
    %zero = arith.constant dense<0.0> : tensor<128x64xf32, #s>
    %last = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<128x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !K
      %p = nsatile.dot_async %q, transpose %k acc %acc : (tensor<128x128xbf16, #m>, tensor<64x128xbf16, #m>, tensor<128x64xf32, #s>) -> !nsatile.pending<tensor<128x64xf32, #s>>
      %s = nsatile.dot_wait %p allow 0 : !nsatile.pending<tensor<128x64xf32, #s>>
      nsatile.consumer_release %rk : !K
      scf.yield %s : tensor<128x64xf32, #s>
    }
    scf.for %j = %c0 to %n step %c1 {
      %k = nsatile.consumer_wait %rk : !K
      nsatile.consumer_release %rk : !K
    }
    nsatile.consumer_release %rq : !Q
    %sum = nsatile.reduce sum %kept along 1 : tensor<128x256xf32, #s> -> tensor<128xf32, #nsatile.slice<dim = 1, of = #s>>
    %spread = nsatile.broadcast %sum along [1] : tensor<128xf32, #nsatile.slice<dim = 1, of = #s>> -> tensor<128x64xf32, #s>
    %r = arith.addf %last, %spread : tensor<128x64xf32, #s>
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c128, %c128] : memref<128x64xf32> -> !nsatile.place<128x64xf32>
    nsatile.store %r, %to : tensor<128x64xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

// Another loop with tiles has needs of its own.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<1 of tensor<64x64xbf16, #m>>

// CHECK-LABEL: nsatile.program @between
// CHECK-NOT: nsatile.fragment
// CHECK: nsatile.return
nsatile.program @between(%n: index, %start: tensor<64x64xf32, #s>, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %rq = nsatile.circular_buffer : !R
  %rk = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %q = nsatile.consumer_wait %rq : !R
    %between = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %start) -> tensor<64x64xf32, #s> {
      %t = math.exp %acc : tensor<64x64xf32, #s>
      scf.yield %t : tensor<64x64xf32, #s>
    }
    %sum = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %between) -> tensor<64x64xf32, #s> {
      %k = nsatile.consumer_wait %rk : !R
      %p = nsatile.dot_async %q, transpose %k acc %acc : (tensor<64x64xbf16, #m>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> !nsatile.pending<tensor<64x64xf32, #s>>
      %s = nsatile.dot_wait %p allow 0 : !nsatile.pending<tensor<64x64xf32, #s>>
      nsatile.consumer_release %rk : !R
      scf.yield %s : tensor<64x64xf32, #s>
    }
    nsatile.consumer_release %rq : !R
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %sum, %to : tensor<64x64xf32, #s>
  } producer {
  }
  nsatile.return
}
