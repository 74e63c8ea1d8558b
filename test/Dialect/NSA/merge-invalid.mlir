// What branches can't be merged.
// RUN: nsacc-opt %s --verify-diagnostics --split-input-file

nsa.kernel @none() {
  // expected-error @below {{expected at least one branch to merge}}
  %o, %l = nsa.merge() lse () : () -> (!nsa.tensor<[B, T, H, D], f32>, !nsa.tensor<[B, T, H], f32>)
  nsa.return
}

// -----

!O = !nsa.tensor<[T, H, D], f32>
!L = !nsa.tensor<[T, H], f32>
nsa.kernel @rank(%o0: !O, %l0: !L) {
  // expected-error @below {{expected the output of an attention, [batch, tokens, heads, features] or [ragged tokens, heads, features], found [T, H, D]}}
  %o, %l = nsa.merge(%o0) lse (%l0) : (!O, !L) -> (!O, !L)
  nsa.return
}

// -----

!O = !nsa.tensor<[B, T, H, D], f32>
!P = !nsa.tensor<[B, T, H, E], f32>
!L = !nsa.tensor<[B, T, H], f32>
nsa.kernel @features(%o0: !O, %o1: !P, %l0: !L) {
  // expected-error @below {{found '!nsa.tensor<[B, T, H, E], f32>'; all branches have the same queries and features}}
  %o, %l = nsa.merge(%o0, %o1) lse (%l0, %l0) : (!O, !P, !L, !L) -> (!O, !L)
  nsa.return
}

// -----

!O = !nsa.tensor<[B, T, H, D], f32>
!L = !nsa.tensor<[B, T], f32>
nsa.kernel @lse(%o0: !O, %l0: !L) {
  // expected-error @below {{expected each branch's log-sum-exp to be of type '!nsa.tensor<[B, T, H], f32>', found '!nsa.tensor<[B, T], f32>'}}
  %o, %l = nsa.merge(%o0) lse (%l0) : (!O, !L) -> (!O, !L)
  nsa.return
}

// -----

!O = !nsa.tensor<[B, T, H, D], f32>
!P = !nsa.tensor<[B, T, H, D], bf16>
!L = !nsa.tensor<[B, T, H], f32>
nsa.kernel @result(%o0: !O, %l0: !L) {
  // expected-error @below {{found '!nsa.tensor<[B, T, H, D], bf16>'; it is like each branch's output}}
  %o, %l = nsa.merge(%o0) lse (%l0) : (!O, !L) -> (!P, !L)
  nsa.return
}

// -----

!O = !nsa.tensor<[B, T, H, D], f32>
!L = !nsa.tensor<[B, T, H], f32>
nsa.kernel @result_lse(%o0: !O, %l0: !L) {
  // expected-error @below {{found '!nsa.tensor<[B, T, H, D], f32>'; it is like each branch's log-sum-exp}}
  %o, %l = nsa.merge(%o0) lse (%l0) : (!O, !L) -> (!O, !O)
  nsa.return
}
