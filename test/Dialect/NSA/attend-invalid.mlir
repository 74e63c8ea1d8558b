// What attention can't be.
// RUN: nsacc-opt %s --verify-diagnostics --split-input-file

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @integers(%q: !nsa.tensor<[B, T, HQ, D], i32>, %k: !K) {
  // expected-error @below {{expected the query to have elements bf16, f16 or f32, found 'i32'; convert it with nsa.map}}
  %o, %l = nsa.attend(%q, %k, %k) : (!nsa.tensor<[B, T, HQ, D], i32>, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @rank(%q: !Q, %k: !K) {
  // expected-error @below {{expected the key to be [batch, tokens, heads, features] or [ragged tokens, heads, features], found [B, S, H]}}
  %o, %l = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[ragged S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @ragged_key(%q: !Q, %k: !K, %offsets: !nsa.tensor<[offsets(S)], i32>) {
  // expected-error @below {{expected the key to be dense like the query, found it ragged}}
  %o, %l = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[ragged T, HQ, D], bf16>
!K = !nsa.tensor<[ragged S, H, D], bf16>
!V = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[ragged T, HQ, D], f32>
!L = !nsa.tensor<[ragged T, HQ], f32>
nsa.kernel @dense_value(%q: !Q, %k: !K, %v: !V) {
  // expected-error @below {{expected the value to be ragged like the query, found it dense}}
  %o, %l = nsa.attend(%q, %k, %v) : (!Q, !K, !V) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[A, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @batch(%q: !Q, %k: !K) {
  // expected-error @below {{expected the key's batch to be 'B', found 'A'; all of q, k and v have the query's batch}}
  %o, %l = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, E], bf16>
!O = !nsa.tensor<[B, T, HQ, E], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @features(%q: !Q, %k: !K) {
  // expected-error @below {{expected the key's features to be 'D', found 'E'; a score is the product of as many features}}
  %o, %l = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, 0], bf16>
!K = !nsa.tensor<[B, S, H, 0], bf16>
!O = !nsa.tensor<[B, T, HQ, 0], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @no_features(%q: !Q, %k: !K) {
  // expected-error @below {{expected the query to have at least 1 feature, found 0}}
  %o, %l = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, 6, D], bf16>
!K = !nsa.tensor<[B, S, 4, D], bf16>
!O = !nsa.tensor<[B, T, 6, D], f32>
!L = !nsa.tensor<[B, T, 6], f32>
nsa.kernel @heads(%q: !Q, %k: !K) {
  // expected-error @below {{expected the query's heads to be a multiple of the key's, found 6 and 4}}
  %o, %l = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, pool(T, 4, 4, drop), HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, pool(T, 4, 4, drop), HQ, D], f32>
!L = !nsa.tensor<[B, pool(T, 4, 4, drop), HQ], f32>
nsa.kernel @pooled_query(%q: !Q, %k: !K) {
  // expected-error @below {{expected queries of tokens, found pooled ones (pool(T, 4, 4, drop)); attend with the unpooled query}}
  %o, %l = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!V = !nsa.tensor<[B, S, H, D], i64>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @integer_value(%q: !Q, %k: !K, %v: !V) {
  // expected-error @below {{expected the value to have elements bf16, f16 or f32, found 'i64'}}
  %o, %l = nsa.attend(%q, %k, %v) : (!Q, !K, !V) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!V = !nsa.tensor<[B, N, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @value_tokens(%q: !Q, %k: !K, %v: !V) {
  // expected-error @below {{expected the value's tokens to be 'S', found 'N'; each key has one value; pool both alike}}
  %o, %l = nsa.attend(%q, %k, %v) : (!Q, !K, !V) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!V = !nsa.tensor<[B, S, HQ, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @value_heads(%q: !Q, %k: !K, %v: !V) {
  // expected-error @below {{expected the value's heads to be 'H', found 'HQ'; keys and values have the same heads}}
  %o, %l = nsa.attend(%q, %k, %v) : (!Q, !K, !V) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], bf16>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @output(%q: !Q, %k: !K) {
  // expected-error @below {{found '!nsa.tensor<[B, T, HQ, D], bf16>'; it has the query's dimensions with the value's features}}
  %o, %l = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, H], f32>
nsa.kernel @lse(%q: !Q, %k: !K) {
  // expected-error @below {{found '!nsa.tensor<[B, T, H], f32>'; there is one for each query and query head}}
  %o, %l = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
nsa.kernel @no_lse(%q: !Q, %k: !K) {
  // expected-error @below {{expected the log-sum-exp as the second result of a softmax, found one result}}
  %o = nsa.attend(%q, %k, %k) : (!Q, !K, !K) -> !O
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @lse_of_weight(%q: !Q, %k: !K) {
  // expected-error @below {{expected one result with a 'weight', since only a softmax has a log-sum-exp; drop the second}}
  %o, %l = nsa.attend(%q, %k, %k)
      weight (%s, %b, %h, %t, %i, %j) { nsa.yield %s : f32 }
      : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @normalized_softmax(%q: !Q, %k: !K) {
  // expected-error @below {{expected no 'normalize' with softmax, whose weights already sum to one; drop it, or give a 'weight'}}
  %o, %l = nsa.attend(%q, %k, %k)
      normalize (%sum, %visible, %b, %h, %t, %i) { nsa.yield %sum : f32 }
      : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
nsa.kernel @sink_of_weight(%q: !Q, %k: !K) {
  // expected-error @below {{expected no 'sink' with a 'weight', since a sink joins a softmax; drop one of the two}}
  %o = nsa.attend(%q, %k, %k)
      weight (%s, %b, %h, %t, %i, %j) { nsa.yield %s : f32 }
      sink (%b, %h, %t, %i) { %c = arith.constant 0.0 : f32 nsa.yield %c : f32 }
      : (!Q, !K, !K) -> !O
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, pool(S, 32, 32, drop), H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @pooled_keys(%q: !Q, %k: !nsa.tensor<[B, S, H, D], bf16>, %idx: !nsa.tensor<[B, T, H, 4], i32>) {
  %kc = nsa.pool mean %k len 32 stride 32 tail drop : (!nsa.tensor<[B, S, H, D], bf16>) -> !K
  %sel = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], i32>) -> !S
  // expected-error @below {{expected unpooled keys under a selection of blocks of 64 tokens, found keys over blocks of another size, 'pool(S, 32, 32, drop)'; attend to the keys that were pooled}}
  %o, %l = nsa.attend(%q, %kc, %kc) in %sel : (!Q, !K, !K, !S) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = T>
nsa.kernel @selection_of(%q: !Q, %k: !K, %idx: !nsa.tensor<[B, T, H, 4], i32>) {
  %sel = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], i32>) -> !S
  // expected-error @below {{expected a selection of blocks of the key's tokens 'S', found one of 'T'}}
  %o, %l = nsa.attend(%q, %k, %k) in %sel : (!Q, !K, !K, !S) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S, tokens = 8>
nsa.kernel @selection_groups(%q: !Q, %k: !K, %idx: !nsa.tensor<[B, T, H, 4], i32>) {
  %sel = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], i32>) -> !S
  // expected-error @below {{expected a selection with a dimension of its own for groups of 8 tokens, found the query's tokens 'T'}}
  %o, %l = nsa.attend(%q, %k, %k) in %sel : (!Q, !K, !K, !S) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
!S = !nsa.selection<[B, T, G], top = 4, block = 64, of = S>
nsa.kernel @selection_rows(%q: !Q, %k: !K, %idx: !nsa.tensor<[B, T, G, 4], i32>) {
  %sel = nsa.declare_selection %idx : (!nsa.tensor<[B, T, G, 4], i32>) -> !S
  // expected-error @below {{expected a selection for each query and key head, [B, T, H], or query head, [B, T, HQ], or one for all heads, [B, T, 1], found [B, T, G]}}
  %o, %l = nsa.attend(%q, %k, %k) in %sel : (!Q, !K, !K, !S) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @mask_arguments(%q: !Q, %k: !K) {
  %o, %l = nsa.attend(%q, %k, %k)
      // expected-error @below {{expected 5 arguments of 'mask', found 2}}
      mask (%i, %j) {
        %c = arith.cmpi sle, %j, %i : index
        nsa.yield %c : i1
      } : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @generic_arguments(%q: !Q, %k: !K) {
  // expected-error @below {{expected arguments ('index', 'index', 'index', 'index', 'index') of 'mask', found ('index')}}
  %o, %l = "nsa.attend"(%q, %k, %k) ({}, {
  ^bb0(%i: index):
    %c = arith.constant true
    nsa.yield %c : i1
  }, {}, {}, {}, {}) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @branches(%q: !Q, %k: !K) {
  // expected-error @below {{expected one block of scalar code in 'scale', found 2; use arith.select instead of branches}}
  %o, %l = "nsa.attend"(%q, %k, %k) ({
    %c = arith.constant 1.0 : f32
    nsa.yield %c : f32
  ^other:
    %d = arith.constant 1.0 : f32
    nsa.yield %d : f32
  }, {}, {}, {}, {}, {}) : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @mask_type(%q: !Q, %k: !K) {
  %o, %l = nsa.attend(%q, %k, %k)
      mask (%b, %h, %t, %i, %j) {
        // expected-error @below {{expected to yield 'i1', found 'index'}}
        nsa.yield %j : index
      } : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
!L = !nsa.tensor<[B, T, HQ], f32>
nsa.kernel @score_type(%q: !Q, %k: !K) {
  %o, %l = nsa.attend(%q, %k, %k)
      score (%s, %b, %h, %t, %i, %j) {
        // expected-error @below {{expected to yield 'f32', found 'index'}}
        nsa.yield %j : index
      } : (!Q, !K, !K) -> (!O, !L)
  nsa.return
}

// -----

!Q = !nsa.tensor<[B, T, HQ, D], bf16>
!K = !nsa.tensor<[B, S, H, D], bf16>
!O = !nsa.tensor<[B, T, HQ, D], f32>
nsa.kernel @normalize_type(%q: !Q, %k: !K) {
  %o = nsa.attend(%q, %k, %k)
      weight (%s, %b, %h, %t, %i, %j) { nsa.yield %s : f32 }
      normalize (%sum, %visible, %b, %h, %t, %i) {
        // expected-error @below {{expected to yield 'f32', found 'index'}}
        nsa.yield %visible : index
      } : (!Q, !K, !K) -> !O
  nsa.return
}

// -----

nsa.kernel @scalar_outside(%x: !nsa.tensor<[], f32>) {
  // expected-error @below {{op failed to verify that it stands in a region of scalar code, as a mask or a score}}
  %y = nsa.table_read %x[] : !nsa.tensor<[], f32>
  nsa.return
}

// -----

nsa.kernel @dim_outside(%x: !nsa.tensor<[B], f32>) {
  // expected-error @below {{op failed to verify that it stands in a region of scalar code, as a mask or a score}}
  %y = nsa.dim "B"
  nsa.return
}
