// An op that nothing in lib or dialects names goes from whole tensors to tiles, and to code for CPUs and GPUs.
// RUN: nsacc-opt %s --convert-nsa-to-nsatile --canonicalize --cse | FileCheck %s
// RUN: nsacc-opt %s --convert-nsa-to-nsatile --nsatile-online-softmax --nsacc-cpu-lowering | FileCheck %s --check-prefix=CPU
// CPU: llvm.func @f_attend_0

// DEFINE: %{device} =
// DEFINE: %{lower} = nsacc-opt %s --convert-nsa-to-nsatile --nsacc-tile-opt-phase=device=%{device} --nsacc-nvvm-phase=device=%{device} | mlir-translate --allow-unregistered-dialect --mlir-to-llvmir | llc -march=nvptx64 -mcpu=%{device} -mattr=+ptx83
// REDEFINE: %{device} = sm_90a
// RUN: %{lower} | FileCheck %s --check-prefix=PTX
// REDEFINE: %{device} = sm_80
// RUN: %{lower} | FileCheck %s --check-prefix=PTX
// PTX: .entry f_attend_0

// Its operands aren't computed in tiles of any elements, and it needs a schedule.
// RUN: sed 's/{nsatile.schedule = [^>]*>}//' %s > %t.unset.mlir
// RUN: not nsacc-opt %t.unset.mlir --convert-nsa-to-nsatile 2>&1 | FileCheck %s --check-prefix=UNSET
// UNSET: error: 'tiletest.sum_visible' op needs nsatile.schedule = #nsatile.schedule<tokens = …, keys = …> to be tiled, found none

// Its schedule is chosen without a line that names it: tiles as for any scores, and its own number of keys.
// RUN: nsacc-opt %t.unset.mlir --nsa-set-schedule=device=sm_90a | FileCheck %s --check-prefix=CHOSEN
// CHOSEN: tiletest.sum_visible
// CHOSEN: nsatile.schedule = #nsatile.schedule<tokens = 21, keys = 48>
// RUN: nsacc-opt %t.unset.mlir "--nsa-set-schedule=schedule=sum_visible.1:tokens=5,keys=16" | FileCheck %s --check-prefix=GIVEN
// GIVEN: #nsatile.schedule<tokens = 5, keys = 16>
// RUN: not nsacc-opt %t.unset.mlir "--nsa-set-schedule=schedule=sum_visible.1:order=union" 2>&1 | FileCheck %s --check-prefix=FIELD
// FIELD: 'sum_visible.1' is a sum_visible without a field 'order': it has tokens, keys, warps, stages, program

// CHECK-LABEL: nsatile.program @f_attend_0(
// CHECK-SAME: nsatile.ops = [
// CHECK-SAME: schedule = #nsatile.schedule<tokens = 4, keys = 16>
// CHECK: nsatile.fold
// CHECK:   nsatile.dot
// CHECK:   nsatile.reduce sum
// CHECK: nsatile.store
// CHECK: nsatile.plan @f(%q: {{.*}}, %k: {{.*}}, %out:
nsa.kernel @f(
    %q: !nsa.tensor<[B, T, HQ, D], f32> {nsa.name = "q"},
    %k: !nsa.tensor<[B, S, H, D], f32> {nsa.name = "k"})
    -> (!nsa.tensor<[B, T, HQ], f32> {nsa.name = "out"}) attributes {nsa.sizes = {D = 8 : i64, H = 2 : i64, HQ = 6 : i64}} {
  %sums = "tiletest.sum_visible"(%q, %k) ({}, {
  ^bb0(%b: index, %h: index, %t: index, %i: index, %j: index):
    %visible = arith.cmpi sle, %j, %i : index
    nsa.yield %visible : i1
  }, {}, {}) {nsatile.schedule = #nsatile.schedule<tokens = 4, keys = 16>} : (!nsa.tensor<[B, T, HQ, D], f32>, !nsa.tensor<[B, S, H, D], f32>) -> !nsa.tensor<[B, T, HQ], f32>
  nsa.return %sums : !nsa.tensor<[B, T, HQ], f32>
}
