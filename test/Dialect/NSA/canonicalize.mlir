// What canonicalization simplifies, without changing a bit of any result.
// RUN: nsacc-opt %s --canonicalize --split-input-file | FileCheck %s
// RUN: nsacc-opt %s --canonicalize --nsa-specialize --split-input-file | FileCheck %s --check-prefix=SIZED

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// Clauses that say the default go; constants stay inside the others.
// CHECK-LABEL: nsa.kernel @default_clauses
nsa.kernel @default_clauses(%q: !q, %k: !k) -> !o {
  // CHECK:      nsa.attend(
  // CHECK-NEXT:   scale {
  // CHECK-NEXT:     %[[ONE:.*]] = arith.constant 1.0
  // CHECK-NEXT:     nsa.yield %[[ONE]]
  // CHECK-NEXT:   } :
  %o, %l = nsa.attend(%q, %k, %k)
      scale {
        %one = arith.constant 1.0 : f32
        nsa.yield %one : f32
      }
      mask (%b, %h, %t, %i, %j) {
        %c = arith.cmpi sge, %j, %j : index
        nsa.yield %c : i1
      }
      score (%s, %b, %h, %t, %i, %j) {
        nsa.yield %s : f32
      }
      sink (%b, %h, %t, %i) {
        %inf = arith.constant 0xFF800000 : f32
        nsa.yield %inf : f32
      } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// CHECK-LABEL: nsa.kernel @telling_clauses
nsa.kernel @telling_clauses(%q: !q, %k: !k) -> (!o, !o) {
  // A row then sees nothing.
  // CHECK:      mask (
  // CHECK-NEXT:   arith.constant false
  // A sink of 0 takes a share of the softmax.
  // CHECK:      sink (
  // CHECK-NEXT:   arith.constant 0.0
  %o, %l = nsa.attend(%q, %k, %k)
      mask (%b, %h, %t, %i, %j) {
        %c = arith.constant false
        nsa.yield %c : i1
      }
      sink (%b, %h, %t, %i) {
        %zero = arith.constant 0.0 : f32
        nsa.yield %zero : f32
      } : (!q, !k, !k) -> (!o, !l)
  // A weight that is the score isn't a softmax; dividing by one is nothing.
  // CHECK: nsa.attend
  // CHECK-NEXT: weight (%s
  // CHECK-NEXT: nsa.yield %s
  // CHECK-NEXT: } :
  // CHECK-NOT: normalize
  %p = nsa.attend(%q, %k, %k)
      weight (%s, %b, %h, %t, %i, %j) {
        nsa.yield %s : f32
      }
      normalize (%sum, %visible, %b, %h, %t, %i) {
        %one = arith.constant 1.0 : f32
        nsa.yield %one : f32
      } : (!q, !k, !k) -> !o
  nsa.return %o, %p : !o, !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>

// Exponentials that aren't divided on purpose stay told from a forgotten divisor, until sizes are set.
// CHECK-LABEL: nsa.kernel @sum_of_exponentials
// SIZED-LABEL: nsa.kernel @sum_of_exponentials
nsa.kernel @sum_of_exponentials(%q: !q, %k: !k) -> !o {
  // CHECK: math.exp
  // CHECK: normalize
  // SIZED: math.exp
  // SIZED-NOT: normalize
  %o = nsa.attend(%q, %k, %k)
      weight (%s, %b, %h, %t, %i, %j) {
        %e = math.exp %s : f32
        nsa.yield %e : f32
      }
      normalize (%sum, %visible, %b, %h, %t, %i) {
        %one = arith.constant 1.0 : f32
        nsa.yield %one : f32
      } : (!q, !k, !k) -> !o
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!p = !nsa.tensor<[B, T, H, S], f32>

// CHECK-LABEL: nsa.kernel @score_without_weight
nsa.kernel @score_without_weight(%q: !q, %k: !k) -> !p {
  // CHECK: nsa.importance score heads sum(%{{.*}}, %{{.*}}) :
  %p = nsa.importance score heads sum(%q, %k)
      weight (%s, %b, %h, %t, %i, %j) {
        %d = nsa.dim "D"
        %e = arith.index_cast %d : index to i64
        %f = arith.sitofp %e : i64 to f32
        %e2 = arith.index_cast %j : index to i64
        %f2 = arith.sitofp %e2 : i64 to f32
        %w = arith.divf %s, %f : f32
        %w2 = arith.divf %w, %f2 : f32
        nsa.yield %w2 : f32
      } : (!q, !k) -> !p
  nsa.return %p : !p
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// CHECK-LABEL: nsa.kernel @merge_of_one
nsa.kernel @merge_of_one(%q: !q, %k: !k, %x: !o, %y: !l) -> (!o, !o) {
  // CHECK: %[[O:.*]], %{{.*}} = nsa.attend
  %o, %l = nsa.attend(%q, %k, %k) : (!q, !k, !k) -> (!o, !l)
  %m, %ml = nsa.merge(%o) lse(%l) : (!o, !l) -> (!o, !l)
  // Not an attention's own log-sum-exp: it may hold what the output doesn't.
  // CHECK-NEXT: %[[X:.*]], %{{.*}} = nsa.merge
  %n, %nl = nsa.merge(%x) lse(%y) : (!o, !l) -> (!o, !l)
  // CHECK-NEXT: nsa.return %[[O]], %[[X]]
  nsa.return %m, %n : !o, !o
}

// -----

!p = !nsa.tensor<[B, T, H, pool(S, 64, 64, average)], f32>
!pb = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!pc = !nsa.tensor<[B, T, H, blocks(S, 128)], f32>
!s = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
!sc = !nsa.selection<[B, T, H], top = 4, block = 128, of = S>
!i = !nsa.tensor<[B, T, H, 4], i32>

// CHECK-LABEL: nsa.kernel @topk
// CHECK-SAME: (
// CHECK-NEXT: %[[P:.*]]: !nsa.tensor
nsa.kernel @topk(%p: !p) -> (!i, !i) {
  // Pooled keys that are the blocks themselves need no map.
  // CHECK-NEXT: ->
  // CHECK-NEXT: nsa.topk %[[P]] top 4 :
  %pb = nsa.blocks overlap %p block 64 : !p -> !pb
  %s = nsa.topk %pb top 4 plus share_tokens 1 by max share_heads 1 by last
      mask (%b, %h, %t, %i, %j) {
        %c = arith.constant true
        nsa.yield %c : i1
      } : (!pb) -> !s
  // CHECK-NEXT: %[[BLOCKS:.*]] = nsa.blocks
  // CHECK-NEXT: nsa.topk %[[BLOCKS]] top 4 share_tokens 2 by max
  %pc = nsa.blocks overlap %p block 128 : !p -> !pc
  %sc = nsa.topk %pc top 4 share_tokens 2 by max : (!pc) -> !sc
  %i0 = nsa.indices %s : !s -> !i
  %i1 = nsa.indices %sc : !sc -> !i
  nsa.return %i0, %i1 : !i, !i
}

// -----

!x = !nsa.tensor<[B, T], f32>
!y = !nsa.tensor<[B], f32>

// CHECK-LABEL: nsa.kernel @maps
nsa.kernel @maps(%x: !x {nsa.name = "x"}, %y: !y {nsa.name = "y"}) -> (!x, !x, !x, !nsa.tensor<[B, T], bf16>) {
  %same = nsa.map(%x) : (!x) -> !x {
  ^bb0(%a: f32):
    nsa.yield %a : f32
  }
  // One input twice becomes one; %z goes since nothing reads it.
  // CHECK: %[[SQUARE:.*]] = nsa.map(%x) :
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32):
  // CHECK-NEXT:   arith.mulf %[[A]], %[[A]]
  %square = nsa.map(%x, %y, %x) : (!x, !y, !x) -> !x {
  ^bb0(%a: f32, %z: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    nsa.yield %c : f32
  }
  // %x stays: it tells the size of T.
  // CHECK: %[[SPREAD:.*]] = nsa.map(%x, %y) :
  %spread = nsa.map(%x, %y) : (!x, !y) -> !x {
  ^bb0(%a: f32, %b: f32):
    nsa.yield %b : f32
  }
  // A conversion isn't the identity.
  // CHECK: %[[ROUND:.*]] = nsa.map(%x) :
  %round = nsa.map(%x) : (!x) -> !nsa.tensor<[B, T], bf16> {
  ^bb0(%a: f32):
    nsa.yield %a : f32
  }
  // CHECK: nsa.return %x, %[[SQUARE]], %[[SPREAD]], %[[ROUND]]
  nsa.return %same, %square, %spread, %round : !x, !x, !x, !nsa.tensor<[B, T], bf16>
}
