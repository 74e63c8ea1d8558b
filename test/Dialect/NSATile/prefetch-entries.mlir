// Entries of lists are read in the step before the one that needs them.
// RUN: nsacc-opt %s --nsatile-prefetch-entries --canonicalize --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=listed | Remark="entries of a step that are read in the one before: 1"
// REMARK: [Passed] {{.*}}Function=listed | Remark="entries of a step that are read in the one before: 1"
// REMARK: [Missed] {{.*}}Function=chained | Remark="the entry isn't read a step ahead: its place depends on tiles or on the step before, or the program writes the list"

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!R = !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>

// CHECK-LABEL: nsatile.program @listed
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[LIST:[a-z0-9]+]]: memref<?xi32>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK: nsatile.warp_specialize
// CHECK:   nsatile.fold over %[[C0]] to %[[N]] state(%{{.*}}, %{{.*}} : tensor<{{.*}}>, i32)
// CHECK: } producer {
// CHECK:   %[[ANY:.*]] = arith.cmpi sgt, %[[N]], %[[C0]]
// CHECK:   %[[LAST:.*]] = arith.subi %[[N]], %[[C1]]
// CHECK:   %[[FIRST:.*]] = scf.if %[[ANY]] -> (i32) {
// CHECK:     memref.load %[[LIST]][%[[C0]]]
// CHECK:   } else {
// CHECK:     scf.yield %[[NONE]]
// CHECK:   nsatile.fold over %[[C0]] to %[[N]] state(%[[FIRST]] : i32) {
// CHECK:   ^bb0(%[[I:[a-z0-9]+]]: index, %{{.*}}: i1, %[[ENTRY:[a-z0-9]+]]: i32):
// CHECK:     %[[BEHIND:.*]] = arith.addi %[[I]], %[[C1]]
// CHECK:     %[[NEXT:.*]] = arith.minsi %[[BEHIND]], %[[LAST]]
// CHECK:     %[[LATER:.*]] = memref.load %[[LIST]][%[[NEXT]]]
// CHECK:     %[[TILE:.*]] = arith.index_cast %[[ENTRY]]
// CHECK:     %[[FROM:.*]] = nsatile.at %{{.*}}[%[[TILE]], %
// CHECK:     nsatile.producer_load %{{.*}}, %[[FROM]]
// CHECK:     nsatile.yield %[[LATER]] : i32
nsatile.program @listed(%n: index, %list: memref<?xi32>, %k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %buffer = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = nsatile.fold over %c0 to %n state(%zero : tensor<64x64xf32, #s>) {
    ^bb0(%i: index, %partial: i1, %acc: tensor<64x64xf32, #s>):
      %e = memref.load %list[%i] : memref<?xi32>
      %t = nsatile.consumer_wait %buffer : !R
      %x = nsatile.dot %q, transpose %t acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %buffer : !R
      %f = arith.sitofp %e : i32 to f32
      %b = tensor.splat %f : tensor<64x64xf32, #s>
      %y = arith.addf %x, %b : tensor<64x64xf32, #s>
      nsatile.yield %y : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
    nsatile.fold over %c0 to %n {
    ^bb0(%i: index, %partial: i1):
      %e = memref.load %list[%i] : memref<?xi32>
      %tile = arith.index_cast %e : i32 to index
      %from = nsatile.at %k[%tile, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %buffer, %from : !R
      nsatile.yield
    }
  }
  nsatile.return
}

// A table's element at a place that an entry names is read a step ahead, too, and the entry two steps: nobody waits for either.
// CHECK-LABEL: nsatile.program @named
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[LIST:[a-z0-9]+]]: memref<?xi32>, %[[TABLE:[a-z0-9]+]]: memref<?xi32>
// CHECK: nsatile.warp_specialize
// CHECK: scf.if {{.*}} -> (i32, i32, i32) {
// CHECK:   %[[E0:.*]] = memref.load %[[LIST]]
// CHECK:   %[[E1:.*]] = memref.load %[[LIST]]
// CHECK:   %[[AT:.*]] = arith.index_cast %[[E0]]
// CHECK:   %[[X0:.*]] = nsatile.lookup %[[TABLE]][%[[AT]]]
// CHECK:   scf.yield %[[E0]], %[[E1]], %[[X0]]
// CHECK: nsatile.fold over
// CHECK: ^bb0({{.*}}, %[[ENTRY:[a-z0-9]+]]: i32, %[[NEXT:[a-z0-9]+]]: i32, %[[ELEMENT:[a-z0-9]+]]: i32):
// CHECK:   %[[LATER:.*]] = memref.load %[[LIST]]
// CHECK:   %[[PLACE:.*]] = arith.index_cast %[[NEXT]]
// CHECK:   %[[BEHIND:.*]] = nsatile.lookup %[[TABLE]][%[[PLACE]]]
// CHECK:   arith.sitofp %[[ELEMENT]]
// CHECK:   nsatile.yield {{.*}}, %[[NEXT]], %[[LATER]], %[[BEHIND]]
nsatile.program @named(%n: index, %list: memref<?xi32>, %table: memref<?xi32>, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %k: !B) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %buffer = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
    %r = nsatile.fold over %c0 to %n state(%zero : tensor<64x64xf32, #s>) {
    ^bb0(%i: index, %partial: i1, %acc: tensor<64x64xf32, #s>):
      %e = memref.load %list[%i] : memref<?xi32>
      %at = arith.index_cast %e : i32 to index
      %t = nsatile.consumer_wait %buffer : !R
      %x = nsatile.dot %q, transpose %t acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      nsatile.consumer_release %buffer : !R
      %element = nsatile.lookup %table[%at] : memref<?xi32>
      %f = arith.sitofp %element : i32 to f32
      %b = tensor.splat %f : tensor<64x64xf32, #s>
      %y = arith.addf %x, %b : tensor<64x64xf32, #s>
      nsatile.yield %y : tensor<64x64xf32, #s>
    }
    %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %r, %to : tensor<64x64xf32, #s>
  } producer {
    %from = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    nsatile.producer_load %buffer, %from : !R
  }
  nsatile.return
}

// The place of an entry comes of the entry before: a list that is linked.
// CHECK-LABEL: nsatile.program @chained
// CHECK: producer {
// CHECK:   scf.for
// CHECK-NOT: scf.if
nsatile.program @chained(%n: index, %list: memref<?xindex>, %k: !B) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %buffer = nsatile.circular_buffer : !R
  nsatile.warp_specialize consumers 4 {
  } producer {
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c0) -> index {
      %p = arith.addi %at, %i : index
      %e = memref.load %list[%p] : memref<?xindex>
      %from = nsatile.at %k[%e, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
      nsatile.producer_load %buffer, %from : !R
      scf.yield %e : index
    }
    %from_1 = nsatile.at %k[%r, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    nsatile.producer_load %buffer, %from_1 : !R
  }
  nsatile.return
}
