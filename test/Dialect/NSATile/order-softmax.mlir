// The order of a softmax step's instructions is an attribute that the lowering reads.
// RUN: nsacc-opt %s --nsatile-order-softmax | FileCheck %s
// RUN: nsacc-opt %s --nsatile-order-softmax --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: [Passed] {{.*}}a step's order: together
// REMARK: [Missed] {{.*}}a step's order: rows, which need the fewest registers: its sums may not be finite
// REMARK: [Passed] {{.*}}a step's order: decay_first
// REMARK: [Passed] {{.*}}a step's order: maxima_first

#four = #nsatile.mma<warps = 4>
#twelve = #nsatile.mma<warps = 12>
!rows4 = tensor<64xf32, #nsatile.slice<dim = 1, of = #four>>
!tile4 = tensor<64x64xf32, #four>
!rows12 = tensor<192xf32, #nsatile.slice<dim = 1, of = #twelve>>
!tile12 = tensor<192x64xf32, #twelve>

// CHECK-LABEL: @auto
nsatile.program @auto(%m: !rows4, %l: !rows4, %s: !tile4, %n: !rows12, %k: !rows12, %t: !tile12, %c: f32) {
  // CHECK: softmax_update {{.*}}nsatile.order = "together"
  %0:4 = nsatile.softmax_update %m, %l, %s scale %c {nsatile.assumes_finite} : !rows4, !tile4
  // CHECK: softmax_update {{.*}}nsatile.order = "rows"
  %1:4 = nsatile.softmax_update %m, %l, %s scale %c : !rows4, !tile4
  // CHECK: softmax_update {{.*}}nsatile.order = "decay_first"
  %2:4 = nsatile.softmax_update %n, %k, %t scale %c {nsatile.assumes_finite} : !rows12, !tile12
  nsatile.return
}

// CHECK-LABEL: @given
nsatile.program @given(%m: !rows4, %l: !rows4, %s: !tile4, %c: f32) attributes {schedule = #nsatile.schedule<tokens = 64, keys = 64, softmax = maxima_first>} {
  // CHECK: softmax_update {{.*}}nsatile.order = "maxima_first"
  %0:4 = nsatile.softmax_update %m, %l, %s scale %c : !rows4, !tile4
  nsatile.return
}
