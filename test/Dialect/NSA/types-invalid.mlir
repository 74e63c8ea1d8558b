// What a type or a dimension of the nsa dialect can't be.
// RUN: nsacc-opt %s --verify-diagnostics --split-input-file

// expected-error @below {{expected element type bf16, f16, f32, i32, i64 or i1, found 'f64'}}
func.func private @element(!nsa.tensor<[B], f64>)

// -----

// expected-error @below {{expected a size of at least 0 for dimension 1, found -3}}
func.func private @negative(!nsa.tensor<[B, -3], f32>)

// -----

// expected-error @below {{expected each dimension once, found 'T' twice in [T, T]}}
func.func private @twice(!nsa.tensor<[T, T], f32>)

// -----

// expected-error @below {{expected a selection of at least 1 and below 2^31 blocks, found top 0}}
func.func private @empty(!nsa.selection<[B, T, H], top = 0, block = 64, of = S>)

// -----

// expected-error @below {{expected a selection of at least 1 and below 2^31 blocks, found top 4294967296}}
func.func private @huge(!nsa.selection<[B, T, H], top = 4294967296, block = 64, of = S>)

// -----

// expected-error @below {{expected a selection of blocks of at least 1 and below 2^31 tokens, found 0}}
func.func private @block(!nsa.selection<[B, T, H], top = 4, block = 0, of = S>)

// -----

// expected-error @below {{expected a selection of each of at least 1 and below 2^31 tokens, found 0}}
func.func private @tokens(!nsa.selection<[B, M, H], top = 4, block = 64, of = S, tokens = 0>)

// -----

// expected-error @below {{expected blocks of at least 1 and below 2^31 tokens, found 0}}
func.func private @blocks(!nsa.tensor<[B, blocks(S, 0)], f32>)

// -----

// expected-error @below {{expected a pooling stride of at least 1, found 0}}
func.func private @stride(!nsa.tensor<[B, pool(S, 32, 0, drop)], f32>)

// -----

// expected-error @below {{expected a pooling length of at least the stride 16, found 8}}
func.func private @len(!nsa.tensor<[B, pool(S, 8, 16, drop)], f32>)

// -----

// expected-error @below {{expected a pooling stride that divides the length 32, found 12}}
func.func private @divides(!nsa.tensor<[B, pool(S, 32, 12, drop)], f32>)

// -----

// expected-error @below {{expected a tail (drop, average, zeros_left or zeros_right), found 'keep'}}
func.func private @tail(!nsa.tensor<[B, pool(S, 32, 16, keep)], f32>)

// -----

// expected-error @below {{expected no or some memory tokens, found -1}}
func.func private @memory(!nsa.tensor<[B, pooled(N of S, 32, 16, 0, -1)], f32>)

// -----

// expected-error @below {{expected the extents of pooled keys to be below 2^31 tokens}}
func.func private @extent(!nsa.tensor<[B, pooled(N of S, 32, 16, 9223372036854775807, 0)], f32>)

// -----

// expected-error @below {{only declared pooled keys have an offset or memory tokens; name their dimension}}
func.func private @undeclared() attributes {dim = #nsa.pooled_dim<base = "S", len = 4, stride = 2, offset = 3>}
