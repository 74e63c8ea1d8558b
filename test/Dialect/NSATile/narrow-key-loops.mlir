// Warpgroups leave out steps whose keys their own rows don't see.
// RUN: nsacc-opt %s --nsatile-narrow-key-loops --canonicalize --split-input-file --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=causal | Remark="each warpgroup's loop runs over the keys that its own rows see"
// REMARK: [Missed] {{.*}}Function=conditional | Remark="the range isn't each warpgroup's own: it is read by more than bounds and conditions"
// REMARK: [Missed] {{.*}}Function=shared_rows | Remark="the range isn't each warpgroup's own: warpgroups wait for each other in the loop that it bounds"
// REMARK: [Missed] {{.*}}Function=grouped | Remark="the range isn't each warpgroup's own: a warpgroup would have fewer than 16 positions"
// REMARK: [Missed] {{.*}}Function=two_loops | Remark="the range isn't each warpgroup's own: it bounds several loops"
// REMARK: [Missed] {{.*}}Function=positions | Remark="the range isn't each warpgroup's own: it is read by more than bounds and conditions"

#s = #nsatile.mma<warps = 12>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<128x64xbf16, #m>>

// CHECK-LABEL: nsatile.program @causal
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
nsatile.program @causal(%first: index, %end: index, %q: tensor<192x64xbf16, #s>, %out: memref<192x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c192 = arith.constant 192 : index
  %zero = arith.constant dense<0.0> : tensor<192x128xf32, #s>
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
  // CHECK-DAG: %[[C128:.*]] = arith.constant 128 : index
  // CHECK-DAG: %[[C192:.*]] = arith.constant 192 : index
  // CHECK: %[[BUFFER:.*]] = nsatile.circular_buffer
  %buffer = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 12 {
    // CHECK: %[[OWN:.*]], %[[OWNEND:.*]] = nsatile.row_range %[[FIRST]] to %[[END]] of 192 groups 3
    %own, %own_end = nsatile.row_range %first to %end of 192
    // CHECK: %[[HIGH:.*]] = arith.ceildivsi %[[OWNEND]], %[[C128]]
    %high = arith.ceildivsi %own_end, %c128 : index
    // CHECK: %[[FULL:.*]] = arith.floordivsi %[[OWN]], %[[C128]]
    %full = arith.floordivsi %own, %c128 : index
    // Bounds of all rows, and whether all warpgroups have some.
    // CHECK: %[[ALL:.*]] = arith.ceildivsi %[[END]], %[[C128]]
    // CHECK: %[[BEHIND:.*]] = arith.addi %[[FIRST]], %[[C192]]
    // CHECK: %[[WHOLE:.*]] = arith.cmpi sle, %[[BEHIND]], %[[END]]
    // CHECK: %[[ALLFULL:.*]] = arith.floordivsi %[[FIRST]], %[[C128]]
    // CHECK: %[[MOST:.*]] = arith.minsi %[[HIGH]], %[[ALL]]
    // CHECK: %[[LAST:.*]] = arith.maxsi %[[MOST]], %[[C0]]
    // The full part stays within what is left.
    // CHECK: %[[FULLMOST:.*]] = arith.minsi %[[FULL]], %[[LAST]]
    // CHECK: %[[R:.*]] = nsatile.fold over %[[C0]] to %[[LAST]] full %[[C0]] to %[[FULLMOST]]
    // CHECK: ^bb0(%[[J:[a-z0-9]+]]: index
    // CHECK:   %[[BELOW:.*]] = arith.cmpi slt, %[[J]], %[[ALLFULL]]
    // CHECK:   %[[UNIFORM:.*]] = arith.andi %[[WHOLE]], %[[BELOW]]
    // CHECK:   nsatile.uniform_step %[[UNIFORM]]
    // CHECK:   nsatile.consumer_wait %[[BUFFER]]
    %r = nsatile.fold over %c0 to %high full %c0 to %full state(%zero : tensor<192x128xf32, #s>) {
    ^bb0(%j: index, %partial: i1, %acc: tensor<192x128xf32, #s>):
      %k = nsatile.consumer_wait %buffer : !R
      %s = nsatile.dot %q, transpose %k : (tensor<192x64xbf16, #s>, tensor<128x64xbf16, #m>) -> tensor<192x128xf32, #s>
      nsatile.consumer_release %buffer : !R
      %x = scf.if %partial -> tensor<192x128xf32, #s> {
        %n = arith.negf %s : tensor<192x128xf32, #s>
        scf.yield %n : tensor<192x128xf32, #s>
      } else {
        scf.yield %s : tensor<192x128xf32, #s>
      }
      %sum = arith.addf %acc, %x : tensor<192x128xf32, #s>
      nsatile.yield %sum : tensor<192x128xf32, #s>
    }
    // CHECK: scf.for %{{.*}} = %[[LAST]] to %[[ALL]] step %[[C1]] {
    // CHECK-NEXT:   nsatile.consumer_wait %[[BUFFER]]
    // CHECK-NEXT:   nsatile.consumer_release %[[BUFFER]]
    // CHECK-NEXT: }
    // CHECK: nsatile.store %[[R]]
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c192, %c128] : memref<192x128xf32> -> !nsatile.place<192x128xf32>
    nsatile.store %r, %to : tensor<192x128xf32, #s>
  } producer {
  }
  nsatile.return
}

// -----

// A condition that decides whether tiles are acquired must be the producer's; a
// loop whose products are split otherwise than rows, and a use of the range that
// isn't a bound, keep all warpgroups together.

#s = #nsatile.mma<warps = 8>
#m = #nsatile.shared<swizzle = 128>
!R = !nsatile.circular_buffer<2 of tensor<128x64xbf16, #m>>

// CHECK-LABEL: nsatile.program @conditional
// CHECK: nsatile.row_range %{{.*}} to %{{.*}} of 128{{$}}
nsatile.program @conditional(%first: index, %end: index, %q: tensor<128x64xbf16, #s>, %out: memref<128x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32, #s>
  %buffer = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 8 {
    %own, %own_end = nsatile.row_range %first to %end of 128
    %r = scf.for %j = %c0 to %own_end step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32, #s> {
      %fresh = arith.cmpi sge, %j, %own : index
      %x = scf.if %fresh -> tensor<128x128xf32, #s> {
        %k = nsatile.consumer_wait %buffer : !R
        %s = nsatile.dot %q, transpose %k : (tensor<128x64xbf16, #s>, tensor<128x64xbf16, #m>) -> tensor<128x128xf32, #s>
        nsatile.consumer_release %buffer : !R
        scf.yield %s : tensor<128x128xf32, #s>
      } else {
        scf.yield %acc : tensor<128x128xf32, #s>
      }
      scf.yield %x : tensor<128x128xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c128, %c128] : memref<128x128xf32> -> !nsatile.place<128x128xf32>
    nsatile.store %r, %to : tensor<128x128xf32, #s>
  } producer {
  }
  nsatile.return
}

// CHECK-LABEL: nsatile.program @shared_rows
// CHECK: nsatile.row_range %{{.*}} to %{{.*}} of 64{{$}}
nsatile.program @shared_rows(%first: index, %end: index, %q: tensor<64x64xbf16, #s>, %out: memref<64x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<64x128xf32, #s>
  %buffer = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 8 {
    %own, %own_end = nsatile.row_range %first to %end of 64
    %r = scf.for %j = %c0 to %own_end step %c1 iter_args(%acc = %zero) -> tensor<64x128xf32, #s> {
      %k = nsatile.consumer_wait %buffer : !R
      %s = nsatile.dot %q, transpose %k : (tensor<64x64xbf16, #s>, tensor<128x64xbf16, #m>) -> tensor<64x128xf32, #s>
      nsatile.consumer_release %buffer : !R
      %sum = arith.addf %acc, %s : tensor<64x128xf32, #s>
      scf.yield %sum : tensor<64x128xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c128] : memref<64x128xf32> -> !nsatile.place<64x128xf32>
    nsatile.store %r, %to : tensor<64x128xf32, #s>
  } producer {
  }
  nsatile.return
}

// 16 rows stand at each of 8 positions, which see nearly the same keys.
// CHECK-LABEL: nsatile.program @grouped
// CHECK: nsatile.row_range %{{.*}} to %{{.*}} of 8{{$}}
nsatile.program @grouped(%first: index, %end: index, %q: tensor<128x64xbf16, #s>, %out: memref<128x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32, #s>
  %buffer = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 8 {
    %own, %own_end = nsatile.row_range %first to %end of 8
    %r = scf.for %j = %c0 to %own_end step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32, #s> {
      %k = nsatile.consumer_wait %buffer : !R
      %s = nsatile.dot %q, transpose %k : (tensor<128x64xbf16, #s>, tensor<128x64xbf16, #m>) -> tensor<128x128xf32, #s>
      nsatile.consumer_release %buffer : !R
      %sum = arith.addf %acc, %s : tensor<128x128xf32, #s>
      scf.yield %sum : tensor<128x128xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c128, %c128] : memref<128x128xf32> -> !nsatile.place<128x128xf32>
    nsatile.store %r, %to : tensor<128x128xf32, #s>
  } producer {
  }
  nsatile.return
}

// The keys between two loops' bounds are another warpgroup's.
// CHECK-LABEL: nsatile.program @two_loops
// CHECK: nsatile.row_range %{{.*}} to %{{.*}} of 128{{$}}
nsatile.program @two_loops(%first: index, %end: index, %q: tensor<128x64xbf16, #s>, %out: memref<128x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32, #s>
  %buffer = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 8 {
    %own, %own_end = nsatile.row_range %first to %end of 128
    %full = scf.for %j = %c0 to %own step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32, #s> {
      %k = nsatile.consumer_wait %buffer : !R
      %s = nsatile.dot %q, transpose %k : (tensor<128x64xbf16, #s>, tensor<128x64xbf16, #m>) -> tensor<128x128xf32, #s>
      nsatile.consumer_release %buffer : !R
      %sum = arith.addf %acc, %s : tensor<128x128xf32, #s>
      scf.yield %sum : tensor<128x128xf32, #s>
    }
    %r = scf.for %j = %own to %own_end step %c1 iter_args(%acc = %full) -> tensor<128x128xf32, #s> {
      %k = nsatile.consumer_wait %buffer : !R
      %s = nsatile.dot %q, transpose %k : (tensor<128x64xbf16, #s>, tensor<128x64xbf16, #m>) -> tensor<128x128xf32, #s>
      nsatile.consumer_release %buffer : !R
      %sum = arith.subf %acc, %s : tensor<128x128xf32, #s>
      scf.yield %sum : tensor<128x128xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c128, %c128] : memref<128x128xf32> -> !nsatile.place<128x128xf32>
    nsatile.store %r, %to : tensor<128x128xf32, #s>
  } producer {
  }
  nsatile.return
}

// CHECK-LABEL: nsatile.program @positions
// CHECK: nsatile.row_range %{{.*}} to %{{.*}} of 128{{$}}
nsatile.program @positions(%first: index, %end: index, %out: memref<?xindex>) {
  nsatile.warp_specialize consumers 8 {
    %own, %own_end = nsatile.row_range %first to %end of 128
    %rows = nsatile.iota %own : tensor<128xindex, #nsatile.blocked<threads = 256>>
    %to = nsatile.at %out[%first] dims [0] limits [%end] : memref<?xindex> -> !nsatile.place<128xindex>
    nsatile.store %rows, %to : tensor<128xindex, #nsatile.blocked<threads = 256>>
  } producer {
  }
  nsatile.return
}
