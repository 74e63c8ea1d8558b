// What an importance can't be.
// RUN: nsacc-opt %s --verify-diagnostics --split-input-file

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!P = !nsa.tensor<[B, T, H, S], f32>
nsa.kernel @no_lse(%q: !Q, %k: !K) {
  // expected-error @below {{expected the log-sum-exp ('lse') of the attention whose probabilities are asked for}}
  %p = nsa.importance prob heads sum(%q, %k) : (!Q, !K) -> !P
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!L = !nsa.tensor<[B, T, HQ], f32>
!P = !nsa.tensor<[B, T, H, S], f32>
nsa.kernel @needless_lse(%q: !Q, %k: !K, %l: !L) {
  // expected-error @below {{expected 'lse' with kind prob only, found it with score; drop it}}
  %p = nsa.importance score heads sum(%q, %k) lse %l : (!Q, !K, !L) -> !P
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!L = !nsa.tensor<[B, T, H], f32>
!P = !nsa.tensor<[B, T, H, S], f32>
nsa.kernel @lse_type(%q: !Q, %k: !K, %l: !L) {
  // expected-error @below {{expected the log-sum-exp to be of type '!nsa.tensor<[B, T, HQ], f32>', found '!nsa.tensor<[B, T, H], f32>'}}
  %p = nsa.importance prob heads sum(%q, %k) lse %l : (!Q, !K, !L) -> !P
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!L = !nsa.tensor<[B, T, HQ], f32>
!P = !nsa.tensor<[B, T, H, S], f32>
nsa.kernel @prob_of_weight(%q: !Q, %k: !K, %l: !L) {
  // expected-error @below {{expected no 'weight' with kind prob, which is of softmax; use kind activation}}
  %p = nsa.importance prob heads sum(%q, %k) lse %l
      weight (%s, %b, %h, %t, %i, %j) { nsa.yield %s : f32 }
      : (!Q, !K, !L) -> !P
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!P = !nsa.tensor<[B, T, H, S], f32>
nsa.kernel @activation_of_softmax(%q: !Q, %k: !K) {
  // expected-error @below {{expected a 'weight' with kind activation; use kind prob for the probabilities of softmax}}
  %p = nsa.importance activation heads sum(%q, %k) : (!Q, !K) -> !P
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!P = !nsa.tensor<[B, T, HQ, S], f32>
nsa.kernel @reduced(%q: !Q, %k: !K) {
  // expected-error @below {{found '!nsa.tensor<[B, T, HQ, S], f32>'; the query heads of a key head's group are reduced}}
  %p = nsa.importance score heads mean(%q, %k) : (!Q, !K) -> !P
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!P = !nsa.tensor<[B, T, H, S], f32>
nsa.kernel @not_reduced(%q: !Q, %k: !K) {
  // expected-error @below {{found '!nsa.tensor<[B, T, H, S], f32>'; 'heads none' keeps every query head}}
  %p = nsa.importance score heads none(%q, %k) : (!Q, !K) -> !P
  nsa.return
}

// -----

!Q = !nsa.tensor<[ragged T, HQ, D], bf16>
!K = !nsa.tensor<[ragged S, H, D], bf16>
!P = !nsa.tensor<[ragged T, H, S], f32>
nsa.kernel @ragged_tokens(%q: !Q, %k: !K, %t: !nsa.tensor<[offsets(T)], i32>, %s: !nsa.tensor<[offsets(S)], i32>) {
  // expected-error @below {{expected pooled keys, since the importance of single tokens isn't supported in a ragged batch, found 'ragged S'; pool the keys first}}
  %p = nsa.importance score heads sum(%q, %k) : (!Q, !K) -> !P
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!P = !nsa.tensor<[B, T, H, S], f32>
nsa.kernel @mask(%q: !Q, %k: !K) {
  %p = nsa.importance score heads sum(%q, %k)
      mask (%b, %h, %t, %i, %j) {
        // expected-error @below {{expected to yield 'i1', found 'index'}}
        nsa.yield %j : index
      } : (!Q, !K) -> !P
  nsa.return
}
