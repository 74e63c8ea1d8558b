#ifndef NSA_IR_NSAATTENTIONOPS_TD
#define NSA_IR_NSAATTENTIONOPS_TD

//===-- Pooling -----------------------------------------------------------===//

def NSA_PoolOp : NSA_Op<"pool", [Pure, NSA_NamesResults]> {
  let summary = "pooled keys or values over windows of tokens";
  let description = [{
    Pools windows of `len` tokens every `stride` tokens along the sequence
    dimension, separately for each row of a ragged batch. `tail` says how to
    treat the incomplete window: `drop` it, `average` the tokens it has, or fill
    it with `zeros_left` or `zeros_right` of the tokens. `weighted` takes a
    vector [len] or [H, len] and sums without normalising.

    ```mlir
    %kc = nsa.pool mean %k len 32 stride 16 tail drop
        : (!nsa.tensor<[B, S, H, D], bf16>) -> !nsa.tensor<[B, pool(S, 32, 16, drop), H, D], bf16>
    ```
  }];
  let arguments = (ins NSA_PoolKindAttr:$kind, NSA_Tensor:$input,
                       Optional<NSA_Tensor>:$weights,
                       ConfinedAttr<I64Attr, [IntPositive]>:$len,
                       ConfinedAttr<I64Attr, [IntPositive]>:$stride,
                       NSA_TailAttr:$tail);
  let results = (outs NSA_Tensor:$result);
  let assemblyFormat = [{
    custom<Word>($kind) $input (`by` $weights^)? `len` $len `stride` $stride
    `tail` custom<Word>($tail) `` custom<NamedAttrs>(attr-dict)
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def NSA_DeclarePooledOp : NSA_Op<"declare_pooled", [Pure, NSA_NamesResults]> {
  let summary = "declares that an input holds pooled keys or values";
  let description = [{
    Keeps the data. The sequence dimension becomes a `pooled(…)` dimension,
    which gives the tokens of each entry.

    ```mlir
    %kc = nsa.declare_pooled %x : !nsa.tensor<[B, N, H, D], bf16>
        -> !nsa.tensor<[B, pooled(N of S, 32, 16, 0, 1), H, D], bf16>
    ```
  }];
  let arguments = (ins NSA_Tensor:$input);
  let results = (outs NSA_Tensor:$result);
  let assemblyFormat = [{
    $input `` custom<NamedAttrs>(attr-dict) `:` qualified(type($input)) `->`
    qualified(type($result))
  }];
  let hasVerifier = 1;
}

//===-- Attention ---------------------------------------------------------===//

def NSA_AttendOp : NSA_Op<"attend", [
    Pure, NSA_ScoringOpInterface, NSA_HasScalarCode, NSA_NamesBoth]> {
  let summary = "attention of queries over keys and values";
  let description = [{
    Yields the output and, for softmax (no `weight` region), the natural
    log-sum-exp. Empty regions mean: scale D^-0.5, everything visible, score s,
    softmax, no normaliser, no sink.

    ```mlir
    %o, %lse = nsa.attend(%q, %k, %v)
        mask (%b, %h, %t, %i, %j) {
          %c = arith.cmpi sle, %j, %i : index
          nsa.yield %c : i1
        }
        : (…) -> (!nsa.tensor<[B, T, HQ, DV], f32>, !nsa.tensor<[B, T, HQ], f32>)
    ```

    The regions' arguments are

    | region | arguments | yields |
    |---|---|---|
    | `scale` | | f32 |
    | `mask` | b, h, t, i, j | i1 |
    | `score`, `weight` | s : f32, b, h, t, i, j | f32 |
    | `normalize` | sum : f32, visible, b, h, t, i | f32 |
    | `sink` | b, h, t, i | f32 |

    Here `b` is the batch row, `h` the query head, `t` the query's row in its
    tensor, `i` its absolute position (`t + S - T`), and `j` the key index. A row
    that sees nothing gives 0 and -inf.
  }];
  let arguments = (ins NSA_Tensor:$query, NSA_Tensor:$key, NSA_Tensor:$value,
                       Optional<NSA_Selection>:$selection);
  let results = (outs NSA_Tensor:$output, Optional<NSA_Tensor>:$lse);
  let regions = (region AnyRegion:$scale, AnyRegion:$mask, AnyRegion:$score,
                        AnyRegion:$weight, AnyRegion:$normalize,
                        AnyRegion:$sink);
  let assemblyFormat = [{
    `(` $query `,` $key `,` $value `)` (`in` $selection^)?
    `` custom<Clauses>($scale, $mask, $score, $weight, $normalize, $sink)
    `` custom<NamedAttrs>(attr-dict) `:` functional-type(operands, results)
  }];
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Region *getNormalizer() { return getNormalize().empty() ? nullptr : &getNormalize(); }
    ::mlir::Region *getSinkScore() { return getSink().empty() ? nullptr : &getSink(); }
    ::mlir::Value getComputedLse() { return getLse(); }
    bool takesExponentials() { return isSoftmax(); }
  }];
}

def NSA_ImportanceOp : NSA_Op<"importance", [
    Pure, AttrSizedOperandSegments, NSA_ScoringOpInterface, NSA_HasScalarCode,
    NSA_NamesBoth]> {
  let summary = "per-key importance of an attention, reduced over a head group";
  let description = [{
    The probability exp(s - lse) (`prob`, which takes the attention's `lse`), the
    score (`score`) or the weight (`activation`) of each visible pair, reduced
    over the query heads of a key head's group. Pairs that aren't visible, or
    whose score is -inf, are absent; an absent entry is -inf.

    ```mlir
    %p = nsa.importance prob heads sum(%q, %kc) lse %lse mask (…) {…}
        : (…) -> !nsa.tensor<[B, T, H, pool(S, 32, 16, drop)], f32>
    ```
  }];
  let arguments = (ins NSA_ImportanceKindAttr:$kind,
                       NSA_HeadReductionAttr:$heads,
                       NSA_Tensor:$query, NSA_Tensor:$key,
                       Optional<NSA_Tensor>:$lse,
                       Optional<NSA_Selection>:$selection);
  let results = (outs NSA_Tensor:$result);
  let regions = (region AnyRegion:$scale, AnyRegion:$mask, AnyRegion:$score,
                        AnyRegion:$weight);
  let assemblyFormat = [{
    custom<Word>($kind) `heads` custom<Word>($heads) `(` $query `,` $key `)` (`lse` $lse^)? (`in` $selection^)?
    `` custom<ScoreClauses>($scale, $mask, $score, $weight)
    `` custom<NamedAttrs>(attr-dict) `:` functional-type(operands, $result)
  }];
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    bool takesExponentials() { return bool(getLse()); }
  }];
}

def NSA_MergeOp : NSA_Op<"merge", [
    Pure, SameVariadicOperandSize, NSA_NamesResults]> {
  let summary = "one softmax over the disjoint union of branches' keys";
  let description = [{
    Merges the outputs and log-sum-exps of softmax attentions of the same
    queries. A key that two branches see counts twice; a row that sees nothing
    in any branch gives 0 and -inf.

    ```mlir
    %o, %lse = nsa.merge(%o0, %o1) lse(%lse0, %lse1)
        : (!nsa.tensor<[B, T, HQ, DV], f32>, !nsa.tensor<[B, T, HQ, DV], f32>,
           !nsa.tensor<[B, T, HQ], f32>, !nsa.tensor<[B, T, HQ], f32>)
        -> (!nsa.tensor<[B, T, HQ, DV], f32>, !nsa.tensor<[B, T, HQ], f32>)
    ```
  }];
  let arguments = (ins Variadic<NSA_Tensor>:$outputs,
                       Variadic<NSA_Tensor>:$lses);
  let results = (outs NSA_Tensor:$output, NSA_Tensor:$lse);
  let assemblyFormat = [{
    `(` $outputs `)` `lse` `(` $lses `)` `` custom<NamedAttrs>(attr-dict)
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===-- Selection ---------------------------------------------------------===//

def NSA_BlocksOp : NSA_Op<"blocks", [Pure, NSA_NamesResults]> {
  let summary = "importance of token blocks from that of pooled keys";
  let description = [{
    `overlap` weights an entry by the tokens it shares with the block, divided
    by the pooling stride (NSA, arXiv:2502.11089, eq. 9); `sum`, `mean` and
    `max` take every entry that shares a token. A block without a present entry
    is absent.

    ```mlir
    %pb = nsa.blocks overlap %p block 64
        : !nsa.tensor<[B, T, H, pool(S, 32, 16, drop)], f32> -> !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
    ```
  }];
  let arguments = (ins NSA_BlockMapAttr:$map, NSA_Tensor:$importance,
                       ConfinedAttr<I64Attr, [IntPositive]>:$block);
  let results = (outs NSA_Tensor:$result);
  let assemblyFormat = [{
    custom<Word>($map) $importance `block` $block `` custom<NamedAttrs>(attr-dict)
    `:` qualified(type($importance)) `->` qualified(type($result))
  }];
  let extraClassDeclaration = [{
    PooledDimAttr getPooledDim() {
      return ::mlir::cast<PooledDimAttr>(
          getImportance().getType().getDims().back());
    }
    /// The first and last entries that may share a token with a block, counted
    /// from the entry that begins the stride in which the block begins.
    std::pair<int64_t, int64_t> getEntries();
    /// Number of entries that a block shares with the block before it. 0 if the
    /// stride doesn't divide blocks: then their entries have different places.
    int64_t getNumSharedEntries();
  }];
  let hasVerifier = 1;
}

def NSA_DeclareBlocksOp : NSA_Op<"declare_blocks", [Pure, NSA_NamesResults]> {
  let summary = "declares that the last dimension of a tensor of scores is token blocks";
  let description = [{
    Keeps the data; -inf marks an absent entry. The size of the dimension must
    be the number of blocks; a run checks it.

    ```mlir
    %p = nsa.declare_blocks %x : !nsa.tensor<[B, T, H, N], f32> -> !nsa.tensor<[B, T, H, blocks(S, 64)], f32>
    ```
  }];
  let arguments = (ins NSA_Tensor:$input);
  let results = (outs NSA_Tensor:$result);
  let assemblyFormat = [{
    $input `` custom<NamedAttrs>(attr-dict) `:` qualified(type($input)) `->`
    qualified(type($result))
  }];
  let hasVerifier = 1;
}

def NSA_TopKOp : NSA_Op<"topk", [Pure, NSA_HasScalarCode, NSA_NamesBoth]> {
  let summary = "exact selection of the most important blocks";
  let description = [{
    Blocks are ordered by descending score, then by index; NaN comes after every
    number. Forced blocks (the first `first`, and the last `last` up to the
    query's block) come before all others. They count within `top` or, with
    `plus`, in addition to it. `count` gives each row its number of blocks, i32
    or i64, at most `top`. `mask` removes blocks, including forced ones; its `j`
    is a block and its `h` a head of the selection. `share_tokens n` and
    `share_heads n` give n neighbours one selection, computed from their reduced
    importances (`sum`, `mean`, `max`) or from one of them (`first`, `last`).

    ```mlir
    %sel = nsa.topk %p top 16 first 1 last 2
        : (!nsa.tensor<[B, T, H, blocks(S, 64)], f32>) -> !nsa.selection<[B, T, H], top = 16, block = 64, of = S>
    ```
  }];
  let arguments = (ins NSA_Tensor:$importance, Optional<NSA_Tensor>:$count,
                       ConfinedAttr<I64Attr, [IntPositive]>:$top,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$first,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$last,
                       UnitAttr:$plus,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$share_tokens,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$share_heads,
                       DefaultValuedAttr<NSA_ShareByAttr, "ShareBy::Sum">:$share_tokens_by,
                       DefaultValuedAttr<NSA_ShareByAttr, "ShareBy::Sum">:$share_heads_by);
  let results = (outs NSA_Selection:$result);
  let regions = (region AnyRegion:$mask);
  let assemblyFormat = [{
    $importance (`count` $count^)? `top` $top (`plus` $plus^)?
    (`first` $first^)? (`last` $last^)?
    `` custom<Sharing>($share_tokens, $share_tokens_by,
                       $share_heads, $share_heads_by)
    `` custom<MaskClause>($mask)
    `` custom<NamedAttrs>(attr-dict) `:` functional-type(operands, $result)
  }];
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def NSA_DeclareSelectionOp : NSA_Op<"declare_selection", [
    Pure, AttrSizedOperandSegments, NSA_NamesResults]> {
  let summary = "a selection handed in as block indices";
  let description = [{
    The indices form a set: order and repetition don't matter, and -1 is
    padding. Any other index outside of the key's blocks is an error at run
    time. Of a row with a `count`, only that many indices are read.

    With `offsets` the rows' lists are stored one after the other (CSR): list r
    of a batch row and head are entries offsets[r] to offsets[r + 1] - 1, at
    most `top`. The dimension of offsets has one index more than there are
    lists, and so has the selection: its last list is empty. Heads may come
    before the offsets or the entries; the heads are the dimension that both
    have.

    ```mlir
    %sel = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 16], i32>) -> !nsa.selection<[B, T, H], top = 16, block = 64, of = S>
    %few = nsa.declare_selection %idx count %n : (!nsa.tensor<[B, M, H, 64], i32>, !nsa.tensor<[B, M, H], i32>) -> !nsa.selection<[B, M, H], top = 64, block = 64, of = S, tokens = 128>
    %csr = nsa.declare_selection %columns offsets %rows : (!nsa.tensor<[B, N, H], i32>, !nsa.tensor<[B, P, H], i32>) -> !nsa.selection<[B, P, H], top = 64, block = 64, of = S, tokens = 128>
    ```
  }];
  let arguments = (ins NSA_Tensor:$indices, Optional<NSA_Tensor>:$count,
                       Optional<NSA_Tensor>:$offsets);
  let results = (outs NSA_Selection:$result);
  let assemblyFormat = [{
    $indices (`count` $count^)? (`offsets` $offsets^)? `` custom<NamedAttrs>(attr-dict) `:`
    functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    /// Whether heads come first in `tensor`, the offsets or their entries.
    bool hasHeadsFirst(::mlir::Value tensor);
    /// The dimension of the entries that offsets divide into lists.
    ::mlir::Attribute getEntryDim();
  }];
  let hasVerifier = 1;
}

def NSA_UnionOp : NSA_Op<"union", [Pure, NSA_NamesResults]> {
  let summary = "the blocks that any of several selections has";
  let description = [{
    All parts select from the same blocks, and each part has the result's heads,
    or 1 head. The result has the rows of the part with the fewest tokens per
    row; the tokens per row of any other part are a multiple of that.

    ```mlir
    %all = nsa.union %near, %best : (!nsa.selection<[B, M, 1], top = 4, block = 64, of = S, tokens = 128>, !nsa.selection<[B, T, H], top = 16, block = 64, of = S>) -> !nsa.selection<[B, T, H], top = 20, block = 64, of = S>
    ```
  }];
  let arguments = (ins Variadic<NSA_Selection>:$parts);
  let results = (outs NSA_Selection:$result);
  let assemblyFormat = [{
    $parts `` custom<NamedAttrs>(attr-dict) `:` functional-type($parts, $result)
  }];
  let hasVerifier = 1;
}

def NSA_IndicesOp : NSA_Op<"indices", [Pure, NSA_NamesResults]> {
  let summary = "a selection as block indices: ascending, padded with -1";
  let description = [{
    For programs that return the selected blocks.

    ```mlir
    %idx = nsa.indices %sel : !nsa.selection<[B, T, H], top = 16, block = 64, of = S> -> !nsa.tensor<[B, T, H, 16], i32>
    ```
  }];
  let arguments = (ins NSA_Selection:$selection);
  let results = (outs NSA_Tensor:$result);
  let assemblyFormat = [{
    $selection `` custom<NamedAttrs>(attr-dict) `:` qualified(type($selection)) `->`
    qualified(type($result))
  }];
  let hasVerifier = 1;
}

#endif // NSA_IR_NSAATTENTIONOPS_TD
