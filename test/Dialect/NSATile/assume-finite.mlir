// Products look at who sees what in a program of its own, where a row's sums aren't finite.
// RUN: nsacc-opt %s --nsatile-assume-finite --split-input-file --remarks-filter=".*" 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// REMARK: [Passed] {{.*}}Function=fast | Remark="products are plain, and rows that aren't finite are computed by another program"
// REMARK: [Missed] {{.*}}Function=rounded | Remark="products look at each pair: a product's sum doesn't leave its loop"
// REMARK: [Missed] {{.*}}Function=two_rows | Remark="products look at each pair: its products' sums or maxima don't have the rows of its queries"
// REMARK: [Missed] {{.*}}Function=grows | Remark="products look at each pair: it isn't known how many programs there are in a plan's loop"

// 64 tokens of 2 heads here, 16 there.

// CHECK-LABEL: nsatile.program @fast
// CHECK-SAME: %[[MARKS:[a-z0-9]+]]: memref<?xf32>, %[[X:[a-z0-9]+]]: index, %[[Y:[a-z0-9]+]]: index) attributes {schedule
// CHECK: %[[SUM:.*]] = scf.for
// CHECK-NOT: where
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.0
// CHECK: %[[NAN:.*]] = arith.mulf %[[SUM]], %[[ZERO]]
// CHECK: %[[MARK:.*]] = nsatile.reduce sum %[[NAN]] along 1
// CHECK: %[[AT:.*]] = nsatile.at %[[MARKS]]
// CHECK: nsatile.store %[[MARK]], %[[AT]]
// CHECK: nsatile.raise %[[MARK]]
// CHECK: nsatile.store
nsatile.program @fast(%p: memref<128x64xbf16>, %v: memref<64x32xbf16>, %out: memref<?x32xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>, nsatile.exact = @exact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %seen = arith.constant dense<true> : tensor<128x64xi1>
  %zero = arith.constant dense<0.0> : tensor<128x32xf32>
  %sum = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<128x32xf32> {
    %pt_at = nsatile.at %p[%c0, %c0] dims [0, 1] limits [%c128, %c64] : memref<128x64xbf16> -> !nsatile.place<128x64xbf16>
    %pt = nsatile.load %pt_at : tensor<128x64xbf16>
    %vt_at = nsatile.at %v[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xbf16> -> !nsatile.place<64x32xbf16>
    %vt = nsatile.load %vt_at : tensor<64x32xbf16>
    %o = nsatile.dot %pt, %vt acc %acc where %seen : (tensor<128x64xbf16>, tensor<64x32xbf16>, tensor<128x32xf32>, tensor<128x64xi1>) -> tensor<128x32xf32>
    scf.yield %o : tensor<128x32xf32>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c128, %c32] : memref<?x32xf32> -> !nsatile.place<128x32xf32>
  nsatile.store %sum, %to : tensor<128x32xf32>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @exact
// CHECK: nsatile.repair of(%{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: ^bb0(%[[ID:.*]]: index, %{{.*}}: index, %{{.*}}: index):
// CHECK: %[[OWN:.*]] = arith.constant 32
// CHECK: %[[FIRST:.*]] = arith.muli %[[ID]], %[[OWN]]
// CHECK: arith.divui %[[FIRST]]
// CHECK: arith.remui %[[FIRST]]
// CHECK: %[[MARK:.*]] = nsatile.load {{.*}} : tensor<32xf32>
// CHECK: %[[FINE:.*]] = nsatile.all_finite %[[MARK]]
// CHECK: %[[WRONG:.*]] = arith.xori %[[FINE]]
// CHECK: scf.if %[[WRONG]] {
// CHECK:   nsatile.dot {{.*}} where
// CHECK:   nsatile.store
// CHECK: }
// CHECK-NEXT: }
// CHECK-NEXT: nsatile.return
nsatile.program @exact(%p: memref<128x64xbf16>, %v: memref<64x32xbf16>, %out: memref<?x32xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 16, keys = 64>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %seen = arith.constant dense<true> : tensor<32x64xi1>
  %pt_at = nsatile.at %p[%c0, %c0] dims [0, 1] limits [%c32, %c64] : memref<128x64xbf16> -> !nsatile.place<32x64xbf16>
  %pt = nsatile.load %pt_at : tensor<32x64xbf16>
  %vt_at = nsatile.at %v[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xbf16> -> !nsatile.place<64x32xbf16>
  %vt = nsatile.load %vt_at : tensor<64x32xbf16>
  %o = nsatile.dot %pt, %vt where %seen : (tensor<32x64xbf16>, tensor<64x32xbf16>, tensor<32x64xi1>) -> tensor<32x32xf32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c32, %c32] : memref<?x32xf32> -> !nsatile.place<32x32xf32>
  nsatile.store %o, %to : tensor<32x32xf32>
  nsatile.return
}

// CHECK-LABEL: nsatile.plan
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
// CHECK: %[[SPACE:.*]] = nsatile.workspace(%{{.*}}) : memref<?xf32>
// CHECK: nsatile.launch @fast grid(%[[N]], %{{.*}}, %{{.*}}) ({{.*}}, %[[SPACE]], %[[N]], %{{[a-z0-9_]+}})
// CHECK: nsatile.launch @exact grid({{.*}}) ({{.*}}, %[[SPACE]], %[[N]], %{{[a-z0-9_]+}}, {{.*}})
nsatile.plan @plan(%p: memref<128x64xbf16>, %v: memref<64x32xbf16>, %out: memref<?x32xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %many = arith.muli %n, %c4 : index
  nsatile.launch @fast grid(%n, %c1, %c1) (%p, %v, %out, %n) : memref<128x64xbf16>, memref<64x32xbf16>, memref<?x32xf32>, index
  nsatile.launch @exact grid(%many, %c1, %c1) (%p, %v, %out) : memref<128x64xbf16>, memref<64x32xbf16>, memref<?x32xf32>
  nsatile.return
}

// -----

// A sum that is rounded in the loop: what it was isn't known behind it.

// CHECK-LABEL: nsatile.program @rounded
// CHECK-NOT: nsatile.exact
// CHECK: where
nsatile.program @rounded(%p: tensor<64x64xbf16>, %v: tensor<64x32xbf16>, %seen: tensor<64x64xi1>, %out: memref<64x32xbf16>)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>, nsatile.exact = @rounded_exact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xbf16>
  %sum = scf.for %j = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> tensor<64x32xbf16> {
    %o = nsatile.dot %p, %v where %seen : (tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x64xi1>) -> tensor<64x32xf32>
    %low = arith.truncf %o : tensor<64x32xf32> to tensor<64x32xbf16>
    scf.yield %low : tensor<64x32xbf16>
  }
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xbf16> -> !nsatile.place<64x32xbf16>
  nsatile.store %sum, %to : tensor<64x32xbf16>
  nsatile.return
}

// CHECK-NOT: @rounded_exact
nsatile.program @rounded_exact(%p: tensor<64x64xbf16>, %v: tensor<64x32xbf16>, %seen: tensor<64x64xi1>, %out: memref<64x32xbf16>)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>} {
  nsatile.return
}

// CHECK: nsatile.plan
nsatile.plan @plan(%p: tensor<64x64xbf16>, %v: tensor<64x32xbf16>, %seen: tensor<64x64xi1>, %out: memref<64x32xbf16>) {
  %c1 = arith.constant 1 : index
  // CHECK: nsatile.launch @rounded
  nsatile.launch @rounded grid(%c1, %c1, %c1) (%p, %v, %seen, %out) : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x64xi1>, memref<64x32xbf16>
  // CHECK-NOT: nsatile.launch
  nsatile.launch @rounded_exact grid(%c1, %c1, %c1) (%p, %v, %seen, %out) : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x64xi1>, memref<64x32xbf16>
  nsatile.return
}

// -----

// Scores of rows that don't look at a tile: the softmax leaves these rows out, and isn't asked of each score. The exact
// program asks. A row whose maximum is 2^22 and more is marked, too: 2^106 times that is infinite. One without keys isn't.

// CHECK-LABEL: nsatile.program @union
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<64x32xf32>, %[[ROWS:[a-z0-9]+]]: tensor<64xi1>
// CHECK: nsatile.softmax_update %{{.*}}, %{{.*}}, %[[S]] scale %{{.*}} rows %[[ROWS]] : tensor<64xi1> {nsatile.assumes_finite}
// CHECK: %[[LEAST:.*]] = arith.constant dense<0xFF800000>
// CHECK: %[[SEEN:.*]] = arith.cmpf une, %newMax, %[[LEAST]]
// CHECK: %[[MAX:.*]] = arith.select %[[SEEN]], %newMax
// CHECK: %[[FACTOR:.*]] = arith.constant dense<8.11296384E+31>
// CHECK: %[[LARGE:.*]] = arith.mulf %[[MAX]], %[[FACTOR]]
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.0
// CHECK: %[[OFMAX:.*]] = arith.mulf %[[LARGE]], %[[ZERO]]
// CHECK: nsatile.dot
// CHECK: %[[OFSUM:.*]] = nsatile.reduce
// CHECK: %[[MARK:.*]] = arith.addf %[[OFMAX]], %[[OFSUM]]
// CHECK: nsatile.raise %[[MARK]]
// CHECK-LABEL: nsatile.program @union_exact
// CHECK: %[[HIDDEN:.*]] = arith.select
// CHECK: nsatile.softmax_update %{{.*}}, %{{.*}}, %[[HIDDEN]] scale %{{[a-z0-9_]+}} :
nsatile.program @union(%s: tensor<64x32xf32>, %rows: tensor<64xi1>, %max: tensor<64xf32>, %sum: tensor<64xf32>, %v: tensor<32x32xbf16>, %out: memref<64x32xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 32>, nsatile.exact = @union_exact} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %least = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %all = nsatile.broadcast %rows along [1] : tensor<64xi1> -> tensor<64x32xi1>
  %hidden = arith.select %all, %s, %least : tensor<64x32xi1>, tensor<64x32xf32>
  %m, %l, %p, %d = nsatile.softmax_update %max, %sum, %hidden scale %one : tensor<64xf32>, tensor<64x32xf32>
  %p16 = arith.truncf %p : tensor<64x32xf32> to tensor<64x32xbf16>
  %o = nsatile.dot %p16, %v acc %s where %all : (tensor<64x32xbf16>, tensor<32x32xbf16>, tensor<64x32xf32>, tensor<64x32xi1>) -> tensor<64x32xf32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xf32> -> !nsatile.place<64x32xf32>
  nsatile.store %o, %to : tensor<64x32xf32>
  nsatile.return
}

nsatile.program @union_exact(%s: tensor<64x32xf32>, %rows: tensor<64xi1>, %max: tensor<64xf32>, %sum: tensor<64xf32>, %v: tensor<32x32xbf16>, %out: memref<64x32xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 32>} {
  %one = arith.constant 1.0 : f32
  %least = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %all = nsatile.broadcast %rows along [1] : tensor<64xi1> -> tensor<64x32xi1>
  %hidden = arith.select %all, %s, %least : tensor<64x32xi1>, tensor<64x32xf32>
  %m, %l, %p, %d = nsatile.softmax_update %max, %sum, %hidden scale %one : tensor<64xf32>, tensor<64x32xf32>
  nsatile.return
}

nsatile.plan @plan(%s: tensor<64x32xf32>, %rows: tensor<64xi1>, %max: tensor<64xf32>, %sum: tensor<64xf32>, %v: tensor<32x32xbf16>, %out: memref<64x32xf32>) {
  %c1 = arith.constant 1 : index
  nsatile.launch @union grid(%c1, %c1, %c1) (%s, %rows, %max, %sum, %v, %out) : tensor<64x32xf32>, tensor<64xi1>, tensor<64xf32>, tensor<64xf32>, tensor<32x32xbf16>, memref<64x32xf32>
  nsatile.launch @union_exact grid(%c1, %c1, %c1) (%s, %rows, %max, %sum, %v, %out) : tensor<64x32xf32>, tensor<64xi1>, tensor<64xf32>, tensor<64xf32>, tensor<32x32xbf16>, memref<64x32xf32>
  nsatile.return
}

// -----

// A row's greatest number, which the program has anyway, marks it. What stands in the place of numbers that aren't
// finite is of no use here, and stays in the exact program.

// CHECK-LABEL: nsatile.program @scaled
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: %[[SIZE:.*]] = math.absf %[[SUM]]
// CHECK: %[[GREATEST:.*]] = nsatile.reduce max %[[SIZE]] along 1
// CHECK: %[[MARK:.*]] = arith.mulf %[[GREATEST]], %{{.*}} : tensor<128xf32>
// CHECK-NOT: nsatile.reduce sum
// CHECK: nsatile.store %[[MARK]]
nsatile.program @scaled(%p: memref<128x64xbf16>, %v: memref<64x32xbf16>, %out: memref<?xf32>, %n: index)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>, nsatile.exact = @exact} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %seen = arith.constant dense<true> : tensor<128x64xi1>
  %zero = arith.constant dense<0.0> : tensor<128x32xf32>
  %infinity = arith.constant dense<0x7F800000> : tensor<128x32xf32>
  %sum = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<128x32xf32> {
    %pt_at = nsatile.at %p[%c0, %c0] dims [0, 1] limits [%c128, %c64] : memref<128x64xbf16> -> !nsatile.place<128x64xbf16>
    %pt = nsatile.load %pt_at : tensor<128x64xbf16>
    %vt_at = nsatile.at %v[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xbf16> -> !nsatile.place<64x32xbf16>
    %vt = nsatile.load %vt_at : tensor<64x32xbf16>
    %o = nsatile.dot %pt, %vt acc %acc where %seen : (tensor<128x64xbf16>, tensor<64x32xbf16>, tensor<128x32xf32>, tensor<128x64xi1>) -> tensor<128x32xf32>
    scf.yield %o : tensor<128x32xf32>
  }
  %size = math.absf %sum : tensor<128x32xf32>
  %finite = arith.cmpf olt, %size, %infinity : tensor<128x32xf32>
  %kept = arith.select %finite, %size, %zero {nsatile.only_finite} : tensor<128x32xi1>, tensor<128x32xf32>
  %greatest = nsatile.reduce max %kept along 1 : tensor<128x32xf32> -> tensor<128xf32>
  %to = nsatile.at %out[%c0] dims [0] limits [%c128] : memref<?xf32> -> !nsatile.place<128xf32>
  nsatile.store %greatest, %to : tensor<128xf32>
  nsatile.return
}

// CHECK-LABEL: nsatile.program @exact
nsatile.program @exact(%p: memref<128x64xbf16>, %v: memref<64x32xbf16>, %out: memref<?xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 16, keys = 64>} {
  nsatile.return
}

nsatile.plan @plan(%p: memref<128x64xbf16>, %v: memref<64x32xbf16>, %out: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  nsatile.launch @scaled grid(%c1, %c1, %c1) (%p, %v, %out, %c1) : memref<128x64xbf16>, memref<64x32xbf16>, memref<?xf32>, index
  nsatile.launch @exact grid(%c4, %c1, %c1) (%p, %v, %out) : memref<128x64xbf16>, memref<64x32xbf16>, memref<?xf32>
  nsatile.return
}

// -----

// Programs of a plan's loop: marks are of the largest grid, and stand in front of it.

// CHECK-LABEL: nsatile.program @looped
// CHECK-NOT: where
nsatile.program @looped(%p: memref<128x64xbf16>, %v: memref<64x32xbf16>, %out: memref<?x32xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>, nsatile.exact = @looped_exact} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %seen = arith.constant dense<true> : tensor<64x64xi1>
  %pt_at = nsatile.at %p[%c0, %c0] dims [0, 1] limits [%c64, %c64] : memref<128x64xbf16> -> !nsatile.place<64x64xbf16>
  %pt = nsatile.load %pt_at : tensor<64x64xbf16>
  %vt_at = nsatile.at %v[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xbf16> -> !nsatile.place<64x32xbf16>
  %vt = nsatile.load %vt_at : tensor<64x32xbf16>
  %o = nsatile.dot %pt, %vt where %seen : (tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x64xi1>) -> tensor<64x32xf32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<?x32xf32> -> !nsatile.place<64x32xf32>
  nsatile.store %o, %to : tensor<64x32xf32>
  nsatile.return
}

// CHECK: nsatile.program @looped_exact
nsatile.program @looped_exact(%p: memref<128x64xbf16>, %v: memref<64x32xbf16>, %out: memref<?x32xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 32, keys = 64>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %seen = arith.constant dense<true> : tensor<32x64xi1>
  %pt_at = nsatile.at %p[%c0, %c0] dims [0, 1] limits [%c32, %c64] : memref<128x64xbf16> -> !nsatile.place<32x64xbf16>
  %pt = nsatile.load %pt_at : tensor<32x64xbf16>
  %vt_at = nsatile.at %v[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xbf16> -> !nsatile.place<64x32xbf16>
  %vt = nsatile.load %vt_at : tensor<64x32xbf16>
  %o = nsatile.dot %pt, %vt where %seen : (tensor<32x64xbf16>, tensor<64x32xbf16>, tensor<32x64xi1>) -> tensor<32x32xf32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c32, %c32] : memref<?x32xf32> -> !nsatile.place<32x32xf32>
  nsatile.store %o, %to : tensor<32x32xf32>
  nsatile.return
}

// CHECK-LABEL: nsatile.plan
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 64 : index
// CHECK: %[[X:.*]] = arith.muli %[[ROWS]], %[[N]]
// CHECK: %[[Y:.*]] = arith.muli %[[X]], %{{.*}}
// CHECK: %[[SIZE:.*]] = arith.muli %[[Y]], %{{.*}}
// CHECK: %[[SPACE:.*]] = nsatile.workspace(%[[SIZE]]) : memref<?xf32>
// CHECK: nsatile.repeat
// CHECK: %[[SOME:.*]] = arith.minsi
// CHECK: nsatile.launch @looped grid(%[[SOME]], {{.*}}%[[SPACE]], %[[SOME]],
// CHECK: nsatile.launch @looped_exact grid({{.*}}%[[SPACE]], %[[SOME]],
nsatile.plan @plan(%p: memref<128x64xbf16>, %v: memref<64x32xbf16>, %out: memref<?x32xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  nsatile.repeat %i below %n {
    %rest = arith.subi %n, %i : index
    %some = arith.minsi %rest, %n : index
    nsatile.launch @looped grid(%some, %c1, %c1) (%p, %v, %out) : memref<128x64xbf16>, memref<64x32xbf16>, memref<?x32xf32>
    nsatile.launch @looped_exact grid(%some, %c1, %c1) (%p, %v, %out) : memref<128x64xbf16>, memref<64x32xbf16>, memref<?x32xf32>
  }
  nsatile.return
}

// -----

// A softmax of other rows than the products'.

// CHECK-LABEL: nsatile.program @two_rows
// CHECK-NOT: assumes_finite
// CHECK: nsatile.plan
nsatile.program @two_rows(%s: tensor<32x32xf32>, %seen: tensor<64x32xi1>, %max: tensor<32xf32>, %p: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %out: memref<64x32xf32>, %lse: memref<32xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 32>, nsatile.exact = @two_rows_exact} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %m, %l, %e, %d = nsatile.softmax_update %max, %max, %s scale %one : tensor<32xf32>, tensor<32x32xf32>
  %o = nsatile.dot %p, %v where %seen : (tensor<64x32xbf16>, tensor<32x32xbf16>, tensor<64x32xi1>) -> tensor<64x32xf32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xf32> -> !nsatile.place<64x32xf32>
  nsatile.store %o, %to : tensor<64x32xf32>
  %to_1 = nsatile.at %lse[%c0] dims [0] limits [%c32] : memref<32xf32> -> !nsatile.place<32xf32>
  nsatile.store %l, %to_1 : tensor<32xf32>
  nsatile.return
}

nsatile.program @two_rows_exact(%s: tensor<32x32xf32>, %seen: tensor<64x32xi1>, %max: tensor<32xf32>, %p: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %out: memref<64x32xf32>, %lse: memref<32xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 32>} {
  nsatile.return
}

nsatile.plan @plan(%s: tensor<32x32xf32>, %seen: tensor<64x32xi1>, %max: tensor<32xf32>, %p: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %out: memref<64x32xf32>, %lse: memref<32xf32>) {
  %c1 = arith.constant 1 : index
  nsatile.launch @two_rows grid(%c1, %c1, %c1) (%s, %seen, %max, %p, %v, %out, %lse) : tensor<32x32xf32>, tensor<64x32xi1>, tensor<32xf32>, tensor<64x32xbf16>, tensor<32x32xbf16>, memref<64x32xf32>, memref<32xf32>
  nsatile.launch @two_rows_exact grid(%c1, %c1, %c1) (%s, %seen, %max, %p, %v, %out, %lse) : tensor<32x32xf32>, tensor<64x32xi1>, tensor<32xf32>, tensor<64x32xbf16>, tensor<32x32xbf16>, memref<64x32xf32>, memref<32xf32>
  nsatile.return
}

// -----

// Where nobody knows how large a grid becomes, there is no place for marks.

// CHECK-LABEL: nsatile.program @grows
// CHECK: where
nsatile.program @grows(%p: tensor<64x64xbf16>, %v: tensor<64x32xbf16>, %seen: tensor<64x64xi1>, %out: memref<64x32xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>, nsatile.exact = @grows_exact} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %o = nsatile.dot %p, %v where %seen : (tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x64xi1>) -> tensor<64x32xf32>
  %to = nsatile.at %out[%c0, %c0] dims [0, 1] limits [%c64, %c32] : memref<64x32xf32> -> !nsatile.place<64x32xf32>
  nsatile.store %o, %to : tensor<64x32xf32>
  nsatile.return
}

nsatile.program @grows_exact(%p: tensor<64x64xbf16>, %v: tensor<64x32xbf16>, %seen: tensor<64x64xi1>, %out: memref<64x32xf32>)
    attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64>} {
  nsatile.return
}

// CHECK-NOT: nsatile.launch @grows_exact
nsatile.plan @plan(%p: tensor<64x64xbf16>, %v: tensor<64x32xbf16>, %seen: tensor<64x64xi1>, %out: memref<64x32xf32>, %n: index) {
  nsatile.repeat %i below %n {
    nsatile.launch @grows grid(%i, %n, %n) (%p, %v, %seen, %out) : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x64xi1>, memref<64x32xf32>
    nsatile.launch @grows_exact grid(%i, %n, %n) (%p, %v, %seen, %out) : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x64xi1>, memref<64x32xf32>
  }
  nsatile.return
}
