// Which keys each mask lets a query see: intervals that later become loop bounds.
// RUN: nsacc-opt %s --nsa-report-masks --split-input-file --verify-diagnostics -o /dev/null

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

nsa.kernel @window(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys i - 511 <= j < i + 1}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %c0 = arith.constant 0 : index
      %c512 = arith.constant 512 : index
      %d = arith.subi %i, %j : index
      %past = arith.cmpi sle, %c0, %d : index
      %near = arith.cmpi slt, %d, %c512 : index
      %m = arith.andi %past, %near : i1
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// A window with anchors: a union of two intervals, both causal.
nsa.kernel @anchors(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys i - 127 <= j < i + 1 or j < min(i + 1, 4)}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %c4 = arith.constant 4 : index
      %c128 = arith.constant 128 : index
      %d = arith.subi %i, %j : index
      %past = arith.cmpi sle, %j, %i : index
      %near = arith.cmpi slt, %d, %c128 : index
      %first = arith.cmpi slt, %j, %c4 : index
      %either = arith.ori %near, %first : i1
      %m = arith.andi %past, %either : i1
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!kc = !nsa.tensor<[B, pool(S, 32, 16, drop), H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// Pooled keys, visible when their last token is past: 16 j + 32 <= i.
nsa.kernel @pooled(%q: !q, %kc: !kc) -> (!o) {
  // expected-remark @below {{sees keys j < i floordiv 16 - 1}}
  %o, %lse = nsa.attend(%q, %kc, %kc)
    mask (%b, %h, %t, %i, %j) {
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %start = arith.muli %j, %c16 : index
      %end = arith.addi %start, %c32 : index
      %m = arith.cmpi sle, %end, %i : index
      nsa.yield %m : i1
    } : (!q, !kc, !kc) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// Chunks: j floordiv 64 == i floordiv 64.
nsa.kernel @chunk(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys (i floordiv 64) * 64 <= j < (i floordiv 64) * 64 + 64}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %c64 = arith.constant 64 : index
      %x = arith.floordivsi %j, %c64 : index
      %y = arith.floordivsi %i, %c64 : index
      %m = arith.cmpi eq, %x, %y : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// Documents: the causal part bounds the loop, the table is read for each pair.
nsa.kernel @documents(%q: !q, %k: !k, %doc: !nsa.tensor<[B, S], i32>) -> (!o) {
  // expected-remark @below {{sees keys j < i + 1, each pair checked}}
  // expected-note @below {{the mask isn't affine in the positions i and j, or may wrap around, so it is evaluated for every pair}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %past = arith.cmpi sle, %j, %i : index
      %x = nsa.table_read %doc[%b, %i] : !nsa.tensor<[B, S], i32>
      %y = nsa.table_read %doc[%b, %j] : !nsa.tensor<[B, S], i32>
      %same = arith.cmpi eq, %x, %y : index
      %m = arith.andi %past, %same : i1
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// Some heads are local, the others see all: a guard on the head, and a negation.
nsa.kernel @heads(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys i - 7 <= j if -h + 3 >= 0 or j if h - 4 >= 0}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %true = arith.constant true
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %local = arith.cmpi slt, %h, %c4 : index
      %global = arith.xori %local, %true : i1
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %c8 : index
      %a = arith.andi %local, %near : i1
      %m = arith.ori %a, %global : i1
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// t is i - (S - T).
nsa.kernel @rows(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j < i - S + T}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %m = arith.cmpi slt, %j, %t : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// Integers of 64 bits wrap around: such a product says nothing of j.
nsa.kernel @product(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j, each pair checked}}
  // expected-note @below {{the mask isn't affine in the positions i and j, or may wrap around, so it is evaluated for every pair}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %c0 = arith.constant 0 : index
      %big = arith.constant 1152921504606846976 : index
      %d = arith.subi %i, %j : index
      %p = arith.muli %d, %big : index
      %m = arith.cmpi sgt, %p, %c0 : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// Factors whose product does, though each doesn't; what cancels out does, too.
nsa.kernel @factors(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j, each pair checked}}
  // expected-note @below {{the mask isn't affine in the positions i and j, or may wrap around, so it is evaluated for every pair}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %c0 = arith.constant 0 : index
      %million = arith.constant 1000000 : index
      %d = arith.subi %i, %j : index
      %a = arith.muli %d, %million : index
      %p = arith.muli %a, %million : index
      %e = arith.subi %p, %p : index
      %m = arith.cmpi sle, %e, %c0 : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// So does a sum; the other side of `and` bounds the loop.
nsa.kernel @sum(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j < i + 1, each pair checked}}
  // expected-note @below {{the mask isn't affine in the positions i and j, or may wrap around, so it is evaluated for every pair}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %big = arith.constant 9223372036854775807 : index
      %a = arith.addi %i, %big : index
      %late = arith.cmpi sge, %a, %j : index
      %past = arith.cmpi sle, %j, %i : index
      %m = arith.andi %past, %late : i1
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// A divisor so large that the key that it gives would.
nsa.kernel @quotient(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j, each pair checked}}
  // expected-note @below {{the mask isn't affine in the positions i and j, or may wrap around, so it is evaluated for every pair}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %big = arith.constant 4611686018427387904 : index
      %d = arith.floordivsi %j, %big : index
      %m = arith.cmpi sle, %d, %i : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// Factors that no position makes wrap are taken apart.
nsa.kernel @scaled(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j < i + 1}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %factor = arith.constant 100000 : index
      %a = arith.muli %i, %factor : index
      %c = arith.muli %j, %factor : index
      %m = arith.cmpi sle, %c, %a : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// abs(i - j) < 64 is two comparisons that both hold.
nsa.kernel @distance(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys i - 63 <= j < i + 64}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %d = arith.subi %i, %j : index
      %e = arith.subi %c0, %d : index
      %a = arith.maxsi %d, %e : index
      %m = arith.cmpi slt, %a, %c64 : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// 3 * abs(i - j) + 1 > 10: either of two.
nsa.kernel @far(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j < i - 3 or (i * 3 + 10) ceildiv 3 <= j}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c10 = arith.constant 10 : index
      %d = arith.subi %i, %j : index
      %e = arith.subi %c0, %d : index
      %a = arith.maxsi %d, %e : index
      %p = arith.muli %a, %c3 : index
      %s = arith.addi %p, %c1 : index
      %m = arith.cmpi sgt, %s, %c10 : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// j <= max(i, 10)
nsa.kernel @prefix(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j < i + 1 or j < 11}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %c10 = arith.constant 10 : index
      %a = arith.maxsi %i, %c10 : index
      %m = arith.cmpi sle, %j, %a : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// min(i, i * i) >= j: only one side is affine.
nsa.kernel @known_side(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j < i + 1, each pair checked}}
  // expected-note @below {{the mask isn't affine in the positions i and j, or may wrap around, so it is evaluated for every pair}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %p = arith.muli %i, %i : index
      %a = arith.minsi %i, %p : index
      %m = arith.cmpi sge, %a, %j : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// max(i, i * i) >= j: the other side may see any key.
nsa.kernel @unknown_side(%q: !q, %k: !k) -> (!o) {
  // expected-remark @below {{sees keys j, each pair checked}}
  // expected-note @below {{the mask isn't affine in the positions i and j, or may wrap around, so it is evaluated for every pair}}
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %p = arith.muli %i, %i : index
      %a = arith.maxsi %i, %p : index
      %m = arith.cmpi sge, %a, %j : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}
