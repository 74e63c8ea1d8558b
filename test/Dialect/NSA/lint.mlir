// Warnings about programs that arrive as IR: the ones that the front end shows.
// RUN: nsacc-opt %s --nsa-lint --split-input-file --verify-diagnostics -o /dev/null

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

nsa.kernel @hidden(%q: !q, %k: !k) -> (!o) {
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %past = arith.cmpi slt, %j, %i : index
      %future = arith.cmpi sgt, %j, %i : index
      %m = arith.andi %past, %future : i1
      // expected-warning @below {{this mask hides every key from every query}}
      // expected-note @below {{a query that sees no key gets 0; are two comparisons, or a parameter's value, the wrong way round?}}
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// Branches have no other place than their own.
nsa.kernel @branches(%q: !q, %k: !k) -> (!o) {
  // expected-note @below {{the other branch is here}}
  %o0, %lse0 = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %m = arith.cmpi sle, %j, %i : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  // expected-warning @below {{two branches of this merge see the same keys, such as key 0 from query 0: they count twice}}
  %o1, %lse1 = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %m = arith.cmpi sge, %i, %j : index
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  %o, %lse = nsa.merge(%o0, %o1) lse (%lse0, %lse1) : (!o, !o, !l, !l) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>
!doc = !nsa.tensor<[B, S], f16>

// expected-note @below {{f16 rounds whole numbers above 2048; labels are declared as i32: doc: i32[B, S]}}
nsa.kernel @tables(%q: !q, %k: !k, %doc: !doc {nsa.name = "doc"}) -> (!o) {
  %o, %lse = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %mine = nsa.table_read %doc[%b, %i] : !doc
      %other = nsa.table_read %doc[%b, %j] : !doc
      // expected-warning @below {{'doc' has elements of f16, which are compared for equality}}
      %m = arith.cmpf oeq, %mine, %other : f32
      nsa.yield %m : i1
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

nsa.kernel @score(%q: !q, %k: !k) -> (!o) {
  %o, %lse = nsa.attend(%q, %k, %k)
    score (%s, %b, %h, %t, %i, %j) {
      %negative = arith.negf %s : f32
      // expected-warning @below {{this score falls as s grows: the keys that match a query least weigh most}}
      // expected-note @below {{a score grows with s, as in 's - x'}}
      nsa.yield %negative : f32
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}

// -----

!q = !nsa.tensor<[B, T, HQ, D], bf16>
!k = !nsa.tensor<[B, S, H, D], bf16>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// A divisor of 1 says that the sum of exponentials is meant, until
// canonicalization drops it.
nsa.kernel @meant(%q: !q, %k: !k) -> (!o) {
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
!o = !nsa.tensor<[B, T, HQ, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>

// A logarithm that makes a score infinite has the only warning.
nsa.kernel @once(%q: !q, %k: !k) -> (!o) {
  %o, %lse = nsa.attend(%q, %k, %k)
    score (%s, %b, %h, %t, %i, %j) {
      %zero = arith.constant 0.0 : f32
      // expected-warning @below {{this logarithm is -inf or NaN everywhere: its argument is never above 0}}
      // expected-note @below {{take log of something that is positive}}
      %log = math.log %zero : f32
      %score = arith.addf %s, %log : f32
      nsa.yield %score : f32
    } : (!q, !k, !k) -> (!o, !l)
  nsa.return %o : !o
}
