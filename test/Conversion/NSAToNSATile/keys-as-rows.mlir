// A program whose rows are keys: each walks the queries that see one of its keys, between bounds solved for the queries.
// RUN: nsacc-opt %s --convert-nsa-to-nsatile --canonicalize --cse | FileCheck %s
// RUN: nsacc-opt %s --convert-nsa-to-nsatile --nsatile-online-softmax --nsacc-cpu-lowering | FileCheck %s --check-prefix=CPU
// CPU: llvm.func @f_keys_0

// DEFINE: %{device} =
// DEFINE: %{lower} = nsacc-opt %s --convert-nsa-to-nsatile --nsacc-tile-opt-phase=device=%{device} --nsacc-nvvm-phase=device=%{device} | mlir-translate --allow-unregistered-dialect --mlir-to-llvmir | llc -march=nvptx64 -mcpu=%{device} -mattr=+ptx83
// REDEFINE: %{device} = sm_90a
// RUN: %{lower} | FileCheck %s --check-prefix=PTX
// REDEFINE: %{device} = sm_80
// RUN: %{lower} | FileCheck %s --check-prefix=PTX
// PTX: .entry f_keys_0

// Keys of 16 are seen by queries from the first key's position to the last key's and 7 more: in tiles of 4 tokens, from
// first / 4 to (last + 8 + 3) / 4. No query tile sees all of them.
// CHECK-LABEL: nsatile.program @f_keys_0(
// CHECK: %[[AT_KEYS:.*]] = nsatile.at %k
// CHECK: %[[KEYS:.*]] = nsatile.load %[[AT_KEYS]]
// CHECK: nsatile.fold
// CHECK:   %[[AT_QUERIES:.*]] = nsatile.at %q
// CHECK:   %[[QUERIES:.*]] = nsatile.load %[[AT_QUERIES]]
// CHECK:   %[[ROWS:.*]] = tensor.collapse_shape %[[QUERIES]] {{.*}} into tensor<12x8xf32>
// CHECK:   nsatile.dot %[[KEYS]], transpose %[[ROWS]] {{.*}} -> tensor<16x12xf32>
// CHECK:   nsatile.reduce sum {{.*}} -> tensor<16xf32>
// CHECK: nsatile.store {{.*}} tensor<16xf32>
nsa.kernel @f(
    %q: !nsa.tensor<[B, T, HQ, D], f32> {nsa.name = "q"},
    %k: !nsa.tensor<[B, S, H, D], f32> {nsa.name = "k"})
    -> (!nsa.tensor<[B, S, H], f32> {nsa.name = "out"}) attributes {nsa.sizes = {D = 8 : i64, H = 2 : i64, HQ = 6 : i64}} {
  %sums = "tiletest.sum_queries"(%q, %k) ({}, {
  ^bb0(%b: index, %h: index, %t: index, %i: index, %j: index):
    %distance = arith.subi %i, %j : index
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %past = arith.cmpi sle, %c0, %distance : index
    %near = arith.cmpi slt, %distance, %c8 : index
    %visible = arith.andi %past, %near : i1
    nsa.yield %visible : i1
  }, {}, {}) {nsatile.schedule = #nsatile.schedule<tokens = 4, keys = 16>} : (!nsa.tensor<[B, T, HQ, D], f32>, !nsa.tensor<[B, S, H, D], f32>) -> !nsa.tensor<[B, S, H], f32>
  nsa.return %sums : !nsa.tensor<[B, S, H], f32>
}
