#ifndef NSATILE_IR_NSATILEOPS_TD
#define NSATILE_IR_NSATILEOPS_TD

include "NSATile/IR/NSATileAttrs.td"
include "NSATile/IR/NSATileLayouts.td"
include "NSATile/IR/NSATileTypes.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

class NSATile_Op<string mnemonic, list<Trait> traits = []>
    : Op<NSATileDialect, mnemonic, traits>;

def NSATile_Tile : StaticShapeTensorOf<[AnyFloat, Index, I1, AnySignlessInteger]>;
def NSATile_F32Tile : StaticShapeTensorOf<[F32]>;
def NSATile_Rows : 1DTensorOf<[F32]>;
def NSATile_Matrix : 2DTensorOf<[BF16, F16, F32]>;
def NSATile_Visible : 2DTensorOf<[I1]>;
def NSATile_Mask : StaticShapeTensorOf<[I1]>;
def NSATile_F32Matrix : 2DTensorOf<[F32]>;
def NSATile_Buffer : MemRefOf<[AnyType]>;

//===-- Programs and plans ------------------------------------------------===//

class NSATile_FunctionOp<string mnemonic> : NSATile_Op<mnemonic, [
    FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
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
  let summary = "the computation of one point of a grid";
  let description = [{
    Arguments are buffers, sizes and scalars; there are no results. Programs of
    one launch run in any order, and don't write elements that another one reads.

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
    Arguments are the kernel's inputs and results. The body has sizes of buffers, integer arithmetic,
    workspace and launches. It is straight-line apart from loops over launches (`nsatile.repeat`).

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
  let summary = "launches that run once for each number of a range";
  let description = [{
    The body has integer arithmetic and launches. It runs for each number from 0 to `count` (exclusive), one after the
    other. Workspaces are made in front of the loop: they keep their contents and sizes from one run to the next.

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
    /// The number that the body runs for.
    ::mlir::Value getNumber() { return getBody().getArgument(0); }
    /// Replaces the loop by its body, run for `number`.
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

def NSATile_List : MemRefOf<[I32]>;

def NSATile_AtOp : NSATile_Op<"at", [
    Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "the place of a tile in a buffer";
  let description = [{
    Tile dimension `d` runs over buffer dimension `dims[d]`, from the offset on in
    steps of `steps[d]` (1 if not given); all other buffer dimensions stay at their
    offset. An element at a buffer index that is negative or not below `limits[d]`
    is outside: loads give 0 for it, and stores leave it alone. Nothing is read or written
    here, but where the place is used.

    With `rows %list[%i, %first] by n`, row r of the tile (its first dimension) is row `list[%i, %first + r] floordiv n` behind the
    offset, and the first limit bounds `%first + r`. Elements of the list beyond that limit aren't read.

    ```mlir
    %p = nsatile.at %q[%b, %t0, %h0, %c0] dims [1, 2, 3] limits [%T, %HQ, %D]
        : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>> -> !nsatile.place<16x4x64xbf16>
    %g = nsatile.at %q[%b, %c0, %h0, %c0] dims [1, 2, 3] limits [%end, %HQ, %D] rows %list[%b, %first] by 8 : memref<?x?xi32>
        : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>> -> !nsatile.place<16x4x64xbf16>
    ```
  }];
  let arguments = (ins NSATile_Buffer:$buffer, Variadic<Index>:$offsets,
                       Variadic<Index>:$limits, DenseI64ArrayAttr:$dims,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$steps,
                       Optional<NSATile_List>:$list, Variadic<Index>:$entry,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$divisor);
  let results = (outs NSATile_PlaceType:$place);
  let builders = [OpBuilder<(ins "::mlir::Value":$buffer, "const TilePlace &":$place)>];
  let assemblyFormat = [{
    $buffer `[` $offsets `]` `dims` $dims (`steps` $steps^)? `limits` `[` $limits `]`
    (`rows` $list^ `[` $entry `]` (`by` $divisor^)? `:` type($list))?
    attr-dict `:` type($buffer) `->` type($place)
  }];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<int64_t> getShape() { return getPlace().getType().getShape(); }
    ::mlir::Type getElementType() { return getPlace().getType().getElementType(); }
    int64_t getStep(unsigned dim) { return getSteps().empty() ? 1 : getSteps()[dim]; }
    /// Whether a list names the tile's rows.
    bool isListed() { return bool(getList()); }
  }];
  let hasVerifier = 1;
}

/// An op that reads or writes the tile at a place, `$place`.
class NSATile_AccessOp<string mnemonic, list<Trait> traits>
    : NSATile_Op<mnemonic, traits # [PredOpTrait<
          "nsatile.at gives the place: loops and branches can't hand one on",
          CPred<"$place.getDefiningOp<AtOp>()">>]> {
  let extraClassDeclaration = "/// The op that says where the tile is.\nAtOp getAt();";
  let extraClassDefinition = "AtOp $cppClass::getAt() { return getPlace().getDefiningOp<AtOp>(); }";
}
/// The place has the shape and the elements of the tile `$tile`.
def NSATile_HasPlaceOfTile : TypesMatchWith<
    "the place has the tile's shape and type of elements", "tile", "place",
    "PlaceType::get(::llvm::cast<::mlir::RankedTensorType>($_self))">;

def NSATile_LoadOp : NSATile_AccessOp<"load", [NSATile_HasPlaceOfTile, MemoryEffects<[MemRead]>]> {
  let summary = "the tile at a place; zeros beyond its limits";
  let description = [{
    ```mlir
    %p = nsatile.at %q[%b, %t0, %h0, %c0] dims [1, 2, 3] limits [%T, %HQ, %D]
        : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>> -> !nsatile.place<16x4x64xbf16>
    %t = nsatile.load %p : tensor<16x4x64xbf16>
    ```
  }];
  let arguments = (ins NSATile_PlaceType:$place);
  let results = (outs NSATile_Tile:$tile);
  let assemblyFormat = "$place attr-dict `:` type($tile)";
}

def NSATile_StoreOp : NSATile_AccessOp<"store", [NSATile_HasPlaceOfTile, MemoryEffects<[MemRead]>]> {
  let summary = "writes the elements of a tile that lie within its place's limits";
  let description = [{
    Reads the list that names the tile's rows, if there is one.

    ```mlir
    nsatile.store %t, %p : tensor<16x4x64xbf16>
    ```
  }];
  let arguments = (ins NSATile_Tile:$tile, Arg<NSATile_PlaceType, "", [MemWrite]>:$place);
  let assemblyFormat = "$tile `,` $place attr-dict `:` type($tile)";
}

def NSATile_Summand : StaticShapeTensorOf<[F32, I32, I64]>;

def NSATile_AccumulateOp : NSATile_AccessOp<"accumulate", [
    NSATile_HasPlaceOfTile, AttrSizedOperandSegments]> {
  let summary = "adds a tile to a place of a buffer, to the same bits in each run";
  let description = [{
    Several programs of a launch may add to one place. Elements beyond the limits aren't added.

    A sum of floating-point numbers depends on the order of its terms, so a tile of f32 has a turn. The op waits until the
    counter at its place in `turns` is `turn`, adds, and then counts it up. Turn 0 writes the tile: whatever the place held before
    doesn't matter. Counters are 0 at the start of the launch, and for the launch alone: code may count a turn in parts. The programs that add to a place have its turns 0, 1, 2 and so on
    between them, once each. Programs start along x from the end down. A program waits for the
    ones with lower turns: these have to have a greater x and the same y and z.

    A sum of integers is the same in any order, so a tile of integers has no turn, and its place has to be 0 at the start of the launch. Numbers
    that are rounded to multiples of a power of two are added this way.

    ```mlir
    nsatile.accumulate %t, %p turn %n of %turns[%b, %tile] : memref<?x?xi32> : tensor<64x64xf32>
    nsatile.accumulate %m, %q : tensor<64x64xi32>
    ```
  }];
  let arguments = (ins NSATile_Summand:$tile,
                       Arg<NSATile_PlaceType, "", [MemRead, MemWrite]>:$place,
                       Optional<Index>:$turn,
                       Arg<Optional<NSATile_List>, "", [MemRead, MemWrite]>:$turns,
                       Variadic<Index>:$counter);
  let assemblyFormat = [{
    $tile `,` $place (`turn` $turn^ `of` $turns `[` $counter `]` `:` type($turns))?
    attr-dict `:` type($tile)
  }];
  let hasVerifier = 1;
}

def NSATile_GatherOp : NSATile_Op<"gather", [
    AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "one element of a buffer for each element of a tile of indices";
  let description = [{
    Each index is clamped to the buffer, so that lanes with an unused value
    never read outside of it.

    With `where`, an element is 0 and isn't read where the mask is false. Where it is true, the indices are in the buffer.

    ```mlir
    %d = nsatile.gather %doc[%b, %j] : memref<?x?xi32>, tensor<64xindex>, tensor<64xindex> -> tensor<64xi32>
    %e = nsatile.gather %lists[%t, %c] where %in : tensor<64xi1>
        : memref<?x?xi32>, tensor<64xindex>, tensor<64xindex> -> tensor<64xi32>
    ```
  }];
  let arguments = (ins NSATile_Buffer:$buffer, Variadic<NSATile_Tile>:$indices,
                       Optional<NSATile_Mask>:$mask);
  let results = (outs NSATile_Tile:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$buffer,
                                 "::mlir::ValueRange":$indices)>];
  let assemblyFormat = [{
    $buffer `[` $indices `]` (`where` $mask^ `:` type($mask))? attr-dict
    `:` type($buffer) (`,` type($indices)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def NSATile_LookupOp : NSATile_Op<"lookup", [
    MemoryEffects<[MemRead]>,
    TypesMatchWith<"the result is an element of the buffer", "buffer", "result",
                   "::mlir::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "one element of a buffer, at clamped indices";
  let description = [{
    Like `nsatile.gather` of one element: indices are clamped to the buffer, and an empty buffer
    gives 0.

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
    The condition is a boolean, or a tile of booleans. `values` are indices, or tiles of
    indices of the condition's shape; `{n}` in the message stands for the n-th value, at
    the element that fails. The program goes on, but its later results don't matter. The
    run reports one failure of a launch: the failure with the lexicographically least
    values, so that the order of threads and tiles doesn't matter.

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
    /// Greatest number of values that an assertion may have.
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
  let summary = "the range of positions for which computed loop bounds have to hold";
  let description = [{
    The results are positions [first, end) of a tile with `size` neighbouring positions. Each
    position has equally many rows of the tile's products, in the order of positions. Bounds of loops over
    keys that are computed from the results leave out no key that a row of these positions sees.

    With `groups`, each of that number of warpgroups gets its own share of the positions.

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
    Computes `acc + lhs · rhs`, with lhsᵀ for `transpose_lhs` and rhsᵀ for `transpose_rhs`.

    `where` says which rows of the result see which rows of `rhs`. It can't be given with a transposed operand. Rows of
    `rhs` that a row doesn't see count as zeros for it, so that no infinity or NaN in them reaches
    the row: `acc[r, c] + Σ lhs[r, k] · (visible[r, k] ? rhs[k, c] : 0)`. `lhs` is 0
    where `visible` is false, so that `where` only matters if `rhs` isn't finite.

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
    /// Number of products that an element of the result adds up.
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
    Nothing moves: if one of the tiles has a layout, the other has that layout under
    `#nsatile.reshape`, or both have the same `#nsatile.blocked`.

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
    arXiv:1805.02867). While a row's newMax is -inf, its probs are 0 and its decay is 1.
    If newMax is inf, probs are exp(x), so that the sum is infinite, too; decay is 1 from
    then on. newMax ignores NaN: a NaN score makes its prob NaN, and so newSum.
    Sums may be `#nsatile.partial`; their type then follows `sums`.

    With `rows`, rows where it is false keep max and sum: their probs are 0 and their decay is 1,
    as if all of their scores were -inf.

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
    output = acc / sum and lse = max + log sum. For a row with a sum of 0, they are 0 and -inf.
    If max is inf, they are NaN and inf. If sum is NaN, both are NaN.
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
  let summary = "merges two streaming softmaxes over different keys";
  let description = [{
    newMax = max(lhsMax, rhsMax), which ignores NaN. A side's decay is exp(its max - newMax), or 1
    if the two are equal, even if infinite. newSum = lhsSum · lhsDecay + rhsSum · rhsDecay. The
    accumulators have to be scaled by the decays, too.

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
  let summary = "the weights of a softmax with a known log-sum-exp";
  let description = [{
    weights = exp(scale · scores - lse - rest): lse is the log-sum-exp as an f32, and rest the part for
    which an f32 has no digits. The product is rounded, like the greatest product in the log-sum-exp:
    equal products cancel, however large they are.

    With `approximate`, weights may have a relative error of 2^-12. Scores of 16-bit operands cause
    errors of that size anyway.

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
  let summary = "sorts each row";
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
    Each row of the result has the K greatest of the K keys of `list` and the N candidates, in descending
    order. The keys of `list` are in descending order, too.

    With `insert K` a list may have more columns than the K that are asked for. The keys behind column K are in
    descending order, too. They are keys of the list or candidates, but not always the greatest. Such a list has one
    column for each lane of a warp, and each lane has equally many candidates. A warp inserts the candidates that
    beat key K, one by one or many at once.

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
  let summary = "swaps keys between columns that differ in the bits of a mask";
  let description = [{
    Column c of the result is column c xor `mask` of the keys: half of a
    compare-exchange. A mask of all ones reverses rows.

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
  let summary = "moves each column one place to the right";
  let description = [{
    Column c of the result is column c - 1 of `tile`; column 0 is the last column of `before`, the tile
    in front of it.

    ```mlir
    %s = nsatile.shift %before, %tile : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins NSATile_F32Matrix:$before, NSATile_F32Matrix:$tile);
  let results = (outs NSATile_F32Matrix:$result);
  let assemblyFormat = "$before `,` $tile attr-dict `:` type($tile)";
}

include "NSATile/IR/NSATileFoldOps.td"
include "NSATile/IR/NSATileAsyncOps.td"
include "NSATile/IR/NSATileCandidateOps.td"
include "NSATile/IR/NSATileListOps.td"

#endif // NSATILE_IR_NSATILEOPS_TD
