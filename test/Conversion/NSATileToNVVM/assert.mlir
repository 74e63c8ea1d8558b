// An assertion takes the record's lock where it doesn't hold, unless a lesser failure stands there.
// RUN: nsacc-opt %s --convert-nsatile-to-nvvm --split-input-file | FileCheck %s

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

// -----

// Of a thread's elements the least one fails first. Its rows and columns differ by constants, which say which is less: only
// whether each fails is asked, and the value behind the places is compared for none of them.

#s = #nsatile.mma<warps = 4>

// CHECK-LABEL: llvm.func @pairs
// CHECK-COUNT-4: arith.cmpi slt
// CHECK: scf.if
// CHECK-NOT: arith.cmpi
// CHECK-COUNT-7: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
// CHECK-NOT: arith.cmpi
// CHECK: scf.while
nsatile.program @pairs(%n: index, %table: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %i = nsatile.iota %c0 : tensor<64xindex, #nsatile.slice<dim = 1, of = #s>>
  %j = nsatile.iota %c0 : tensor<8xindex, #nsatile.slice<dim = 0, of = #s>>
  %is = nsatile.broadcast %i along [1] : tensor<64xindex, #nsatile.slice<dim = 1, of = #s>> -> tensor<64x8xindex, #s>
  %js = nsatile.broadcast %j along [0] : tensor<8xindex, #nsatile.slice<dim = 0, of = #s>> -> tensor<64x8xindex, #s>
  %x = nsatile.gather %table[%js] : memref<?xi32>, tensor<64x8xindex, #s> -> tensor<64x8xi32, #s>
  %wide = arith.index_cast %x : tensor<64x8xi32, #s> to tensor<64x8xindex, #s>
  %bound = tensor.splat %n : tensor<64x8xindex, #s>
  %ok = arith.cmpi slt, %wide, %bound : tensor<64x8xindex, #s>
  nsatile.assert %ok, "row {0}, column {1}, value {2}" (%is, %js, %wide) : tensor<64x8xi1, #s>, tensor<64x8xindex, #s>, tensor<64x8xindex, #s>, tensor<64x8xindex, #s>
  nsatile.return
}
