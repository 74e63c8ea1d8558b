// An assertion takes the record's lock where it doesn't hold, unless a lesser failure stands there.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm | FileCheck %s

// CHECK: module attributes {nsacc.assertions = {{\[\[}}"row {0}", 1]]}
// CHECK-LABEL: llvm.func @check
// CHECK-SAME: nsatile.kernel = #nsatile.kernel<threads = 32, extra = [#nsatile.parameter<failures>]>
nsatile.program @check(%n: index) {
  %c0 = arith.constant 0 : index
  %i = nsatile.iota %c0 : tensor<32xindex, #nsatile.blocked<threads = 32>>
  %bound = tensor.splat %n : tensor<32xindex, #nsatile.blocked<threads = 32>>
  %ok = arith.cmpi slt, %i, %bound : tensor<32xindex, #nsatile.blocked<threads = 32>>
  // CHECK: scf.if
  // CHECK: scf.while
  // CHECK: llvm.load %{{.*}} atomic syncscope("device") acquire
  // CHECK: %[[BEHIND:.*]] = arith.ori
  // CHECK: scf.if %[[BEHIND]]
  // CHECK: } else {
  // CHECK: llvm.cmpxchg %{{.*}} syncscope("device") acquire monotonic
  // CHECK: llvm.store {{.*}} atomic syncscope("device") release
  // CHECK: llvm.fence acq_rel
  // CHECK: llvm.store {{.*}} atomic syncscope("device") release
  nsatile.assert %ok, "row {0}" (%i) : tensor<32xi1, #nsatile.blocked<threads = 32>>, tensor<32xindex, #nsatile.blocked<threads = 32>>
  nsatile.return
}
