// Equal operations with equal scalar code are computed once, whatever they are called.
// RUN: nsacc-opt %s --cse | FileCheck %s

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!kc = !nsa.tensor<[B, pool(S, 4, 4, drop), H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// CHECK-LABEL: nsa.kernel @twice
nsa.kernel @twice(%q: !q, %k: !k) -> (!o, !o, !o) {
  // CHECK-COUNT-1: nsa.pool
  // CHECK-NOT: nsa.pool
  %k0 = nsa.pool mean %k len 4 stride 4 tail drop : (!k) -> !kc
  %k1 = nsa.pool mean %k len 4 stride 4 tail drop {nsa.name = "again"} : (!k) -> !kc
  // CHECK: %[[CAUSAL:.*]], %{{.*}} = nsa.attend
  %o0, %l0 = nsa.attend(%q, %k0, %k0)
      mask (%b, %h, %t, %i, %j) {
        %c = arith.cmpi sle, %j, %i : index
        nsa.yield %c : i1
      } : (!q, !kc, !kc) -> (!o, !l)
  %o1, %l1 = nsa.attend(%q, %k1, %k1)
      mask (%b, %h, %t, %i, %j) {
        %c = arith.cmpi sle, %j, %i : index
        nsa.yield %c : i1
      } : (!q, !kc, !kc) -> (!o, !l)
  // CHECK: %[[STRICT:.*]], %{{.*}} = nsa.attend
  %o2, %l2 = nsa.attend(%q, %k1, %k1)
      mask (%b, %h, %t, %i, %j) {
        %c = arith.cmpi slt, %j, %i : index
        nsa.yield %c : i1
      } : (!q, !kc, !kc) -> (!o, !l)
  // CHECK: nsa.return %[[CAUSAL]], %[[CAUSAL]], %[[STRICT]]
  nsa.return %o0, %o1, %o2 : !o, !o, !o
}
