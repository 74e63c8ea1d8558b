// What blocks can't be selected, and how they can't.
// RUN: nsacc-opt %s --verify-diagnostics --split-input-file

!P = !nsa.tensor<[B, T, pool(S, 4, 4, drop)], f32>
nsa.kernel @scores(%p: !P) {
  // expected-error @below {{expected an importance, f32 of [batch, tokens, heads, keys] or [ragged tokens, heads, keys], found '!nsa.tensor<[B, T, pool(S, 4, 4, drop)], f32>'}}
  %b = nsa.blocks sum %p block 64 : !P -> !nsa.tensor<[B, T, blocks(S, 64)], f32>
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, S], f32>
nsa.kernel @tokens(%p: !P) {
  // expected-error @below {{expected the importance of pooled keys, found 'S'; only pooled keys stand for several tokens}}
  %b = nsa.blocks sum %p block 64 : !P -> !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, pool(S, 4, 4, drop)], f32>
nsa.kernel @block_size(%p: !P) {
  // expected-error @below {{found '!nsa.tensor<[B, T, H, blocks(S, 32)], f32>'; its blocks are of the tokens that were pooled}}
  %b = nsa.blocks sum %p block 64 : !P -> !nsa.tensor<[B, T, H, blocks(S, 32)], f32>
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, pool(S, 4, 4, drop)], f32>
nsa.kernel @declare_pool(%p: !P) {
  // expected-error @below {{expected scores whose keys have no meaning yet, found 'pool(S, 4, 4, drop)'; use nsa.blocks for pooled keys}}
  %b = nsa.declare_blocks %p : !P -> !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, N], f32>
nsa.kernel @declare_names(%p: !P) {
  // expected-error @below {{expected a result whose last dimension is blocks(…), found [B, T, H, M]}}
  %b = nsa.declare_blocks %p : !P -> !nsa.tensor<[B, T, H, M], f32>
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, N], f32>
nsa.kernel @declare_unknown(%p: !P) {
  // expected-error @below {{expected a dimension of the kernel's arguments (B, T, H, N), found 'S'}}
  %b = nsa.declare_blocks %p : !P -> !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, N], f32>
nsa.kernel @declare_rest(%p: !P, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{found '!nsa.tensor<[B, T, G, blocks(S, 64)], f32>'; only the last dimension gets a meaning}}
  %b = nsa.declare_blocks %p : !P -> !nsa.tensor<[B, T, G, blocks(S, 64)], f32>
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, pool(S, 4, 2, drop)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 4, of = S>
nsa.kernel @overlap(%p: !P) {
  // expected-error @below {{expected the importance of blocks, or of pooled keys that don't overlap and start at token 0, found 'pool(S, 4, 2, drop)'; map it with nsa.blocks first}}
  %b = nsa.topk %p top 4 : (!P) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @forced(%p: !P) {
  // expected-error @below {{expected at most 4 forced blocks within top 4, found first 2 and last 3; raise top, or add them to it with 'plus'}}
  %b = nsa.topk %p top 4 first 2 last 3 : (!P) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @plus(%p: !P) {
  // expected-error @below {{expected a selection of top = 7, top plus the forced blocks, found top = 4}}
  %b = nsa.topk %p top 4 plus first 1 last 2 : (!P) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @top(%p: !P) {
  // expected-error @below {{expected a selection of top = 8, found top = 4}}
  %b = nsa.topk %p top 8 : (!P) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @no_top(%p: !P) {
  // expected-error @below {{attribute 'top' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %b = nsa.topk %p top 0 : (!P) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 32, of = S>
nsa.kernel @block(%p: !P) {
  // expected-error @below {{expected a selection of blocks of 64 tokens of 'S', which the importance is of, found blocks of 32 tokens of 'S'}}
  %b = nsa.topk %p top 4 : (!P) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, HQ], top = 4, block = 64, of = S>
nsa.kernel @rows(%p: !P) {
  // expected-error @below {{expected a selection for each row of the importance, [B, T, H], found [B, T, HQ]}}
  %b = nsa.topk %p top 4 : (!P) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S, tokens = 2>
nsa.kernel @groups(%p: !P) {
  // expected-error @below {{expected a selection for each token, found one for each of 2}}
  %b = nsa.topk %p top 4 : (!P) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, 6, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, 6], top = 4, block = 64, of = S>
nsa.kernel @shared_heads(%p: !P) {
  // expected-error @below {{expected a number of heads that share a selection which divides the 6 heads, found 4}}
  %b = nsa.topk %p top 4 share_heads 4 by max : (!P) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @count_of_wide(%p: !P, %c: !nsa.tensor<[B, T], i64>) {
  // expected-error @below {{expected the count to be of type '!nsa.tensor<[B, T, H], i64>', found '!nsa.tensor<[B, T], i64>'; there is one for each row of the selection}}
  %b = nsa.topk %p count %c top 4 : (!P, !nsa.tensor<[B, T], i64>) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @count(%p: !P, %c: !nsa.tensor<[B, T], i32>) {
  // expected-error @below {{expected the count to be of type '!nsa.tensor<[B, T, H], i32>', found '!nsa.tensor<[B, T], i32>'; there is one for each row of the selection}}
  %b = nsa.topk %p count %c top 4 : (!P, !nsa.tensor<[B, T], i32>) -> !S
  nsa.return
}

// -----

!P = !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @mask(%p: !P) {
  %b = nsa.topk %p top 4
      mask (%b, %h, %t, %i, %j) {
        // expected-error @below {{expected to yield 'i1', found 'index'}}
        nsa.yield %j : index
      } : (!P) -> !S
  nsa.return
}

// -----

nsa.kernel @index_type(%idx: !nsa.tensor<[B, T, H, 4], f32>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{expected block indices of i32 or i64, found 'f32'}}
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], f32>) -> !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
  nsa.return
}

// -----

nsa.kernel @index_rank(%idx: !nsa.tensor<[B, T, 4], i32>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{expected block indices of [batch, tokens, heads, indices] or [ragged tokens, heads, indices], found [B, T, 4]}}
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, T, 4], i32>) -> !nsa.selection<[B, T], top = 4, block = 64, of = S>
  nsa.return
}

// -----

nsa.kernel @index_count(%idx: !nsa.tensor<[B, T, H, K], i32>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{expected as many indices for each row as the selection's top = 4, found 'K'; make it a compile-time integer}}
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, K], i32>) -> !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
  nsa.return
}

// -----

nsa.kernel @index_rows(%idx: !nsa.tensor<[B, T, H, 4], i32>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{expected a selection for each row of indices, [B, T, H], found [B, T]}}
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], i32>) -> !nsa.selection<[B, T], top = 4, block = 64, of = S>
  nsa.return
}

// -----

nsa.kernel @index_of(%idx: !nsa.tensor<[B, T, H, 4], i32>) {
  // expected-error @below {{expected a dimension of the kernel's arguments (B, T, H), found 'S'}}
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], i32>) -> !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
  nsa.return
}

// -----

nsa.kernel @count_of_indices(%idx: !nsa.tensor<[B, M, H, 4], i32>, %n: !nsa.tensor<[B, M], i32>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{expected the count to be of type '!nsa.tensor<[B, M, H], i32>', found '!nsa.tensor<[B, M], i32>'; there is one for each row of the selection}}
  %b = nsa.declare_selection %idx count %n : (!nsa.tensor<[B, M, H, 4], i32>, !nsa.tensor<[B, M], i32>) -> !nsa.selection<[B, M, H], top = 4, block = 64, of = S, tokens = 8>
  nsa.return
}

// -----

nsa.kernel @offsets(%idx: !nsa.tensor<[B, N, H], i32>, %o: !nsa.tensor<[B, P], i32>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{expected i32 or i64 offsets of [batch, offsets, heads] beside indices of [batch, entries, heads], with heads first in either, or [ragged offsets, heads] beside [ragged entries, heads], found '!nsa.tensor<[B, P], i32>' beside '!nsa.tensor<[B, N, H], i32>'}}
  %b = nsa.declare_selection %idx offsets %o : (!nsa.tensor<[B, N, H], i32>, !nsa.tensor<[B, P], i32>) -> !nsa.selection<[B, P, H], top = 4, block = 64, of = S>
  nsa.return
}

// -----

nsa.kernel @count_and_offsets(%idx: !nsa.tensor<[B, N, H], i32>, %o: !nsa.tensor<[B, P, H], i32>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{expected no count beside offsets, which say how many indices a row has}}
  %b = nsa.declare_selection %idx count %o offsets %o : (!nsa.tensor<[B, N, H], i32>, !nsa.tensor<[B, P, H], i32>, !nsa.tensor<[B, P, H], i32>) -> !nsa.selection<[B, P, H], top = 4, block = 64, of = S>
  nsa.return
}

// -----

nsa.kernel @rows_of_offsets(%idx: !nsa.tensor<[B, H, N], i32>, %o: !nsa.tensor<[B, H, P], i32>, %s: !nsa.tensor<[S], f32>) {
  // expected-error @below {{expected a selection for each row of indices, [B, P, H], found [B, H, P]}}
  %b = nsa.declare_selection %idx offsets %o : (!nsa.tensor<[B, H, N], i32>, !nsa.tensor<[B, H, P], i32>) -> !nsa.selection<[B, H, P], top = 4, block = 64, of = S>
  nsa.return
}

// -----

nsa.kernel @union_of_none() {
  // expected-error @below {{expected at least one selection to unite}}
  %u = nsa.union : () -> !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
  nsa.return
}

// -----

!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @union_of_other_blocks(%idx: !nsa.tensor<[B, T, H, 4], i32>, %s: !nsa.tensor<[S], f32>) {
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], i32>) -> !S
  // expected-error @below {{expected selections of blocks of 32 tokens of 'S', as the result is, found blocks of 64 tokens of 'S'}}
  %u = nsa.union %b : (!S) -> !nsa.selection<[B, T, H], top = 4, block = 32, of = S>
  nsa.return
}

// -----

!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @union_of_other_heads(%idx: !nsa.tensor<[B, T, H, 4], i32>, %s: !nsa.tensor<[S, HQ], f32>) {
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], i32>) -> !S
  // expected-error @below {{expected selections of the result's batch and heads, or for all heads, [B, T, HQ], found [B, T, H]}}
  %u = nsa.union %b : (!S) -> !nsa.selection<[B, T, HQ], top = 4, block = 64, of = S>
  nsa.return
}

// -----

!S = !nsa.selection<[B, M, H], top = 4, block = 64, of = S, tokens = 8>
nsa.kernel @union_of_other_tokens(%idx: !nsa.tensor<[B, M, H, 4], i32>, %s: !nsa.tensor<[S], f32>) {
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, M, H, 4], i32>) -> !S
  // expected-error @below {{expected a multiple of the result's tokens for each row, 3, found 8}}
  %u = nsa.union %b : (!S) -> !nsa.selection<[B, M, H], top = 4, block = 64, of = S, tokens = 3>
  nsa.return
}

// -----

!S = !nsa.selection<[B, M, H], top = 4, block = 64, of = S, tokens = 8>
nsa.kernel @union_of_no_rows(%idx: !nsa.tensor<[B, M, H, 4], i32>, %s: !nsa.tensor<[S, T], f32>) {
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, M, H, 4], i32>) -> !S
  // expected-error @below {{expected the rows of one of the selections, found 'T'}}
  %u = nsa.union %b : (!S) -> !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
  nsa.return
}

// -----

!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @union_too_small(%idx: !nsa.tensor<[B, T, H, 4], i32>, %s: !nsa.tensor<[S], f32>) {
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], i32>) -> !S
  // expected-error @below {{expected room for all selections, top = 8, found top = 7}}
  %u = nsa.union %b, %b : (!S, !S) -> !nsa.selection<[B, T, H], top = 7, block = 64, of = S>
  nsa.return
}

// -----

!S = !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
nsa.kernel @indices(%idx: !nsa.tensor<[B, T, H, 4], i32>, %s: !nsa.tensor<[S], f32>) {
  %b = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 4], i32>) -> !S
  // expected-error @below {{expected the indices to be of type '!nsa.tensor<[B, T, H, 4], i32>', found '!nsa.tensor<[B, T, H, 4], i64>'; there are top of them for each row}}
  %i = nsa.indices %b : !S -> !nsa.tensor<[B, T, H, 4], i64>
  nsa.return
}
