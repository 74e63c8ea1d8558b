// Every operation, type and clause is read, printed and read again, as text and as bytecode.
// RUN: nsacc-opt %s --verify-roundtrip | FileCheck %s
// RUN: nsacc-opt %s --mlir-print-op-generic | nsacc-opt | FileCheck %s
// RUN: nsacc-opt %s --emit-bytecode | nsacc-opt | FileCheck %s

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!kc = !nsa.tensor<[B, pool(S, 32, 16, drop), H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>
!p = !nsa.tensor<[B, T, H, pool(S, 32, 16, drop)], f32>
!pb = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!sel = !nsa.selection<[B, T, H], top = 19, block = 64, of = S>

// Callers' orders are kept.
// CHECK-LABEL: nsa.kernel @orders(
// CHECK-NEXT:      %q: !nsa.tensor<[B, T, HQ, D], bf16> {nsa.name = "q", nsa.order = array<i64: 0, 2, 1, 3>})
// CHECK-NEXT:      -> (!nsa.tensor<[B, T, HQ, D], bf16> {nsa.name = "out", nsa.order = array<i64: 2, 0, 1, 3>}) {
nsa.kernel @orders(%q: !q {nsa.name = "q", nsa.order = array<i64: 0, 2, 1, 3>})
    -> (!q {nsa.name = "out", nsa.order = array<i64: 2, 0, 1, 3>}) {
  nsa.return %q : !q
}

// Arguments are called as in the program, one on each line.
// CHECK-LABEL: nsa.kernel @everything(
// CHECK-NEXT:      %q: !nsa.tensor<[B, T, HQ, D], bf16> {nsa.name = "q"},
// CHECK-NEXT:      %k: !nsa.tensor<[B, S, H, D], bf16> {nsa.name = "k"},
// CHECK-NEXT:      %slope: !nsa.tensor<[HQ], f32> {nsa.name = "slope"},
// CHECK-NEXT:      %count: !nsa.tensor<[B, T, H], i32> {nsa.name = "count"})
// CHECK-NEXT:      -> (!nsa.tensor<[B, T, HQ, D], f32> {nsa.name = "out"}, !nsa.tensor<[B, T, H, 19], i32>) attributes {params = {top = 16 : i64}} {
nsa.kernel @everything(%q: !q {nsa.name = "q"}, %k: !k {nsa.name = "k"}, %slope: !nsa.tensor<[HQ], f32> {nsa.name = "slope"},
                       %count: !nsa.tensor<[B, T, H], i32> {nsa.name = "count"})
    -> (!o {nsa.name = "out"}, !nsa.tensor<[B, T, H, 19], i32>) attributes {params = {top = 16}} {
  // CHECK-NEXT: %pooled = nsa.pool mean %k len 32 stride 16 tail drop : (!nsa.tensor<[B, S, H, D], bf16>) -> !nsa.tensor<[B, pool(S, 32, 16, drop), H, D], bf16>
  %kc = nsa.pool mean %k len 32 stride 16 tail drop : (!k) -> !kc
  // CHECK-NEXT: %o, %lse = nsa.attend(%q, %pooled, %pooled)
  // CHECK-NEXT:     scale {
  // CHECK-NEXT:       %D = nsa.dim "D"
  // CHECK:          }
  // CHECK-NEXT:     mask (%b, %h, %t, %i, %j) {
  // CHECK-NEXT:       %1 = arith.cmpi sle, %j, %i : index
  // CHECK-NEXT:       nsa.yield %1 : i1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     score (%s, %b, %h, %t, %i, %j) {
  // CHECK-NEXT:       %1 = math.tanh %s : f32
  // CHECK-NEXT:       nsa.yield %1 : f32
  // CHECK-NEXT:     }
  // CHECK-NEXT:     sink (%b, %h, %t, %i) {
  // CHECK-NEXT:       %1 = nsa.table_read %slope[%h] : !nsa.tensor<[HQ], f32>
  // CHECK-NEXT:       nsa.yield %1 : f32
  // CHECK-NEXT:     } : (!nsa.tensor<[B, T, HQ, D], bf16>, {{.*}}) -> (!nsa.tensor<[B, T, HQ, D], f32>, !nsa.tensor<[B, T, HQ], f32>)
  %o, %lse = nsa.attend(%q, %kc, %kc)
      scale () {
        %d = nsa.dim "D"
        %e = arith.index_cast %d : index to i64
        %f = arith.sitofp %e : i64 to f32
        nsa.yield %f : f32
      }
      mask (%b, %h, %t, %i, %j) {
        %c = arith.cmpi sle, %j, %i : index
        nsa.yield %c : i1
      }
      score (%s, %b, %h, %t, %i, %j) {
        %c = math.tanh %s : f32
        nsa.yield %c : f32
      }
      sink (%b, %h, %t, %i) {
        %c = nsa.table_read %slope[%h] : !nsa.tensor<[HQ], f32>
        nsa.yield %c : f32
      } : (!q, !kc, !kc) -> (!o, !l)
  // CHECK-NEXT: %p = nsa.importance prob heads sum(%q, %pooled) lse %lse : ({{.*}}) -> !nsa.tensor<[B, T, H, pool(S, 32, 16, drop)], f32>
  %p = nsa.importance prob heads sum(%q, %kc) lse %lse : (!q, !kc, !l) -> !p
  // CHECK-NEXT: %blocks = nsa.blocks overlap %p block 64 : !nsa.tensor<[B, T, H, pool(S, 32, 16, drop)], f32> -> !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
  %pb = nsa.blocks overlap %p block 64 : !p -> !pb
  // CHECK-NEXT: %sel = nsa.topk %blocks count %count top 16 plus first 1 last 2 share_tokens 2 by last share_heads 1 by max
  // CHECK-NEXT:     mask (%b, %h, %t, %i, %j) {
  // CHECK:          } : (!nsa.tensor<[B, T, H, blocks(S, 64)], f32>, !nsa.tensor<[B, T, H], i32>) -> !nsa.selection<[B, T, H], top = 19, block = 64, of = S>
  %sel = nsa.topk %pb count %count top 16 plus first 1 last 2 share_tokens 2 by last share_heads 1 by max
      mask (%b, %h, %t, %i, %j) {
        %c = arith.cmpi sle, %j, %i : index
        nsa.yield %c : i1
      } : (!pb, !nsa.tensor<[B, T, H], i32>) -> !sel
  // CHECK-NEXT: %o_0 = nsa.attend(%q, %k, %k) in %sel
  // CHECK-NEXT:     weight (%s, %b, %h, %t, %i, %j) {
  // CHECK:          normalize (%sum, %visible, %b, %h, %t, %i) {
  %o2 = nsa.attend(%q, %k, %k) in %sel
      weight (%s, %b, %h, %t, %i, %j) {
        nsa.yield %s : f32
      }
      normalize (%sum, %visible, %b, %h, %t, %i) {
        nsa.yield %sum : f32
      } : (!q, !k, !k, !sel) -> !o
  // CHECK: %o_1, %lse_2 = nsa.attend(%q, %k, %k) in %sel :
  %o3, %lse3 = nsa.attend(%q, %k, %k) in %sel : (!q, !k, !k, !sel) -> (!o, !l)
  // CHECK-NEXT: %o_3, %lse_4 = nsa.merge(%o, %o_1) lse(%lse, %lse_2) :
  %m, %ml = nsa.merge(%o, %o3) lse (%lse, %lse3) : (!o, !o, !l, !l) -> (!o, !l)
  // CHECK-NEXT: %0 = nsa.map(%o_3, %o_0, %lse_4) : ({{.*}}) -> !nsa.tensor<[B, T, HQ, D], f32> {
  // CHECK-NEXT: ^bb0(%x: f32, %x_5: f32, %x_6: f32):
  %r = nsa.map(%m, %o2, %ml) : (!o, !o, !l) -> !o {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %a = arith.addf %x, %y : f32
    %e = arith.mulf %a, %z : f32
    nsa.yield %e : f32
  }
  // CHECK: %idx = nsa.indices %sel : !nsa.selection<[B, T, H], top = 19, block = 64, of = S> -> !nsa.tensor<[B, T, H, 19], i32>
  %idx = nsa.indices %sel : !sel -> !nsa.tensor<[B, T, H, 19], i32>
  // CHECK-NEXT: nsa.return %0, %idx :
  nsa.return %r, %idx : !o, !nsa.tensor<[B, T, H, 19], i32>
}

// CHECK-LABEL: nsa.kernel @declared(
nsa.kernel @declared(%q: !q, %k: !k, %x: !nsa.tensor<[B, N, H, D], bf16>, %w: !nsa.tensor<[H, 4], f32>,
                     %scores: !nsa.tensor<[B, T, HQ, M], f32>, %idx: !nsa.tensor<[B, T, H, 19], i64>) {
  // CHECK: %pooled = nsa.declare_pooled %{{.*}} : !nsa.tensor<[B, N, H, D], bf16> -> !nsa.tensor<[B, pooled(N of S, 32, 16, -16, 1), H, D], bf16>
  %kc = nsa.declare_pooled %x : !nsa.tensor<[B, N, H, D], bf16> -> !nsa.tensor<[B, pooled(N of S, 32, 16, -16, 1), H, D], bf16>
  // CHECK-NEXT: %p = nsa.importance activation heads none(%{{.*}}, %pooled)
  // CHECK-NEXT:     weight (%s, %b, %h, %t, %i, %j) {
  %p = nsa.importance activation heads none(%q, %kc)
      weight (%s, %b, %h, %t, %i, %j) {
        nsa.yield %s : f32
      } : (!q, !nsa.tensor<[B, pooled(N of S, 32, 16, -16, 1), H, D], bf16>) -> !nsa.tensor<[B, T, HQ, pooled(N of S, 32, 16, -16, 1)], f32>
  // CHECK: %pooled_0 = nsa.pool weighted %{{.*}} by %{{.*}} len 4 stride 4 tail zeros_left :
  %kw = nsa.pool weighted %k by %w len 4 stride 4 tail zeros_left
      : (!k, !nsa.tensor<[H, 4], f32>) -> !nsa.tensor<[B, pool(S, 4, 4, zeros_left), H, D], bf16>
  // CHECK-NEXT: %blocks = nsa.declare_blocks %{{.*}} : !nsa.tensor<[B, T, HQ, M], f32> -> !nsa.tensor<[B, T, HQ, blocks(S, 64)], f32>
  %b = nsa.declare_blocks %scores : !nsa.tensor<[B, T, HQ, M], f32> -> !nsa.tensor<[B, T, HQ, blocks(S, 64)], f32>
  // CHECK-NEXT: %sel = nsa.topk %blocks top 3 :
  %top = nsa.topk %b top 3 : (!nsa.tensor<[B, T, HQ, blocks(S, 64)], f32>) -> !nsa.selection<[B, T, HQ], top = 3, block = 64, of = S>
  // CHECK-NEXT: %sel_1 = nsa.declare_selection %{{.*}} : (!nsa.tensor<[B, T, H, 19], i64>) -> !nsa.selection<[B, T, H], top = 19, block = 64, of = S>
  %sel = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 19], i64>) -> !sel
  nsa.return
}

// CHECK-LABEL: nsa.kernel @lists(
nsa.kernel @lists(%idx: !nsa.tensor<[B, M, 1, 4], i32>, %n: !nsa.tensor<[B, M, 1], i64>,
                  %entries: !nsa.tensor<[B, H, N], i64>, %bounds: !nsa.tensor<[B, H, P], i32>, %s: !nsa.tensor<[S], f32>) {
  // CHECK: %sel = nsa.declare_selection %{{.*}} count %{{.*}} : (!nsa.tensor<[B, M, 1, 4], i32>, !nsa.tensor<[B, M, 1], i64>) -> !nsa.selection<[B, M, 1], top = 4, block = 64, of = S, tokens = 16>
  %near = nsa.declare_selection %idx count %n : (!nsa.tensor<[B, M, 1, 4], i32>, !nsa.tensor<[B, M, 1], i64>) -> !nsa.selection<[B, M, 1], top = 4, block = 64, of = S, tokens = 16>
  // CHECK: %sel_0 = nsa.declare_selection %{{.*}} offsets %{{.*}} : (!nsa.tensor<[B, H, N], i64>, !nsa.tensor<[B, H, P], i32>) -> !nsa.selection<[B, P, H], top = 9, block = 64, of = S, tokens = 8>
  %far = nsa.declare_selection %entries offsets %bounds : (!nsa.tensor<[B, H, N], i64>, !nsa.tensor<[B, H, P], i32>) -> !nsa.selection<[B, P, H], top = 9, block = 64, of = S, tokens = 8>
  // CHECK: %sel_1 = nsa.union %sel, %sel_0 : (!nsa.selection<[B, M, 1], top = 4, block = 64, of = S, tokens = 16>, !nsa.selection<[B, P, H], top = 9, block = 64, of = S, tokens = 8>) -> !nsa.selection<[B, P, H], top = 13, block = 64, of = S, tokens = 8>
  %all = nsa.union %near, %far : (!nsa.selection<[B, M, 1], top = 4, block = 64, of = S, tokens = 16>, !nsa.selection<[B, P, H], top = 9, block = 64, of = S, tokens = 8>) -> !nsa.selection<[B, P, H], top = 13, block = 64, of = S, tokens = 8>
  nsa.return
}

// CHECK-LABEL: nsa.kernel @ragged(
nsa.kernel @ragged(%q: !nsa.tensor<[ragged T, H, 64], f16>, %doc: !nsa.tensor<[ragged T], i64>,
                   %offsets: !nsa.tensor<[offsets(T)], i32>) {
  // CHECK: -> !nsa.tensor<[ragged pool(T, 4, 4, average), H, 64], f16>
  %kc = nsa.pool max %q len 4 stride 4 tail average
      : (!nsa.tensor<[ragged T, H, 64], f16>) -> !nsa.tensor<[ragged pool(T, 4, 4, average), H, 64], f16>
  // CHECK: nsa.importance score heads max
  %p = nsa.importance score heads max(%q, %kc)
      mask (%b, %h, %t, %i, %j) {
        // CHECK: nsa.table_read %{{.*}}[%t] row %b : !nsa.tensor<[ragged T], i64>
        %d = nsa.table_read %doc[%t] row %b : !nsa.tensor<[ragged T], i64>
        %c = arith.cmpi eq, %d, %j : index
        nsa.yield %c : i1
      } : (!nsa.tensor<[ragged T, H, 64], f16>, !nsa.tensor<[ragged pool(T, 4, 4, average), H, 64], f16>)
      -> !nsa.tensor<[ragged T, H, pool(T, 4, 4, average)], f32>
  nsa.return
}

// Names that stand for something else are quoted.
// CHECK-LABEL: nsa.kernel @names(
// CHECK-NEXT: !nsa.tensor<["pool", "a b", of, i32, pool("blocks", 4, 4, drop)], i1>,
// CHECK-NEXT: !nsa.tensor<[ragged "ragged"], i1>,
// CHECK-NEXT: !nsa.tensor<[offsets("ragged")], i32>)
nsa.kernel @names(%x: !nsa.tensor<["pool", "a b", of, i32, pool("blocks", 4, 4, drop)], i1>,
                  %y: !nsa.tensor<[ragged "ragged"], i1>, %offsets: !nsa.tensor<[offsets("ragged")], i32>) {
  nsa.return
}
