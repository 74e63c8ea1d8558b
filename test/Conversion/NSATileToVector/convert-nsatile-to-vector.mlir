// Programs become functions over vectors; tiles get memory where they need it.
// RUN: nsacc-opt %s --convert-nsatile-to-vector --split-input-file | FileCheck %s
// RUN: nsacc-opt %s --convert-nsatile-to-vector=vector-bits=128 --split-input-file | FileCheck %s --check-prefix=NARROW

// Elementwise code is computed where it is stored: no memory but for the copy
// of a tile that crosses the limits.
// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>, %[[N:.*]]: index, %[[P:.*]]: index, %{{.*}}: index, %{{.*}}: index)
// CHECK-SAME: nsacc.scratch_bytes = 128
// CHECK-COUNT-1: memref.alloca
// CHECK-NOT: memref.alloca
// CHECK: %[[TILE:.*]] = scf.if %{{.*}} -> (memref<20xf32, strided<[1], offset: ?>>)
// CHECK: memref.extract_strided_metadata %[[X]]
// CHECK: memref.reinterpret_cast %{{.*}}, sizes: [20], strides: [1]
// CHECK: } else {
// CHECK: vector.store %{{.*}} : memref<20xf32>, vector<16xf32>
// CHECK: vector.load %[[TILE]][%{{.*}}] {{.*}} vector<16xf32>
// CHECK: arith.mulf %{{.*}} : vector<16xf32>
// CHECK: vector.store %{{.*}}, %[[Y]]
// CHECK: arith.mulf %{{.*}} : vector<4xf32>
// NARROW-LABEL: func.func @elementwise(
// NARROW: arith.mulf %{{.*}} : vector<4xf32>
nsatile.program @elementwise(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %p = nsatile.program_id 0
  %t_at = nsatile.at %x[%p] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<20xf32>
  %t = nsatile.load %t_at : tensor<20xf32>
  %u = arith.mulf %t, %t : tensor<20xf32>
  %v = arith.addf %u, %t : tensor<20xf32>
  %to = nsatile.at %y[%p] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<20xf32>
  nsatile.store %v, %to : tensor<20xf32>
  nsatile.return
}

// -----

// A buffer that is written is read at the load, not later.
// CHECK-LABEL: func.func @in_place(
// CHECK-NOT: memref.reinterpret_cast
// CHECK: return
nsatile.program @in_place(%x: memref<?xf32>, %n: index) {
  %p = nsatile.program_id 1
  %t_at = nsatile.at %x[%p] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<16xf32>
  %t = nsatile.load %t_at : tensor<16xf32>
  %to = nsatile.at %x[%p] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<16xf32>
  nsatile.store %t, %to : tensor<16xf32>
  nsatile.return
}

// -----

// The accumulator is scaled as it is read, and written where it was: the loop
// carries no tile, and its body ends with the product.
// CHECK-LABEL: func.func @accumulate(
// CHECK: %[[ACC:.*]] = memref.alloca() {{.*}} : memref<8x64xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK: vector.load %[[ACC]]
// CHECK: arith.mulf
// CHECK: %[[SUMS:.*]]:{{[0-9]+}} = scf.for {{.*}} iter_args
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: memref.load
// CHECK: vector.fma
// CHECK: vector.store %[[SUMS]]#0, %[[ACC]]
nsatile.program @accumulate(%x: memref<8x8xf32>, %y: memref<8x64xf32>, %n: index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %64 = arith.constant 64 : index
  %half = arith.constant dense<0.5> : tensor<8x64xf32>
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %a_at = nsatile.at %x[%0, %0] dims [0, 1] limits [%8, %8] : memref<8x8xf32> -> !nsatile.place<8x8xf32>
  %a = nsatile.load %a_at : tensor<8x8xf32>
  %b = arith.constant dense<1.0> : tensor<8x64xf32>
  %r = scf.for %i = %0 to %n step %1 iter_args(%acc = %zero) -> (tensor<8x64xf32>) {
    %s = arith.mulf %acc, %half : tensor<8x64xf32>
    %d = nsatile.dot %a, %b acc %s : (tensor<8x8xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    scf.yield %d : tensor<8x64xf32>
  }
  %to = nsatile.at %y[%0, %0] dims [0, 1] limits [%8, %64] : memref<8x64xf32> -> !nsatile.place<8x64xf32>
  nsatile.store %r, %to : tensor<8x64xf32>
  nsatile.return
}

// -----

// A transposed operand is transposed once, by shuffles, before the product.
// CHECK-LABEL: func.func @transposed(
// CHECK: arith.extf
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}} : memref<16x32xf32>, vector<16xf32>
// CHECK: vector.fma
nsatile.program @transposed(%x: memref<4x16xbf16>, %k: memref<32x16xbf16>, %y: memref<4x32xf32>) {
  %0 = arith.constant 0 : index
  %64 = arith.constant 64 : index
  %a_at = nsatile.at %x[%0, %0] dims [0, 1] limits [%64, %64] : memref<4x16xbf16> -> !nsatile.place<4x16xbf16>
  %a = nsatile.load %a_at : tensor<4x16xbf16>
  %b_at = nsatile.at %k[%0, %0] dims [0, 1] limits [%64, %64] : memref<32x16xbf16> -> !nsatile.place<32x16xbf16>
  %b = nsatile.load %b_at : tensor<32x16xbf16>
  %d = nsatile.dot %a, transpose %b : (tensor<4x16xbf16>, tensor<32x16xbf16>) -> tensor<4x32xf32>
  %to = nsatile.at %y[%0, %0] dims [0, 1] limits [%64, %64] : memref<4x32xf32> -> !nsatile.place<4x32xf32>
  nsatile.store %d, %to : tensor<4x32xf32>
  nsatile.return
}

// -----

// Plans are gone, programs without tiles are plain functions.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: return
// CHECK-NOT: nsatile.plan
nsatile.program @nothing(%n: index) {
  nsatile.return
}
nsatile.plan @plan(%x: memref<?xf32>) {
  nsatile.return
}

// -----

// The plain product is stored where it is finite; otherwise, row by row, what a
// row doesn't see counts as zeros.
// CHECK-LABEL: func.func @seen(
// CHECK: vector.fma
// CHECK: %[[NUMBER:.*]] = arith.cmpf ord, {{.*}} : vector<16xf32>
// CHECK: %[[FINITE:.*]] = vector.reduction <and>, %[[NUMBER]]
// CHECK: scf.if %[[FINITE]] {
// CHECK-NOT: vector.fma
// CHECK: vector.store
// CHECK: } else {
// CHECK: %[[SEEN:.*]] = arith.cmpf une, {{.*}} : f32
// CHECK: %[[MASK:.*]] = vector.broadcast %[[SEEN]] : i1 to vector<16xi1>
// CHECK: %[[ZEROED:.*]] = arith.select %[[MASK]], {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: vector.fma %{{.*}}, %[[ZEROED]], %{{.*}} : vector<16xf32>
nsatile.program @seen(%p: memref<4x8xf32>, %v: memref<8x16xf32>, %o: memref<4x16xf32>) {
  %0 = arith.constant 0 : index
  %9 = arith.constant 99 : index
  %least = arith.constant dense<0xFF800000> : tensor<4x8xf32>
  %pt_at = nsatile.at %p[%0, %0] dims [0, 1] limits [%9, %9] : memref<4x8xf32> -> !nsatile.place<4x8xf32>
  %pt = nsatile.load %pt_at : tensor<4x8xf32>
  %vt_at = nsatile.at %v[%0, %0] dims [0, 1] limits [%9, %9] : memref<8x16xf32> -> !nsatile.place<8x16xf32>
  %vt = nsatile.load %vt_at : tensor<8x16xf32>
  %seen = arith.cmpf une, %pt, %least : tensor<4x8xf32>
  %e = math.exp %pt : tensor<4x8xf32>
  %r = nsatile.dot %e, %vt where %seen : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x8xi1>) -> tensor<4x16xf32>
  %to = nsatile.at %o[%0, %0] dims [0, 1] limits [%9, %9] : memref<4x16xf32> -> !nsatile.place<4x16xf32>
  nsatile.store %r, %to : tensor<4x16xf32>
  nsatile.return
}

// -----

// A loop over vectors notes whether a condition holds; the rest is code that
// only a failure comes to.
// CHECK: module attributes {nsacc.assertions = {{\[\[}}"element {0} is {1}", 2]]}
// CHECK: func.func private @nsacc_report_failure(i64, index)
// CHECK-LABEL: func.func @require(
// CHECK: %[[HOLDS:.*]] = arith.cmpi slt, {{.*}} : vector<16xindex>
// CHECK: vector.reduction <and>, %[[HOLDS]]
// CHECK: %[[ALL:.*]] = arith.trunci %{{.*}} : i8 to i1
// CHECK: scf.if %[[ALL]] {
// CHECK-NOT: memref.store
// CHECK: } else {
// CHECK: scf.for
// CHECK: memref.store %{{.*}} : memref<24xi64>
// CHECK: arith.cmpi slt, {{.*}} : index
// CHECK: %[[ID:.*]] = arith.constant 0 : i64
// CHECK: call @nsacc_report_failure(%[[ID]], %{{.*}}) : (i64, index) -> ()
nsatile.program @require(%x: memref<16xi64>, %n: index) {
  %0 = arith.constant 0 : index
  %9 = arith.constant 99 : index
  %t_at = nsatile.at %x[%0] dims [0] limits [%9] : memref<16xi64> -> !nsatile.place<16xi64>
  %t = nsatile.load %t_at : tensor<16xi64>
  %i = arith.index_cast %t : tensor<16xi64> to tensor<16xindex>
  %s = tensor.splat %n : tensor<16xindex>
  %ok = arith.cmpi slt, %i, %s : tensor<16xindex>
  %at = nsatile.iota %0 : tensor<16xindex>
  nsatile.assert %ok, "element {0} is {1}" (%at, %i) : tensor<16xi1>, tensor<16xindex>, tensor<16xindex>
  nsatile.return
}

// -----

// Ops over the same elements share a loop: gathers by what gathers read, and
// what is required of it, whose shared values are stored once.
// CHECK-LABEL: func.func @nested_gathers(
// CHECK: scf.for
// CHECK: vector.gather
// CHECK-NOT: scf.for
// CHECK: vector.gather
// CHECK-NOT: scf.for
// CHECK: arith.andi %{{.*}} : vector<16xi1>
// CHECK-NOT: scf.for
// CHECK: scf.if
// CHECK-NOT: scf.for
// CHECK: else
// CHECK: scf.for
// CHECK-COUNT-4: memref.store %{{.*}} : memref<24xi64>
// CHECK-NOT: memref.store %{{.*}} : memref<24xi64>
// CHECK: return
nsatile.program @nested_gathers(%table: memref<?xi64, strided<[?], offset: ?>>, %size: index) {
  %first = arith.constant 0 : index
  %at = nsatile.iota %first : tensor<80xindex>
  %s = tensor.splat %size : tensor<80xindex>
  %x = nsatile.gather %table[%at] : memref<?xi64, strided<[?], offset: ?>>, tensor<80xindex> -> tensor<80xi64>
  %i = arith.index_cast %x : tensor<80xi64> to tensor<80xindex>
  %x_inside = arith.cmpi slt, %i, %s : tensor<80xindex>
  nsatile.assert %x_inside, "element {0} is {1}, not below {2}" (%at, %i, %size) : tensor<80xi1>, tensor<80xindex>, tensor<80xindex>, index
  %y = nsatile.gather %table[%i] : memref<?xi64, strided<[?], offset: ?>>, tensor<80xindex> -> tensor<80xi64>
  %j = arith.index_cast %y : tensor<80xi64> to tensor<80xindex>
  %y_inside = arith.cmpi slt, %j, %s : tensor<80xindex>
  nsatile.assert %y_inside, "element {0} is {1}, not below {2}" (%at, %j, %size) : tensor<80xi1>, tensor<80xindex>, tensor<80xindex>, index
  nsatile.return
}

// -----

// Column 0 is the last one in front; the others are those before them: a vector of 16 and one of 2 and 1.
// CHECK-LABEL: func.func @shift(
// CHECK: scf.for
// CHECK: memref.load
// CHECK: memref.store
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: vector.store {{.*}} vector<16xf32>
// CHECK: vector.load {{.*}} vector<2xf32>
// CHECK: memref.load
nsatile.program @shift(%x: memref<?x20xf32>, %y: memref<?x20xf32>, %n: index) {
  %p = nsatile.program_id 0
  %c0 = arith.constant 0 : index
  %c20 = arith.constant 20 : index
  %t_at = nsatile.at %x[%p, %c0] dims [0, 1] limits [%n, %c20] : memref<?x20xf32> -> !nsatile.place<4x20xf32>
  %t = nsatile.load %t_at : tensor<4x20xf32>
  %u_at = nsatile.at %y[%p, %c0] dims [0, 1] limits [%n, %c20] : memref<?x20xf32> -> !nsatile.place<4x20xf32>
  %u = nsatile.load %u_at : tensor<4x20xf32>
  %s = nsatile.shift %t, %u : tensor<4x20xf32>
  %to = nsatile.at %y[%p, %c0] dims [0, 1] limits [%n, %c20] : memref<?x20xf32> -> !nsatile.place<4x20xf32>
  nsatile.store %s, %to : tensor<4x20xf32>
  nsatile.return
}
