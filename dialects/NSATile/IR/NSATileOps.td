#ifndef NSATILE_IR_NSATILEOPS_TD
#define NSATILE_IR_NSATILEOPS_TD

include "NSATile/IR/NSATileAttrs.td"
include "NSATile/IR/NSATileLayouts.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class NSATile_Op<string mnemonic, list<Trait> traits = []>
    : Op<NSATileDialect, mnemonic, traits>;

def NSATile_Tile : StaticShapeTensorOf<[AnyFloat, Index, I1, AnySignlessInteger]>;
def NSATile_F32Tile : StaticShapeTensorOf<[F32]>;
def NSATile_Rows : 1DTensorOf<[F32]>;
def NSATile_Matrix : 2DTensorOf<[BF16, F16, F32]>;
def NSATile_Visible : 2DTensorOf<[I1]>;
def NSATile_F32Matrix : 2DTensorOf<[F32]>;
def NSATile_Buffer : MemRefOf<[AnyType]>;

//===-- Programs and plans ------------------------------------------------===//

class NSATile_FunctionOp<string mnemonic> : NSATile_Op<mnemonic, [
    FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope,
    HasParent<"::mlir::ModuleOp">]> {
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def NSATile_ProgramOp : NSATile_FunctionOp<"program"> {
  let summary = "what one point of a grid computes";
  let description = [{
    Arguments are buffers, sizes and scalars; there are no results. Programs of
    one launch run in any order, and don't write what another one reads.

    ```mlir
    nsatile.program @attend_0(%q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, %T: index) {
      %b = nsatile.program_id 2
      …
      nsatile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<NSATile_ScheduleAttr>:$schedule);
  let hasVerifier = 1;
}

def NSATile_PlanOp : NSATile_FunctionOp<"plan"> {
  let summary = "workspace and launches of one kernel";
  let description = [{
    Arguments are the kernel's inputs and results. The body is straight-line, but for loops over
    launches (`nsatile.repeat`): sizes of buffers, integer arithmetic, workspace and launches.

    ```mlir
    nsatile.plan @flash(%q: memref<…>, %out: memref<…>) {
      %c1 = arith.constant 1 : index
      %t = memref.dim %q, %c1 : memref<…>
      nsatile.launch @flash_0 grid(%tiles, %h, %b) (%q, %out, %t) : memref<…>, memref<…>, index
      nsatile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let hasRegionVerifier = 1;
}

def NSATile_ReturnOp : NSATile_Op<"return", [
    Pure, Terminator, ParentOneOf<["ProgramOp", "PlanOp"]>]> {
  let summary = "the end of a program or a plan";
  let assemblyFormat = "attr-dict";
}

def NSATile_ProgramIdOp : NSATile_Op<"program_id", [Pure]> {
  let summary = "the program's index along a dimension of the grid";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs Index:$id);
  let assemblyFormat = "$axis attr-dict";
}

def NSATile_WorkspaceOp : NSATile_Op<"workspace", [
    HasParent<"PlanOp">, MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer that lives until its last use in the plan";
  let arguments = (ins Variadic<Index>:$sizes);
  let results = (outs NSATile_Buffer:$buffer);
  let assemblyFormat = "`(` $sizes `)` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def NSATile_RepeatOp : NSATile_Op<"repeat", [
    HasParent<"PlanOp">, SingleBlock, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "launches that run once for each of some numbers";
  let description = [{
    The body, integer arithmetic and launches, runs for 0 to `count` (exclusive), one after the other. What workspaces hold stays from one
    time to the next, and so do their sizes: workspaces stand in front.

    ```mlir
    nsatile.repeat %i below %count {
      %first = arith.muli %i, %heads : index
      nsatile.launch @partial grid(%tiles, %heads, %b) (%q, %first, %states) : memref<…>, index, memref<…>
      nsatile.launch @merge grid(%tiles, %heads, %b) (%states, %first, %out) : memref<…>, index, memref<…>
    }
    ```
  }];
  let arguments = (ins Index:$count);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::mlir::Value":$count)>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// The number of this time.
    ::mlir::Value getNumber() { return getBody().getArgument(0); }
    /// The body in place of the loop, with a number for its own.
    void inlineBody(::mlir::RewriterBase &rewriter, ::mlir::Value number);
  }];
}

def NSATile_LaunchOp : NSATile_Op<"launch", [
    ParentOneOf<["PlanOp", "RepeatOp"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a program at every point of a grid";
  let description = [{
    Launches run one after the other. A grid with a size of 0 runs nothing.
  }];
  let arguments = (ins FlatSymbolRefAttr:$program, Index:$x, Index:$y, Index:$z,
                       Variadic<AnyType>:$arguments);
  let assemblyFormat = [{
    $program `grid` `(` $x `,` $y `,` $z `)` `(` $arguments `)` attr-dict
    (`:` type($arguments)^)?
  }];
  let hasCanonicalizeMethod = 1;
}

//===-- Memory ------------------------------------------------------------===//

/// Of accesses whose rows a list in memory may name.
defvar listedDescription = [{
    With `through %list[%i, %first] by n`, row r of the tile (its first dimension) is row `list[%i, %first + r] floordiv n` behind the
    offset, and what the first limit bounds is `%first + r`. An element of the list that is beyond it isn't read.
}];
defvar listedDeclaration = [{
    /// Whether a list names the tile's rows.
    bool isListed() { return bool(getList()); }
}];

def NSATile_List : MemRefOf<[I32]>;

def NSATile_LoadOp : NSATile_Op<"load", [
    AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "a tile of a buffer; zeros beyond its limits";
  let description = [{
    Tile dimension `d` runs over buffer dimension `dims[d]`, from the offset on in
    steps of `steps[d]` (1 if not given); all other buffer dimensions stay at their
    offset. An element whose buffer index is negative or not below `limits[d]` is
    zero and isn't read.

    ```mlir
    %t = nsatile.load %q[%b, %t0, %h0, %c0] dims [1, 2, 3] limits [%T, %HQ, %D]
        : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<16x4x64xbf16>
    %g = nsatile.load %q[%b, %c0, %h0, %c0] dims [1, 2, 3] limits [%end, %HQ, %D] through %list[%b, %first] by 8 : memref<?x?xi32>
        : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<16x4x64xbf16>
    ```
  }] # listedDescription;
  let arguments = (ins NSATile_Buffer:$buffer, Variadic<Index>:$offsets,
                       Variadic<Index>:$limits, DenseI64ArrayAttr:$dims,
                       OptionalAttr<DenseI64ArrayAttr>:$steps,
                       Optional<NSATile_List>:$list, Variadic<Index>:$place,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$divisor);
  let results = (outs NSATile_Tile:$tile);
  let builders = [OpBuilder<(ins
    "::mlir::Type":$tile, "::mlir::Value":$buffer, "::mlir::ValueRange":$offsets,
    "::mlir::ValueRange":$limits, "::llvm::ArrayRef<int64_t>":$dims,
    CArg<"::mlir::DenseI64ArrayAttr", "{}">:$steps)>];
  let assemblyFormat = [{
    $buffer `[` $offsets `]` `dims` $dims (`steps` $steps^)? `limits` `[` $limits `]`
    (`through` $list^ `[` $place `]` (`by` $divisor^)? `:` type($list))?
    attr-dict `:` type($buffer) `->` type($tile)
  }];
  let extraClassDeclaration = listedDeclaration;
  let hasVerifier = 1;
}

def NSATile_StoreOp : NSATile_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "writes what lies within the limits of a tile";
  let description = listedDescription;
  let arguments = (ins NSATile_Tile:$tile,
                       Arg<NSATile_Buffer, "", [MemWrite]>:$buffer,
                       Variadic<Index>:$offsets, Variadic<Index>:$limits,
                       DenseI64ArrayAttr:$dims,
                       Arg<Optional<NSATile_List>, "", [MemRead]>:$list, Variadic<Index>:$place,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$divisor);
  let builders = [OpBuilder<(ins
    "::mlir::Value":$tile, "::mlir::Value":$buffer, "::mlir::ValueRange":$offsets,
    "::mlir::ValueRange":$limits, "::llvm::ArrayRef<int64_t>":$dims)>];
  let assemblyFormat = [{
    $tile `,` $buffer `[` $offsets `]` `dims` $dims `limits` `[` $limits `]`
    (`through` $list^ `[` $place `]` (`by` $divisor^)? `:` type($list))?
    attr-dict `:` type($tile) `,` type($buffer)
  }];
  let extraClassDeclaration = listedDeclaration;
  let hasVerifier = 1;
}

def NSATile_GatherOp : NSATile_Op<"gather", [MemoryEffects<[MemRead]>]> {
  let summary = "one element of a buffer for each element of a tile of indices";
  let description = [{
    Each index is clamped to the buffer, so that lanes whose value is not used
    never read outside of it.

    ```mlir
    %d = nsatile.gather %doc[%b, %j] : memref<?x?xi32>, tensor<64xindex>, tensor<64xindex> -> tensor<64xi32>
    ```
  }];
  let arguments = (ins NSATile_Buffer:$buffer, Variadic<NSATile_Tile>:$indices);
  let results = (outs NSATile_Tile:$result);
  let assemblyFormat = [{
    $buffer `[` $indices `]` attr-dict `:` type($buffer) (`,` type($indices)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def NSATile_LookupOp : NSATile_Op<"lookup", [
    MemoryEffects<[MemRead]>,
    TypesMatchWith<"the result is an element of the buffer", "buffer", "result",
                   "::mlir::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "one element of a buffer, wherever its place is";
  let description = [{
    As `nsatile.gather` of one element: indices are clamped to the buffer, and an empty buffer's
    element is 0.

    ```mlir
    %n = nsatile.lookup %filled[%b, %page] : memref<?x?xi32>
    ```
  }];
  let arguments = (ins NSATile_Buffer:$buffer, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

//===-- Failures ----------------------------------------------------------===//

def NSATile_AssertOp : NSATile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "ends the run with an error where a condition doesn't hold";
  let description = [{
    The condition is a boolean, or a tile of them. `values` are indices, or tiles of
    indices of the condition's shape; `{n}` in the message stands for the n-th of them, at
    the element that fails. The program goes on: what it computes from there
    doesn't matter. The run reports one failure of a launch, that with the
    lexicographically least values, so that neither threads nor tiles decide.

    ```mlir
    nsatile.assert %ok, "table 'doc' is read at {1} in batch row {0}" (%b, %j) : tensor<64xi1>, index, tensor<64xindex>
    ```
  }];
  let arguments = (ins AnyTypeOf<[I1, StaticShapeTensorOf<[I1]>]>:$condition,
                       StrAttr:$message,
                       Variadic<AnyTypeOf<[Index, I64, StaticShapeTensorOf<[Index, I64]>]>>:$values);
  let assemblyFormat = [{
    $condition `,` $message `(` $values `)` attr-dict `:` type($condition) (`,` type($values)^)?
  }];
  let extraClassDeclaration = [{
    /// Values that a failure is told with at most.
    static constexpr unsigned maxValues = 24;
  }];
  let hasVerifier = 1;
}

//===-- Tiles -------------------------------------------------------------===//

def NSATile_IotaOp : NSATile_Op<"iota", [Pure]> {
  let summary = "start, start + 1, …";
  let arguments = (ins Index:$start);
  let results = (outs 1DTensorOf<[Index]>:$result);
  let assemblyFormat = "$start attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NSATile_RowRangeOp : NSATile_Op<"row_range", [Pure]> {
  let summary = "the rows that bounds computed from it have to be right for";
  let description = [{
    Positions [first, end) among a tile's `size` neighbouring ones, each of which has
    equally many rows of the tile's products, in their order. Bounds of loops over keys that are
    computed from the results let no key out that a row of these positions sees.

    With `groups` each of so many warpgroups gets its own share of the positions.

    ```mlir
    %own_first, %own_end = nsatile.row_range %first to %end of 192 groups 3
    ```
  }];
  let arguments = (ins Index:$first, Index:$end,
                       ConfinedAttr<I64Attr, [IntPositive]>:$size,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$groups);
  let results = (outs Index:$ownFirst, Index:$ownEnd);
  let assemblyFormat = "$first `to` $end `of` $size (`groups` $groups^)? attr-dict";
  let hasVerifier = 1;
}

def NSATile_BroadcastOp : NSATile_Op<"broadcast", [Pure]> {
  let summary = "repeats a tile along new dimensions";
  let description = [{
    `dims` are the dimensions of the result that the operand doesn't have.

    ```mlir
    %r = nsatile.broadcast %rows along [1] : tensor<64xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins NSATile_Tile:$source, DenseI64ArrayAttr:$dims);
  let results = (outs NSATile_Tile:$result);
  let assemblyFormat = "$source `along` $dims attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NSATile_ReduceOp : NSATile_Op<"reduce", [Pure]> {
  let summary = "the sum or the greatest element along one dimension";
  let description = [{
    `max` of an empty or all -inf row is -inf; a NaN makes it NaN. `sum` of an
    empty row, or of nothing but -0, is -0, which changes no sum.
  }];
  let arguments = (ins NSATile_ReduceKindAttr:$kind, NSATile_F32Tile:$source,
                       I64Attr:$dim);
  let results = (outs NSATile_F32Tile:$result);
  let assemblyFormat = "$kind $source `along` $dim attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NSATile_DotOp : NSATile_Op<"dot", [
    Pure, AttrSizedOperandSegments, AllElementTypesMatch<["lhs", "rhs"]>]> {
  let summary = "a product of two tiles, accumulated in f32";
  let description = [{
    `acc + lhs · rhs`, with `transpose_lhs` of lhsᵀ, with `transpose_rhs` of rhsᵀ.

    `where`, which no transposed operand goes with, says which rows see which rows of `rhs` (not transposed). What a row
    doesn't see counts as zeros for it, so that no infinity or NaN there reaches
    the row: `acc[r, c] + Σ lhs[r, k] · (visible[r, k] ? rhs[k, c] : 0)`. Where
    `visible` doesn't hold `lhs` is 0, so that it only matters where `rhs` isn't finite.

    ```mlir
    %s = nsatile.dot %q, transpose %k : (tensor<64x64xbf16>, tensor<128x64xbf16>) -> tensor<64x128xf32>
    %g = nsatile.dot transpose %d, %k : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<64x64xf32>
    %o = nsatile.dot %p, %v acc %a where %seen
        : (tensor<64x128xbf16>, tensor<128x64xbf16>, tensor<64x64xf32>, tensor<64x128xi1>) -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins NSATile_Matrix:$lhs, NSATile_Matrix:$rhs,
                       Optional<NSATile_F32Matrix>:$acc,
                       Optional<NSATile_Visible>:$visible, UnitAttr:$transpose_rhs,
                       UnitAttr:$transpose_lhs);
  let results = (outs NSATile_F32Matrix:$result);
  let assemblyFormat = [{
    (`transpose` $transpose_lhs^)? $lhs `,` (`transpose` $transpose_rhs^)? $rhs (`acc` $acc^)?
    (`where` $visible^)? attr-dict `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    /// How many products an element of the result adds up.
    int64_t getInner() {
      return ::mlir::cast<::mlir::RankedTensorType>(getLhs().getType())
          .getDimSize(getTransposeLhs() ? 0 : 1);
    }
  }];
  let hasVerifier = 1;
}

//===-- Layouts -----------------------------------------------------------===//

def NSATile_ConvertLayoutOp : NSATile_Op<"convert_layout", [Pure]> {
  let summary = "the same tile in other registers, or in shared memory";
  let description = [{
    Partial sums are added up. When a tile becomes partial, one copy stays and the others are 0.

    ```mlir
    %s = nsatile.convert_layout %t
        : tensor<64x64xf32, #nsatile.mma<warps = 4>> -> tensor<64x64xf32, #nsatile.blocked<threads = 128>>
    ```
  }];
  let arguments = (ins NSATile_Tile:$source);
  let results = (outs NSATile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NSATile_ReshapeOp : NSATile_Op<"reshape", [Pure]> {
  let summary = "the same elements, in row-major order, as a tile of another shape";
  let description = [{
    Nothing moves: where one of the tiles has a layout, the other's is that layout under
    `#nsatile.reshape`, or both are the same `#nsatile.blocked`.

    ```mlir
    %r = nsatile.reshape %t : tensor<64x64xf32, #nsatile.mma<warps = 4>>
        -> tensor<16x4x64xf32, #nsatile.reshape<as = [64, 64], of = #nsatile.mma<warps = 4>>>
    ```
  }];
  let arguments = (ins NSATile_Tile:$source);
  let results = (outs NSATile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===-- Online softmax ----------------------------------------------------===//

def NSATile_SoftmaxUpdateOp : NSATile_Op<"softmax_update", [
    Pure, AllTypesMatch<["max", "newMax", "decay"]>,
    AllTypesMatch<["sum", "newSum"]>, AllTypesMatch<["scores", "probs"]>]> {
  let summary = "one step of the streaming softmax";
  let description = [{
    With x = scale · scores, per row: newMax = max(max, x), probs = exp(x - newMax),
    decay = exp(max - newMax), newSum = sum · decay + Σ probs (Milakov and Gimelshein,
    arXiv:1805.02867). While a row's newMax is -inf its probs are 0 and its decay is 1.
    Where newMax is inf, probs are exp(x), so that the sum is infinite, too; decay is 1 from
    then on. newMax leaves NaN out: a NaN makes a NaN among probs and so newSum.
    Sums may be `#nsatile.partial`; their type then stands behind `sums`.

    With `rows`, all others keep max and sum: their probs are 0 and their decay is 1, as if
    all of their scores were -inf.

    ```mlir
    %m1, %l1, %p, %r = nsatile.softmax_update %m, %l, %s scale %c : tensor<64xf32>, tensor<64x128xf32>
    %m1, %l1, %p, %r = nsatile.softmax_update %m, %l, %s scale %c rows %b : tensor<64xi1> : tensor<64xf32>, tensor<64x128xf32>
    ```
  }];
  let arguments = (ins NSATile_Rows:$max, NSATile_Rows:$sum,
                       NSATile_F32Matrix:$scores, F32:$scale,
                       Optional<RankedTensorOf<[I1]>>:$rows);
  let results = (outs NSATile_Rows:$newMax, NSATile_Rows:$newSum,
                      NSATile_F32Matrix:$probs, NSATile_Rows:$decay);
  let assemblyFormat = [{
    $max `,` $sum `,` $scores `scale` $scale (`rows` $rows^ `:` type($rows))?
    attr-dict `:` custom<RowTypes>(type($max), type($sum)) `,` type($scores)
  }];
  let hasVerifier = 1;
}

def NSATile_SoftmaxFinalizeOp : NSATile_Op<"softmax_finalize", [
    Pure, AllTypesMatch<["max", "lse"]>, AllTypesMatch<["acc", "output"]>]> {
  let summary = "the output and the log-sum-exp of a streaming softmax";
  let description = [{
    output = acc / sum and lse = max + log sum; 0 and -inf for a row whose sum is 0.
    Where max is inf, that is NaN and inf; where sum is NaN, both are NaN.
  }];
  let arguments = (ins NSATile_Rows:$max, NSATile_Rows:$sum,
                       NSATile_F32Matrix:$acc);
  let results = (outs NSATile_F32Matrix:$output, NSATile_Rows:$lse);
  let assemblyFormat = [{
    $max `,` $sum `,` $acc attr-dict `:`
    custom<RowTypes>(type($max), type($sum)) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def NSATile_SoftmaxMergeOp : NSATile_Op<"softmax_merge", [
    Pure, AllTypesMatch<["lhsMax", "lhsSum", "rhsMax", "rhsSum", "newMax",
                         "newSum", "lhsDecay", "rhsDecay"]>]> {
  let summary = "one streaming softmax of two over different keys";
  let description = [{
    newMax = max(lhsMax, rhsMax), NaN left out; a side's decay is exp(its max - newMax), 1
    where the two are equal, infinities among them; newSum = lhsSum · lhsDecay + rhsSum · rhsDecay. The
    accumulators are to be scaled likewise.

    ```mlir
    %m, %l, %r0, %r1 = nsatile.softmax_merge %m0, %l0, %m1, %l1 : tensor<64xf32>
    ```
  }];
  let arguments = (ins NSATile_Rows:$lhsMax, NSATile_Rows:$lhsSum,
                       NSATile_Rows:$rhsMax, NSATile_Rows:$rhsSum);
  let results = (outs NSATile_Rows:$newMax, NSATile_Rows:$newSum,
                      NSATile_Rows:$lhsDecay, NSATile_Rows:$rhsDecay);
  let assemblyFormat = [{
    $lhsMax `,` $lhsSum `,` $rhsMax `,` $rhsSum attr-dict `:` type($lhsMax)
  }];
}

def NSATile_SoftmaxWeightsOp : NSATile_Op<"softmax_weights", [
    Pure, Elementwise, AllTypesMatch<["scores", "lse", "rest", "weights"]>]> {
  let summary = "the weights of a softmax whose log-sum-exp is known";
  let description = [{
    weights = exp(scale · scores - lse - rest): lse is f32's part of the log-sum-exp, and rest what
    it has no digits for. The product is rounded, as the one is that the largest score is part of:
    of equal scores, however large, nothing but the rest is left.

    With `approximate`, weights may be off by 2^-12 of themselves, as those of scores that come of
    operands of 16 bits are anyway.

    ```mlir
    %w = nsatile.softmax_weights %s, %lse, %rest scale %c approximate : tensor<64x128xf32>
    ```
  }];
  let arguments = (ins NSATile_F32Tile:$scores, NSATile_F32Tile:$lse,
                       NSATile_F32Tile:$rest, F32:$scale,
                       UnitAttr:$approximate);
  let results = (outs NSATile_F32Tile:$weights);
  let assemblyFormat = [{
    $scores `,` $lse `,` $rest `scale` $scale (`approximate` $approximate^)?
    attr-dict `:` type($scores)
  }];
}

//===-- Selection ---------------------------------------------------------===//

def NSATile_Keys : 2DTensorOf<[I32, I64]>;

def NSATile_SortOp : NSATile_Op<"sort", [
    Pure, AllTypesMatch<["keys", "result"]>]> {
  let summary = "each row in order";
  let description = [{
    ```mlir
    %s = nsatile.sort ascending %x : tensor<32x16xi64>
    ```
  }];
  let arguments = (ins NSATile_OrderAttr:$order, NSATile_Keys:$keys);
  let results = (outs NSATile_Keys:$result);
  let assemblyFormat = "$order $keys attr-dict `:` type($keys)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NSATile_TopOp : NSATile_Op<"top", [
    Pure, AllTypesMatch<["list", "result"]>]> {
  let summary = "the greatest keys of a running list and of new candidates";
  let description = [{
    Row by row, the K greatest of the K keys of `list`, which are in descending
    order, and of the N candidates, in descending order.

    With `insert K` a list may have more columns than the K that are asked for. What comes behind these is in
    descending order, too, and of the list or of the candidates, but not always the greatest. Such lists have a column for each lane of a
    warp, candidates as many for each lane, and a warp inserts those that beat key K, one by one or many at once.

    ```mlir
    %l1 = nsatile.top %l, %c : tensor<32x16xi64>, tensor<32x64xi64>
    %l2 = nsatile.top %m, %d insert 16 : tensor<4x32xi64>, tensor<4x32xi64>
    ```
  }];
  let arguments = (ins NSATile_Keys:$list, NSATile_Keys:$candidates,
                       OptionalAttr<I64Attr>:$insert);
  let results = (outs NSATile_Keys:$result);
  let assemblyFormat = [{
    $list `,` $candidates (`insert` $insert^)? attr-dict `:` type($list) `,` type($candidates)
  }];
  let hasVerifier = 1;
}

def NSATile_ExchangeOp : NSATile_Op<"exchange", [
    Pure, AllTypesMatch<["keys", "result"]>]> {
  let summary = "swaps keys whose columns differ in the bits of a mask";
  let description = [{
    Column c of the result is column c xor `mask` of the keys: half of a
    compare-exchange. All bits set turn rows around.

    ```mlir
    %s = nsatile.exchange %x by 4 : tensor<32x16xi64>
    ```
  }];
  let arguments = (ins NSATile_Keys:$keys, I64Attr:$mask);
  let results = (outs NSATile_Keys:$result);
  let assemblyFormat = "$keys `by` $mask attr-dict `:` type($keys)";
  let hasVerifier = 1;
}

def NSATile_ShiftOp : NSATile_Op<"shift", [
    Pure, AllTypesMatch<["before", "tile", "result"]>]> {
  let summary = "each column is the one in front of it";
  let description = [{
    Column c of the result is column c - 1 of `tile`; column 0 is the last one of `before`, the tile
    in front of it. A lane has most of its neighbours' columns, or one of them has.

    ```mlir
    %s = nsatile.shift %before, %tile : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins NSATile_F32Matrix:$before, NSATile_F32Matrix:$tile);
  let results = (outs NSATile_F32Matrix:$result);
  let assemblyFormat = "$before `,` $tile attr-dict `:` type($tile)";
}

def NSATile_UniteOp : NSATile_Op<"unite", [AttrSizedOperandSegments]> {
  let summary = "the union of lists, and which of them have each entry";
  let description = [{
    Of `rows` rows, at most as many as `of` says: writes the different entries of their lists from 0 on below `below` in ascending order to a
    row of `blocks`, how many they are to `counts`, and for each of them a set of rows to `members`, where there are any: bit r mod 32 of word r / 32 is row r's.
    All other entries, negative ones among them, are left out. What comes behind the last entry isn't written.

    Lists are in any order, may repeat entries, and stand in memory: row r is of token t = `from` + (r floordiv `heads`) · `step`, and has the list at `offsets`,
    where t floordiv `every` is added to the offset `along` that dimension, and r mod `heads` to the one behind it. Lists from `end` on along that dimension are empty.
    A list's entries are the buffer's last dimension.

    ```mlir
    nsatile.unite %lists[%b, %c0, %h, %c0] along 1 every 64 from %t step 32 end %end rows %n of 4 below %number
        to %blocks, %counts[%b, %t, %h] members %members : memref<?x?x?x64x1xi32>
        : memref<?x?x?x16xi32>, memref<?x?x?x64xi32>, memref<?x?x?x1xi32>
    ```
  }];
  let arguments = (ins Arg<NSATile_List, "", [MemRead]>:$lists, Variadic<Index>:$offsets, I64Attr:$along,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$every,
                       Index:$first,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$step,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$heads,
                       Index:$end, Index:$rows, ConfinedAttr<I64Attr, [IntPositive]>:$most, Index:$below,
                       Arg<NSATile_List, "", [MemWrite]>:$blocks,
                       Arg<Optional<NSATile_List>, "", [MemRead, MemWrite]>:$members,
                       Arg<NSATile_List, "", [MemWrite]>:$counts,
                       Variadic<Index>:$indices);
  let assemblyFormat = [{
    $lists `[` $offsets `]` `along` $along (`every` $every^)? `from` $first (`step` $step^)? (`heads` $heads^)?
    `end` $end `rows` $rows `of` $most `below` $below `to` $blocks `,` $counts
    `[` $indices `]` (`members` $members^ `:` type($members))? attr-dict
    `:` type($lists) `,` type($blocks) `,` type($counts)
  }];
  let extraClassDeclaration = [{
    /// Bits of a word of `members`.
    static constexpr int64_t wordBits = 32;
    /// Entries of a list, and of all.
    int64_t getTop() { return getLists().getType().getShape().back(); }
    int64_t getNumEntries() { return getTop() * getMost(); }
    int64_t getNumWords();
  }];
  let hasVerifier = 1;
}

/// A warp's work over the entries of neighbouring lists, in their order.
class NSATile_ListsOp<string mnemonic> : NSATile_Op<mnemonic, [AttrSizedOperandSegments]> {
  dag listed = (ins NSATile_List:$lists, Variadic<Index>:$offsets, I64Attr:$along,
                    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$every,
                    Index:$first, Index:$count, Index:$below);
  string sharedDeclaration = [{
    /// Entries of a list.
    int64_t getTop() { return getLists().getType().getShape().back(); }
  }];
  let hasVerifier = 1;
}

def NSATile_HistogramOp : NSATile_ListsOp<"histogram"> {
  let summary = "how many of some lists have each number";
  let description = [{
    Of rows `first` to `first + count` (exclusive), row r of which has the list at `offsets`, where r floordiv `every` is added to the offset `along`
    that dimension, and each number from 0 on below `below`: writes how many times lists have number c to `counts`, c times
    `step` elements behind its indices. All other entries, negative ones among them, are left out. A list's entries are the buffer's last dimension.

    ```mlir
    nsatile.histogram %lists[%b, %start, %h, %c0] along 1 rows %t count %n below %blocks to %counts[%b, %h, %chunk] step %chunks
        : memref<?x?x?x16xi32>, memref<?x?x?xi32>
    ```
  }];
  let arguments = !con(listed, (ins Arg<NSATile_List, "", [MemWrite]>:$counts,
                                    Variadic<Index>:$indices, Index:$step));
  let assemblyFormat = [{
    $lists `[` $offsets `]` `along` $along (`every` $every^)? `rows` $first `count` $count
    `below` $below `to` $counts `[` $indices `]` `step` $step attr-dict `:` type($lists) `,` type($counts)
  }];
  let extraClassDeclaration = sharedDeclaration;
}

def NSATile_CountingSortOp : NSATile_ListsOp<"counting_sort"> {
  let summary = "the entries of some lists, by their numbers";
  let description = [{
    Writes the entries that `nsatile.histogram` counts, each as r · top + (its place in the list), to `sorted`: the n-th one of number c
    n elements behind that which `starts` has for c, as counts stand. So entries of a number are ascending, and no atomic operation decides.

    ```mlir
    nsatile.counting_sort %lists[%b, %start, %h, %c0] along 1 rows %t count %n below %blocks
        from %starts[%b, %h, %chunk] step %chunks to %sorted[%b, %h, %c0]
        : memref<?x?x?x16xi32>, memref<?x?x?xi32>, memref<?x?x?xi32>
    ```
  }];
  let arguments = !con(listed, (ins NSATile_List:$starts, Variadic<Index>:$indices, Index:$step,
                                    Arg<NSATile_List, "", [MemWrite]>:$sorted,
                                    Variadic<Index>:$place));
  let assemblyFormat = [{
    $lists `[` $offsets `]` `along` $along (`every` $every^)? `rows` $first `count` $count
    `below` $below `from` $starts `[` $indices `]` `step` $step `to` $sorted `[` $place `]`
    attr-dict `:` type($lists) `,` type($starts) `,` type($sorted)
  }];
  let extraClassDeclaration = sharedDeclaration;
}

def NSATile_PrefixSumOp : NSATile_Op<"prefix_sum"> {
  let summary = "sums of the elements before each one";
  let description = [{
    Replaces each of `count` neighbouring elements by the sum of those before it, and the element behind them by the sum of all.

    ```mlir
    nsatile.prefix_sum %counts[%b, %h, %c0] count %n : memref<?x?x?xi32>
    ```
  }];
  let arguments = (ins Arg<NSATile_List, "", [MemRead, MemWrite]>:$buffer,
                       Variadic<Index>:$indices, Index:$count);
  let assemblyFormat = [{
    $buffer `[` $indices `]` `count` $count attr-dict `:` type($buffer)
  }];
  let hasVerifier = 1;
}

include "NSATile/IR/NSATileFoldOps.td"
include "NSATile/IR/NSATileAsyncOps.td"
include "NSATile/IR/NSATileCandidateOps.td"

#endif // NSATILE_IR_NSATILEOPS_TD
