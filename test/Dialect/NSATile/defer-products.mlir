// Sums in memory that stand a step late, with their products: a step hands the tile that they read to the next one.
// RUN: nsacc-opt %s --split-input-file --pass-pipeline="builtin.module(nsatile.program(nsatile-defer-products))" --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// The place in memory is that of the step before. The first step's product is of zeros, and nobody adds it.
// REMARK: [Passed] {{.*}}Function=turns | Remark="products that run a step late: 1"
// CHECK-LABEL: nsatile.program @turns
// CHECK: %[[KEYS:.*]] = nsatile.at %k[
// CHECK-NEXT: %[[K:.*]] = nsatile.load %[[KEYS]]
// CHECK: %[[HANDED:.*]] = nsatile.circular_buffer : <2 of tensor<64x64xbf16>>
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<64x64xbf16>
// CHECK-NEXT: nsatile.consumer_store %[[ZEROS]], %[[HANDED]]
// CHECK: nsatile.fold over %c0 to %steps
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %{{.*}}: i1, %[[SUM:.*]]: tensor<64x64xf32>):
// CHECK:   %[[D:.*]] = arith.truncf
// CHECK-NEXT: nsatile.consumer_store %[[D]], %[[HANDED]]
// CHECK-NEXT: %[[BEFORE:.*]] = nsatile.consumer_wait %[[HANDED]]
// CHECK-NEXT: %[[DQ:.*]] = nsatile.dot transpose %[[BEFORE]], %[[K]]
// CHECK-NEXT: nsatile.consumer_release %[[HANDED]]
// CHECK-NEXT: %[[BEHIND:.*]] = arith.cmpi sgt, %[[I]], %c0
// CHECK-NEXT: scf.if %[[BEHIND]] {
// CHECK:     %[[H:.*]] = arith.subi %[[I]], %{{.*}}
// CHECK-NEXT: %[[AT:.*]] = arith.muli %[[H]], %c64
// CHECK-NEXT: %[[PLACE:.*]] = nsatile.at %dq[%[[AT]], %c0] dims [0, 1] limits[%n, %c64]
// CHECK-NEXT: nsatile.accumulate %[[DQ]], %[[PLACE]] turn %turn of %turns[%[[H]]] : memref<?xi32> :
// CHECK-NEXT: }
// CHECK:   nsatile.dot %[[D]], %{{.*}} acc %[[SUM]]
// CHECK:   nsatile.yield
// CHECK:      %[[LAST:.*]] = nsatile.consumer_wait %[[HANDED]]
// CHECK-NEXT: %[[DQ:.*]] = nsatile.dot transpose %[[LAST]], %[[K]]
// CHECK-NEXT: nsatile.consumer_release %[[HANDED]]
// CHECK-NEXT: %[[ANY:.*]] = arith.cmpi slt, %c0, %steps
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK:     %[[H:.*]] = arith.subi %steps, %{{.*}}
// CHECK-NEXT: %[[AT:.*]] = arith.muli %[[H]], %c64
// CHECK-NEXT: %[[PLACE:.*]] = nsatile.at %dq[%[[AT]], %c0] dims [0, 1] limits[%n, %c64]
// CHECK-NEXT: nsatile.accumulate %[[DQ]], %[[PLACE]] turn %turn of %turns[%[[H]]] : memref<?xi32> :
// CHECK-NEXT: }
!B = memref<?x64xbf16>
!F = memref<?x64xf32>
nsatile.program @turns(%q: !B, %k: !B, %dq: !F, %turns: memref<?xi32>, %dk: !F, %n: index, %steps: index, %turn: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %kt_at = nsatile.at %k[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : tensor<64x64xbf16>
  %r = nsatile.fold over %c0 to %steps state(%zeros : tensor<64x64xf32>) {
  ^bb0(%i: index, %partial: i1, %sum: tensor<64x64xf32>):
    %at = arith.muli %i, %c64 : index
    %qt_at = nsatile.at %q[%at, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %qt = nsatile.load %qt_at : tensor<64x64xbf16>
    %s = nsatile.dot %kt, transpose %qt : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %d = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %g = nsatile.dot transpose %d, %kt : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %to = nsatile.at %dq[%at, %c0] dims [0, 1] limits [%n, %c64] : !F -> !nsatile.place<64x64xf32>
    nsatile.accumulate %g, %to turn %turn of %turns[%i] : memref<?xi32> {nsatile.stage = 1} : tensor<64x64xf32>
    %next = nsatile.dot %d, %qt acc %sum : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nsatile.yield %next : tensor<64x64xf32>
  }
  %to_1 = nsatile.at %dk[%c0, %c0] dims [0, 1] limits [%n, %c64] : !F -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to_1 : tensor<64x64xf32>
  nsatile.return
}

// -----

// All that lies between products and sum is late: the scale of the tile's rows, and its load. Products may share a tile.
// REMARK: [Passed] {{.*}}Function=rounded | Remark="products that run a step late: 2"
// CHECK-LABEL: nsatile.program @rounded
// CHECK: nsatile.circular_buffer
// CHECK-NOT: nsatile.circular_buffer
// CHECK: scf.for %[[I:.*]] = %c0 to %steps
// CHECK:   nsatile.consumer_store
// CHECK-NOT: nsatile.at %scale
// CHECK:   %[[BEFORE:.*]] = nsatile.consumer_wait
// CHECK-NEXT: %[[A:.*]] = nsatile.dot %[[BEFORE]], %{{.*}} :
// CHECK-NEXT: %[[B:.*]] = nsatile.dot %[[BEFORE]], transpose %{{.*}} :
// CHECK-NEXT: nsatile.consumer_release
// CHECK:   scf.if
// CHECK-NEXT: arith.constant 1
// CHECK-NEXT: %[[H:.*]] = arith.subi %[[I]]
// CHECK:     %[[AT:.*]] = memref.load %list[%[[H]]]
// CHECK-NEXT: nsatile.at %scale[%[[AT]]]
// CHECK-NEXT: %[[SCALE:.*]] = nsatile.load
// CHECK:     %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK:     %[[WHOLE:.*]] = arith.fptosi
// CHECK:     %[[PLACE:.*]] = nsatile.at %sums[%[[AT]], %c0]
// CHECK-NEXT: nsatile.accumulate %[[WHOLE]], %[[PLACE]]
!B = memref<?x64xbf16>
nsatile.program @rounded(%q: !B, %list: memref<?xindex>, %scale: memref<?xf32>, %sums: memref<?x64xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : tensor<64x64xbf16>
  scf.for %i = %c0 to %steps step %c1 {
    %at = memref.load %list[%i] : memref<?xindex>
    %qt_at = nsatile.at %q[%at, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %qt = nsatile.load %qt_at : tensor<64x64xbf16>
    %s = nsatile.dot %kt, transpose %qt : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %d = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %a = nsatile.dot %d, %kt : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %b = nsatile.dot %d, transpose %kt : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %rows_at = nsatile.at %scale[%at] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<64xf32>
    %rows = nsatile.load %rows_at : tensor<64xf32>
    %factors = nsatile.broadcast %rows along [1] : tensor<64xf32> -> tensor<64x64xf32>
    %sum = arith.addf %a, %b : tensor<64x64xf32>
    %scaled = arith.mulf %sum, %factors : tensor<64x64xf32>
    %round = math.roundeven %scaled : tensor<64x64xf32>
    %whole = arith.fptosi %round : tensor<64x64xf32> to tensor<64x64xi32>
    %to = nsatile.at %sums[%at, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to {nsatile.stage = 1} : tensor<64x64xi32>
  }
  nsatile.return
}

// -----

// Without the attribute, the sum stays where it is.
// CHECK-LABEL: nsatile.program @not_asked
// CHECK-NOT: nsatile.circular_buffer
!B = memref<?x64xbf16>
nsatile.program @not_asked(%q: !B, %dq: memref<?x64xi32>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %kt_at = nsatile.at %q[%c0, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
  %kt = nsatile.load %kt_at : tensor<64x64xbf16>
  scf.for %i = %c0 to %steps step %c1 {
    %s = nsatile.dot %kt, %kt : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %d = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %g = nsatile.dot %d, %kt : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %whole = arith.fptosi %g : tensor<64x64xf32> to tensor<64x64xi32>
    %to = nsatile.at %dq[%i, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xi32> -> !nsatile.place<64x64xi32>
    nsatile.accumulate %whole, %to : tensor<64x64xi32>
  }
  nsatile.return
}
