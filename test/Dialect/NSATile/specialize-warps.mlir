// A producer of its own loads what products read.
// RUN: nsacc-opt %s --nsatile-specialize-warps --canonicalize --split-input-file --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=attend | Remark="tiles that a producer loads for 4 warps: 2"
// REMARK: [Missed] {{.*}}Function=listed | Remark="the tile isn't loaded by a producer: its place depends on tiles"
// REMARK: [Missed] {{.*}}Function=listed | Remark="a producer can load none of its tiles"
// REMARK: [Missed] {{.*}}Function=unnamed | Remark="its schedule names no warps"
// REMARK: [Missed] {{.*}}Function=looks | Remark="a product looks at which pairs are visible"
// REMARK: [Missed] {{.*}}Function=ragged_step | Remark="the inner size of a product isn't a multiple of 16"
// REMARK: [Passed] {{.*}}Function=stores | Remark="tiles that a producer loads for 4 warps: 1"
// REMARK: [Passed] {{.*}}Function=table | Remark="tiles that a producer loads for 4 warps: 1"

#s = #nsatile.mma<warps = 4>

#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// CHECK-LABEL: nsatile.program @attend
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x64xbf16, strided<[?, 1], offset: ?>>, %[[V:[a-z0-9]+]]: memref<
nsatile.program @attend(%k: !B, %v: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4, stages = 3>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  // CHECK: %[[RK:.*]] = nsatile.circular_buffer : <3 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>
  // CHECK: %[[RV:.*]] = nsatile.circular_buffer : <3 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>
  // CHECK: nsatile.warp_specialize consumers 4 {
  // CHECK:   %[[ACC:.*]] = scf.for
  // CHECK:     %[[TK:.*]] = nsatile.consumer_wait %[[RK]]
  // CHECK:     nsatile.dot %{{.*}}, transpose %[[TK]]
  // CHECK:     nsatile.consumer_release %[[RK]]
  // CHECK:     %[[TV:.*]] = nsatile.consumer_wait %[[RV]]
  // CHECK:     nsatile.dot %{{.*}}, %[[TV]] acc
  // CHECK:     nsatile.consumer_release %[[RV]]
  // CHECK:   nsatile.store %[[ACC]]
  // CHECK: } producer {
  // CHECK:   scf.for %[[J:.*]] =
  // CHECK:     %[[FIRST:.*]] = arith.muli %[[J]]
  // CHECK:     %[[AT_K:.*]] = nsatile.at %[[K]][%[[FIRST]], %{{.*}}] dims [0, 1]
  // CHECK:     nsatile.producer_load %[[RK]], %[[AT_K]]
  // CHECK:     %[[AT_V:.*]] = nsatile.at %[[V]][%[[FIRST]], %{{.*}}] dims [0, 1]
  // CHECK:     nsatile.producer_load %[[RV]], %[[AT_V]]
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %first = arith.muli %j, %c64 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
    %vt_at = nsatile.at %v[%first, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %vt = nsatile.load %vt_at : tensor<64x64xbf16, #m>
    %p = arith.truncf %s : tensor<64x64xf32, #s> to tensor<64x64xbf16, #s>
    %o = nsatile.dot %p, %vt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    scf.yield %o : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// -----

// Which rows are loaded depends on a tile, which only consumers have; a schedule
// that names no warps; and a product that looks at who sees what.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// CHECK-LABEL: nsatile.program @listed
// CHECK-NOT: nsatile.warp_specialize
nsatile.program @listed(%k: !B, %q: tensor<64x64xbf16, #s>, %list: tensor<8xindex, #nsatile.blocked<threads = 128>>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %first = tensor.extract %list[%j] : tensor<8xindex, #nsatile.blocked<threads = 128>>
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    scf.yield %s : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @unnamed
// CHECK-NOT: nsatile.warp_specialize
nsatile.program @unnamed(%k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %kt_at = nsatile.at %k[%j, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    scf.yield %s : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @looks
// CHECK-NOT: nsatile.warp_specialize
nsatile.program @looks(%v: !B, %p: tensor<64x64xbf16, #s>, %seen: tensor<64x64xi1, #s>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %vt_at = nsatile.at %v[%j, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %vt = nsatile.load %vt_at : tensor<64x64xbf16, #m>
    %o = nsatile.dot %p, %vt acc %acc where %seen : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>, tensor<64x64xi1, #s>) -> tensor<64x64xf32, #s>
    scf.yield %o : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// Rows behind the tile, which the product's last step reads, are written by no
// bulk copy.
// CHECK-LABEL: nsatile.program @ragged_step
// CHECK-NOT: nsatile.warp_specialize
nsatile.program @ragged_step(%v: !B, %p: tensor<64x72xbf16, #s>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 72, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %vt_at = nsatile.at %v[%j, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<72x64xbf16>
    %vt = nsatile.load %vt_at : tensor<72x64xbf16, #m>
    %o = nsatile.dot %p, %vt acc %acc : (tensor<64x72xbf16, #s>, tensor<72x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    scf.yield %o : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}

// -----

// A loop that carries nothing: what it computes is stored in each step.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// CHECK-LABEL: nsatile.program @stores
// CHECK: nsatile.warp_specialize consumers 4 {
// CHECK:   scf.for %[[I:.*]] =
// CHECK:     nsatile.consumer_wait
// CHECK:     nsatile.consumer_release
// CHECK:     %[[TO:.*]] = nsatile.at %{{.*}}[%[[I]],
// CHECK:     nsatile.store %{{.*}}, %[[TO]]
// CHECK: } producer {
// CHECK:   scf.for %[[J:.*]] =
// CHECK-NEXT: %[[FROM:.*]] = nsatile.at %{{.*}}[%[[J]],
// CHECK-NEXT: nsatile.producer_load %{{.*}}, %[[FROM]]
// CHECK-NEXT: }
nsatile.program @stores(%k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<?x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  scf.for %j = %c0 to %n step %c64 {
    %kt_at = nsatile.at %k[%j, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
    %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
    %s = nsatile.dot %q, transpose %kt : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>) -> tensor<64x64xf32, #s>
    %to = nsatile.at %out[%j, %c0] dims [0, 1] limits [%n, %c64] : memref<?x64xf32> -> !nsatile.place<64x64xf32>
    nsatile.store %s, %to : tensor<64x64xf32, #s>
  }
  nsatile.return
}

// -----

// Scalars that come of a tile, as the elements of tables in a mask do, are the
// consumers' alone, outside of the loop and in it, and in branches that decide
// what is loaded.

#s = #nsatile.mma<warps = 4>
#r = #nsatile.slice<dim = 1, of = #s>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// CHECK-LABEL: nsatile.program @table
// CHECK: nsatile.warp_specialize consumers 4 {
// CHECK:   tensor.extract
// CHECK:   arith.addi
// CHECK:   scf.for
// CHECK:     arith.subi
// CHECK: } producer {
// CHECK-NOT: arith.addi
// CHECK:   scf.for %[[J:.*]] =
// CHECK-NEXT: scf.if
// CHECK-NEXT:   %[[FROM:.*]] = nsatile.at %{{.*}}[%[[J]],
// CHECK-NEXT:   nsatile.producer_load %{{.*}}, %[[FROM]]
// CHECK-NEXT: }
// CHECK-NEXT: }
nsatile.program @table(%k: !B, %q: tensor<64x64xbf16, #s>, %lengths: tensor<1xindex, #r>, %out: memref<64xindex>, %n: index, %flag: i1)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %length = tensor.extract %lengths[%c0] : tensor<1xindex, #r>
  %behind = arith.addi %length, %n : index
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zero, %most = %c0) -> (tensor<64x64xf32, #s>, index) {
    %left = arith.subi %behind, %j : index
    %next = arith.maxsi %left, %most : index
    %sum = scf.if %flag -> tensor<64x64xf32, #s> {
      %here = arith.muli %next, %left : index
      %kt_at = nsatile.at %k[%j, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<64x64xbf16>
      %kt = nsatile.load %kt_at : tensor<64x64xbf16, #m>
      %s = nsatile.dot %q, transpose %kt acc %acc : (tensor<64x64xbf16, #s>, tensor<64x64xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
      memref.store %here, %out[%c0] : memref<64xindex>
      scf.yield %s : tensor<64x64xf32, #s>
    } else {
      scf.yield %acc : tensor<64x64xf32, #s>
    }
    scf.yield %sum, %next : tensor<64x64xf32, #s>, index
  }
  memref.store %r#1, %out[%c0] : memref<64xindex>
  nsatile.return
}

// -----

// The producer goes over a fold's tiles without knowing which are full.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// CHECK-LABEL: nsatile.program @fold
// CHECK: nsatile.warp_specialize consumers 4 {
// CHECK:   nsatile.fold over %[[A:.*]] to %[[N:.*]] full
// CHECK:     nsatile.consumer_wait
// CHECK:     nsatile.yield
// CHECK: } producer {
// CHECK:   nsatile.fold over %[[A]] to %[[N]] {
// CHECK:   ^bb0(%[[J:[a-z0-9]+]]: index
// CHECK:     %[[FIRST:.*]] = arith.muli %[[J]]
// CHECK:     %[[FROM:.*]] = nsatile.at %{{.*}}[%[[FIRST]], %
// CHECK:     nsatile.producer_load %{{.*}}, %[[FROM]]
nsatile.program @fold(%k: !B, %q: tensor<64x64xbf16, #s>, %out: memref<64x64xf32>, %a: index, %b: index, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
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

// -----

// The inner elements of a transposed left operand are rows, which bulk copies leave as they were behind the last one.

#s = #nsatile.mma<warps = 4>
#m = #nsatile.shared<swizzle = 128>
!B = memref<?x64xbf16, strided<[?, 1], offset: ?>>

// CHECK-LABEL: nsatile.program @ragged_rows
// CHECK-NOT: nsatile.warp_specialize
// REMARK: [Missed] {{.*}}Function=ragged_rows | Remark="the inner size of a product isn't a multiple of 16"
nsatile.program @ragged_rows(%k: !B, %q: tensor<64x24xbf16, #nsatile.shared<swizzle = 128>>, %out: memref<64x64xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #s>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32, #s> {
    %first = arith.muli %j, %c24 : index
    %kt_at = nsatile.at %k[%first, %c0] dims [0, 1] limits [%n, %c64] : !B -> !nsatile.place<24x64xbf16>
    %kt = nsatile.load %kt_at : tensor<24x64xbf16, #m>
    %o = nsatile.dot transpose %kt, transpose %q acc %acc : (tensor<24x64xbf16, #m>, tensor<64x24xbf16, #m>, tensor<64x64xf32, #s>) -> tensor<64x64xf32, #s>
    scf.yield %o : tensor<64x64xf32, #s>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<64x64xf32> -> !nsatile.place<64x64xf32>
  nsatile.store %r, %to : tensor<64x64xf32, #s>
  nsatile.return
}
