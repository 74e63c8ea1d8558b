#ifndef NSATILE_IR_NSATILEFOLDOPS_TD
#define NSATILE_IR_NSATILEFOLDOPS_TD

/// Base of both folds: a domain of tiles, and a body that gets a tile's number.
class NSATile_FoldLike<string mnemonic, list<Trait> traits = []>
    : NSATile_Op<mnemonic, traits # [
        AttrSizedOperandSegments, SingleBlock, RecursiveMemoryEffects,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let arguments = (ins
    Variadic<Index>:$ranges, Optional<Index>:$at,
    Optional<NSATile_Buffer>:$list,
    Variadic<Index>:$indices, Optional<Index>:$count, Optional<Index>:$first,
    Optional<NSATile_Buffer>:$members,
    Variadic<AnyType>:$inits,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$parts);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins
    "const FoldDomain &":$domain, "::mlir::TypeRange":$results,
    "::mlir::ValueRange":$inits)>];
  let hasVerifier = 1;
  string sharedDeclaration = [{
    /// The domain, put together from the op's operands.
    FoldDomain getDomain();
    /// The number of the step's tile, and whether it may have hidden pairs.
    ::mlir::Value getTile() { return getBody().getArgument(0); }
    ::mlir::Value getPartial() { return getBody().getArgument(1); }
    /// The words of the step's entry, if its list has members.
    ::mlir::Block::BlockArgListType getWords() {
      return getBody().getArguments().slice(2, getDomain().getNumWords());
    }
  }];
}

def NSATile_FoldOp : NSATile_FoldLike<"fold", [
    DeclareOpInterfaceMethods<LoopLikeOpInterface, [
        "getLoopInductionVars", "getLoopLowerBounds", "getLoopUpperBounds",
        "getLoopSteps", "getRegionIterArgs", "getYieldedValuesMutable",
        "getLoopResults"]>]> {
  let summary = "a loop over tiles that carries a state";
  let description = [{
    The body is run once for each tile of the domain, in order. Its arguments are the
    number of the tile, whether the tile is partial, and the state; it yields the next
    state. A tile that is not partial lies in a range's full part: each of its pairs is visible, so that the body needs no mask.

    The domain takes one of these forms:

    - `over %first to %end full %a to %b, …`: the tiles of these ranges, one range after the
      other. A tile in several ranges counts in the first of them. `%first <= %a <= %b <= %end`;
      without `full` no tile is full.
    - `in %list[%i, …] count %n`: the first `%n` tiles of the entries of a list's row; no entry is negative. With
      `from %a`, the fold begins at tile `%a`. Without `count`, it goes over all entries of the row but the negative
      ones. The list's last dimension has the entries. `with %members` passes the words of an entry to the body, in
      front of the state: behind the list's dimensions, %members has a dimension of words.
    - `at %tile`: one tile.

    With `parts`, each entry is a block of `parts` tiles: block e has the tiles from `parts` times e on. A list or a
    tile may come with ranges, too. The ranges then say which tiles are full, and tiles outside of all ranges may be
    left out.

    ```mlir
    %s:2 = nsatile.fold over %first to %end full %a to %b state(%m0, %o0 : tensor<64xf32>, tensor<64x64xf32>) {
    ^bb0(%tile: index, %partial: i1, %m: tensor<64xf32>, %o: tensor<64x64xf32>):
      …
      nsatile.yield %m1, %o1 : tensor<64xf32>, tensor<64x64xf32>
    }
    ```
  }];
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    custom<FoldDomain>($ranges, $at, $list, type($list), $indices, $count,
                       $first, $members, type($members), $parts)
    custom<FoldState>($inits, type($inits), type($results)) $body attr-dict
  }];
  let extraClassDeclaration = sharedDeclaration # [{
    ::mlir::ValueRange getState() { return getRegionIterArgs(); }
    /// The range of a fold over one range; none for other domains.
    std::optional<TileRange> getSingleRange();
    /// Replaces the range of a fold over one range.
    void setRange(const TileRange &range);
  }];
}

def NSATile_YieldOp : NSATile_Op<"yield", [
    Pure, Terminator, ReturnLike, HasParent<"FoldOp">]> {
  let summary = "the state after a step of a fold";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def NSATile_SoftmaxFoldOp : NSATile_FoldLike<"softmax_fold"> {
  let summary = "a softmax over the tiles of a domain";
  let description = [{
    Let x be the scaled scores that the body yields for all tiles of the domain (see `nsatile.fold`), side by
    side, and v the values. The results are, per row, the greatest x, Σ exp(x - max), and Σ exp(x - max) · v. A score
    of -inf marks a pair that isn't visible: an infinity or NaN in its value doesn't reach the row.
    Without values there is no third result. `from` adds the results of other keys.

    The op leaves the order of additions open. `nsatile-online-softmax` makes it a `nsatile.fold` that
    carries maximum, sum and accumulator (Milakov and Gimelshein, arXiv:1805.02867).

    ```mlir
    %m, %l, %o = nsatile.softmax_fold over %first to %end full %a to %b
        : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32> {
    ^bb0(%tile: index, %partial: i1):
      …
      nsatile.yield_scores %s scale %c values %v : tensor<64x64xf32>, tensor<64x128xbf16>
    }
    ```
  }];
  let results = (outs Variadic<NSATile_F32Tile>:$results);
  let assemblyFormat = [{
    custom<FoldDomain>($ranges, $at, $list, type($list), $indices, $count,
                       $first, $members, type($members), $parts)
    custom<SoftmaxState>($inits, type($inits), type($results)) $body attr-dict
  }];
  let extraClassDeclaration = sharedDeclaration # [{
    YieldScoresOp getScores();
  }];
}

def NSATile_YieldScoresOp : NSATile_Op<"yield_scores", [
    Pure, Terminator, HasParent<"SoftmaxFoldOp">]> {
  let summary = "the scores and values of a tile";
  let arguments = (ins NSATile_F32Matrix:$scores, F32:$scale,
                       Optional<NSATile_Matrix>:$values);
  let assemblyFormat = [{
    $scores `scale` $scale (`values` $values^)? attr-dict
    `:` type($scores) (`,` type($values)^)?
  }];
}

#endif // NSATILE_IR_NSATILEFOLDOPS_TD
