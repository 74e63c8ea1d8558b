// Tiles of later steps are loaded while a step computes.
// RUN: nsacc-opt %s --pass-pipeline="builtin.module(nsatile.program(nsatile-pipeline-loads))" --split-input-file --remarks-filter=".*" 2> %t.remarks | FileCheck %s --check-prefixes=CHECK,ROOM
// RUN: nsacc-opt %s --pass-pipeline="builtin.module(nsatile.program(nsatile-pipeline-loads{shared-bytes=40000}))" --split-input-file | FileCheck %s --check-prefixes=CHECK,TIGHT
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=attend | Remark="tiles of a step that are loaded ahead: 2; stages: 2"
// REMARK: [Passed] {{.*}}Function=listed | Remark="tiles of a step that are loaded ahead: 1; stages: 3"
// REMARK: [Missed] {{.*}}Function=carried | Remark="the tile isn't loaded ahead: its place depends on tiles or on the step before"
// REMARK: [Missed] {{.*}}Function=sorted | Remark="the tile isn't loaded ahead: its place depends on tiles or on the step before"
// REMARK: [Missed] {{.*}}Function=written | Remark="the tile isn't loaded ahead: the program writes its buffer"

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// Two stages: a step's tiles come together, and the next step's loads start
// behind its first product. With less room: one tile of each.

// CHECK-LABEL: nsatile.program @attend
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x64xbf16, {{.*}}>, %[[V:[a-z0-9]+]]: memref<?x64xbf16, {{.*}}>, %[[Q:[a-z0-9]+]]: tensor<{{.*}}>, %{{.*}}: memref<64x64xf32>, %[[N:[a-z0-9]+]]: index

// ROOM: %[[RK:.*]] = nsatile.circular_buffer : <2 of tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>>
// ROOM: %[[RV:.*]] = nsatile.circular_buffer : <2 of tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>>
// ROOM: %[[ANY:.*]] = arith.cmpi slt, %[[LO:.*]], %[[N]]
// ROOM: scf.if %[[ANY]] {
// ROOM:   %[[FIRST:.*]] = arith.muli %[[LO]], %
// ROOM:   %[[AT_K:.*]] = nsatile.at %[[K]][%[[FIRST]], %{{.*}}] dims [0, 1] limits[%[[N]], %
// ROOM:   nsatile.producer_load %[[RK]], %[[AT_K]]
// ROOM:   %[[AT_V:.*]] = nsatile.at %[[V]][%[[FIRST]], %
// ROOM:   nsatile.producer_load %[[RV]], %[[AT_V]]
// ROOM: }
// ROOM: scf.for %[[J:.*]] = %[[LO]] to %[[N]] step %[[STEP:.*]] iter_args
// ROOM:   %[[TK:.*]] = nsatile.consumer_wait %[[RK]]
// ROOM:   %[[TV:.*]] = nsatile.consumer_wait %[[RV]]
// ROOM:   nsatile.dot %[[Q]], transpose %[[TK]]
// ROOM-NEXT: nsatile.consumer_release %[[RK]]
// ROOM:   %[[NEXT:.*]] = arith.addi %[[J]], %[[STEP]]
// ROOM:   %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[N]]
// ROOM:   scf.if %[[MORE]] {
// ROOM:     %[[PLACE:.*]] = arith.muli %[[NEXT]], %
// ROOM:     %[[LATER_K:.*]] = nsatile.at %[[K]][%[[PLACE]], %
// ROOM:     nsatile.producer_load %[[RK]], %[[LATER_K]]
// ROOM:     %[[LATER_V:.*]] = nsatile.at %[[V]][%[[PLACE]], %
// ROOM:     nsatile.producer_load %[[RV]], %[[LATER_V]]
// ROOM:   }
// ROOM:   nsatile.dot %{{.*}}, %[[TV]] acc
// ROOM-NEXT: nsatile.consumer_release %[[RV]]
// ROOM-NOT: nsatile.load

// TIGHT: %[[RK:.*]] = nsatile.circular_buffer : <1 of tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>>
// TIGHT: %[[RV:.*]] = nsatile.circular_buffer : <1 of tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>>
// TIGHT: scf.if %
// TIGHT:   %[[AT_K:.*]] = nsatile.at %[[K]]
// TIGHT:   nsatile.producer_load %[[RK]], %[[AT_K]]
// TIGHT-NOT: nsatile.producer_load
// TIGHT: scf.for %[[J:.*]] = %{{.*}} to %[[N]]
// TIGHT:   %[[TK:.*]] = nsatile.consumer_wait %[[RK]]
// TIGHT:   %[[MINE:.*]] = arith.muli %[[J]]
// TIGHT:   %[[AT_V:.*]] = nsatile.at %[[V]][%[[MINE]], %
// TIGHT:   nsatile.producer_load %[[RV]], %[[AT_V]]
// TIGHT:   nsatile.dot %[[Q]], transpose %[[TK]]
// TIGHT-NEXT: nsatile.consumer_release %[[RK]]
// TIGHT-NEXT: %[[TV:.*]] = nsatile.consumer_wait %[[RV]]
// TIGHT:   scf.if %
// TIGHT:     %[[LATER_K:.*]] = nsatile.at %[[K]]
// TIGHT:     nsatile.producer_load %[[RK]], %[[LATER_K]]
// TIGHT:   nsatile.dot %{{.*}}, %[[TV]] acc
// TIGHT-NEXT: nsatile.consumer_release %[[RV]]
nsatile.program @attend(%k: !B, %v: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 128>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %first = arith.muli %j, %c128 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<128x64xbf16>
    %kt = nsatile.load %kt_at : tensor<128x64xbf16, #m>
    %vt_at = nsatile.at %v[%first, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<128x64xbf16>
    %vt = nsatile.load %vt_at : tensor<128x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt : (tensor<64x64xbf16, #s>, tensor<128x64xbf16, #m>) -> tensor<64x128xf32, #s>
    %p = arith.truncf %s : tensor<64x128xf32, #s> to tensor<64x128xbf16, #s>
    %o = nsatile.dot %p, %vt acc %acc : (tensor<64x128xbf16, #s>, tensor<128x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    scf.yield %o : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// -----

// Blocks of a list: the number of the next one is read where there is one.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// CHECK-LABEL: nsatile.program @listed
// CHECK-SAME: %[[LIST:[a-z0-9]+]]: memref<?xindex>
// CHECK: nsatile.circular_buffer : <3 of
// CHECK: scf.if
// CHECK:   memref.load %[[LIST]]
// CHECK:   nsatile.producer_load
// CHECK: scf.if
// CHECK:   memref.load %[[LIST]]
// CHECK:   nsatile.producer_load
// CHECK: scf.for %[[J:.*]] = %{{.*}} step %[[STEP:.*]] iter_args
// CHECK:   nsatile.consumer_wait
// CHECK:   nsatile.reshape
// CHECK:   nsatile.dot
// CHECK:   nsatile.consumer_release
// CHECK:   %[[NEXT:.*]] = arith.addi %[[J]], %[[STEP]]
// CHECK:   %[[LATER:.*]] = arith.addi %[[NEXT]], %[[STEP]]
// CHECK:   arith.cmpi slt, %[[LATER]], %
// CHECK:   scf.if %{{.*}} {
// CHECK:     %[[BLOCK:.*]] = memref.load %[[LIST]][%[[LATER]]]
// CHECK:     %[[PLACE:.*]] = arith.muli %[[BLOCK]]
// CHECK:     %[[FROM:.*]] = nsatile.at %{{.*}}[%[[PLACE]],
// CHECK:     nsatile.producer_load %{{.*}}, %[[FROM]]
nsatile.program @listed(%list: memref<?xindex>, %k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, stages = 3>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %block = memref.load %list[%j] : memref<?xindex>
    %first = arith.muli %block, %c64 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %same = nsatile.reshape %kt : tensor<64x64xbf16, #m> -> tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %same acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    scf.yield %s : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// -----

// What a step loads depends on the step before, on a tile, or on what the
// program writes: nothing is known ahead.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// CHECK-LABEL: nsatile.program @carried
// CHECK-NOT: nsatile.circular_buffer
nsatile.program @carried(%list: memref<?xindex>, %k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %c0) -> (tensor<64x64xf32, #s>, index) {
    %kt_at = nsatile.at %k[%at, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    %next = memref.load %list[%at] : memref<?xindex>
    scf.yield %s, %next : tensor<64x64xf32, #s>, index
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r#0, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @sorted
// CHECK-NOT: nsatile.circular_buffer
nsatile.program @sorted(%list: tensor<8xindex, #nsatile.blocked<threads = 128>>, %k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %block = tensor.extract %list[%j] : tensor<8xindex, #nsatile.blocked<threads = 128>>
    %kt_at = nsatile.at %k[%block, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    scf.yield %s : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @written
// CHECK-NOT: nsatile.circular_buffer
nsatile.program @written(%k: memref<?x64xbf16>, %q: tensor<64x64xbf16, #s>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %j = %c0 to %n step %c1 {
    %kt_at = nsatile.at %k[%j, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
    %p = arith.truncf %s : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
    %to = nsatile.at %k[%j, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xbf16> -> !nsatile.place<64x64xbf16>
    nsatile.store %p, %to : tensor<64x64xbf16, #s>
  }
  nsatile.return
}

// -----

// Folds load ahead as loops do.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// CHECK-LABEL: nsatile.program @fold
// CHECK: nsatile.producer_load
// CHECK: nsatile.fold over %{{.*}} to %[[END:.*]] full
// CHECK: ^bb0(%[[J:[a-z0-9]+]]: index
// CHECK:   nsatile.consumer_wait
// CHECK:   %[[NEXT:.*]] = arith.addi %[[J]]
// CHECK:   arith.cmpi slt, %[[NEXT]], %[[END]]
// CHECK:   nsatile.producer_load
// CHECK:   nsatile.yield
nsatile.program @fold(%k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %a: index, %b: index, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = nsatile.fold over %a to %n full %a to %b state(%zero : tensor<64x64xf32, #s>) {
  ^bb0(%j: index, %partial: i1, %acc: tensor<64x64xf32, #s>):
    %first = arith.muli %j, %c64 : index
    %t_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %t = nsatile.load %t_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %t acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    nsatile.yield %s : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}
