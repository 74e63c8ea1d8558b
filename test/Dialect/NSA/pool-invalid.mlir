// What can't be pooled, and how it can't.
// RUN: nsacc-opt %s --verify-diagnostics --split-input-file

nsa.kernel @rank(%k: !nsa.tensor<[S, D], bf16>) {
  // expected-error @below {{expected the input to be [batch, tokens, heads, features] or [ragged tokens, heads, features], found [S, D]}}
  %kc = nsa.pool mean %k len 4 stride 4 tail drop
      : (!nsa.tensor<[S, D], bf16>) -> !nsa.tensor<[pool(S, 4, 4, drop), D], bf16>
  nsa.return
}

// -----

nsa.kernel @integers(%k: !nsa.tensor<[B, S, H, D], i32>) {
  // expected-error @below {{expected the input to have elements bf16, f16 or f32, found 'i32'; convert it with nsa.map}}
  %kc = nsa.pool mean %k len 4 stride 4 tail drop
      : (!nsa.tensor<[B, S, H, D], i32>) -> !nsa.tensor<[B, pool(S, 4, 4, drop), H, D], i32>
  nsa.return
}

// -----

nsa.kernel @stride(%k: !nsa.tensor<[B, S, H, D], bf16>) {
  // expected-error @below {{expected a stride that divides the length 6 of the window, found 4}}
  %kc = nsa.pool mean %k len 6 stride 4 tail drop
      : (!nsa.tensor<[B, S, H, D], bf16>) -> !nsa.tensor<[B, pool(S, 4, 4, drop), H, D], bf16>
  nsa.return
}

// -----

nsa.kernel @no_weights(%k: !nsa.tensor<[B, S, H, D], bf16>) {
  // expected-error @below {{expected the weights ('by') of a weighted pool}}
  %kc = nsa.pool weighted %k len 4 stride 4 tail drop
      : (!nsa.tensor<[B, S, H, D], bf16>) -> !nsa.tensor<[B, pool(S, 4, 4, drop), H, D], bf16>
  nsa.return
}

// -----

nsa.kernel @needless_weights(%k: !nsa.tensor<[B, S, H, D], bf16>, %w: !nsa.tensor<[4], f32>) {
  // expected-error @below {{expected weights ('by') with kind weighted only, found them with max; drop one}}
  %kc = nsa.pool max %k by %w len 4 stride 4 tail drop
      : (!nsa.tensor<[B, S, H, D], bf16>, !nsa.tensor<[4], f32>) -> !nsa.tensor<[B, pool(S, 4, 4, drop), H, D], bf16>
  nsa.return
}

// -----

nsa.kernel @weights(%k: !nsa.tensor<[B, S, H, D], bf16>, %w: !nsa.tensor<[H, 8], f32>) {
  // expected-error @below {{expected weights [4] or [H, 4], one for each place in the window, found [H, 8]}}
  %kc = nsa.pool weighted %k by %w len 4 stride 4 tail drop
      : (!nsa.tensor<[B, S, H, D], bf16>, !nsa.tensor<[H, 8], f32>) -> !nsa.tensor<[B, pool(S, 4, 4, drop), H, D], bf16>
  nsa.return
}

// -----

nsa.kernel @constant(%k: !nsa.tensor<[B, 128, H, D], bf16>) {
  // expected-error @below {{expected a named dimension of tokens, found '128'; pooled keys and constant lengths can't be pooled}}
  %kc = nsa.pool mean %k len 4 stride 4 tail drop
      : (!nsa.tensor<[B, 128, H, D], bf16>) -> !nsa.tensor<[B, pool(S, 4, 4, drop), H, D], bf16>
  nsa.return
}

// -----

nsa.kernel @result(%k: !nsa.tensor<[B, S, H, D], bf16>) {
  // expected-error @below {{expected the result to be of type '!nsa.tensor<[B, pool(S, 4, 2, average), H, D], bf16>', found '!nsa.tensor<[B, pool(S, 4, 4, drop), H, D], bf16>'; only the dimension of tokens is pooled}}
  %kc = nsa.pool mean %k len 4 stride 2 tail average
      : (!nsa.tensor<[B, S, H, D], bf16>) -> !nsa.tensor<[B, pool(S, 4, 4, drop), H, D], bf16>
  nsa.return
}

// -----

nsa.kernel @declared_count(%k: !nsa.tensor<[B, N, H, D], bf16>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{expected the result's tokens to be 'pooled(N of …)', found 'pooled(M of S, 4, 4, 0, 0)'}}
  %kc = nsa.declare_pooled %k : !nsa.tensor<[B, N, H, D], bf16> -> !nsa.tensor<[B, pooled(M of S, 4, 4, 0, 0), H, D], bf16>
  nsa.return
}

// -----

nsa.kernel @declared_base(%k: !nsa.tensor<[B, N, H, D], bf16>) {
  // expected-error @below {{expected a dimension of the kernel's arguments (B, N, H, D), found 'S'}}
  %kc = nsa.declare_pooled %k : !nsa.tensor<[B, N, H, D], bf16> -> !nsa.tensor<[B, pooled(N of S, 4, 4, 0, 0), H, D], bf16>
  nsa.return
}

// -----

nsa.kernel @declared_rest(%k: !nsa.tensor<[B, N, H, D], bf16>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{found '!nsa.tensor<[B, pooled(N of S, 4, 4, 0, 0), H, D], f32>'; only the dimension of tokens gets a meaning}}
  %kc = nsa.declare_pooled %k : !nsa.tensor<[B, N, H, D], bf16> -> !nsa.tensor<[B, pooled(N of S, 4, 4, 0, 0), H, D], f32>
  nsa.return
}
