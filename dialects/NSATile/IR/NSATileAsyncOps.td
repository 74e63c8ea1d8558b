#ifndef NSATILE_IR_NSATILEASYNCOPS_TD
#define NSATILE_IR_NSATILEASYNCOPS_TD

//===-- Circular buffers -------------------------------------------------===//

def NSATile_CircularBufferOp : NSATile_Op<"circular_buffer", [MemoryEffects<[MemAlloc]>]> {
  let summary = "an empty circular buffer of tiles in shared memory";
  let description = [{
    ```mlir
    %k = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>>
    ```
  }];
  let results = (outs NSATile_CircularBufferType:$circular_buffer);
  let assemblyFormat = "attr-dict `:` type($circular_buffer)";
}

def NSATile_ProducerLoadOp : NSATile_AccessOp<"producer_load", [
    MemoryEffects<[MemRead, MemWrite]>,
    TypesMatchWith<"the place has the shape and type of elements of the circular buffer's tiles",
                   "circular_buffer", "place",
                   "PlaceType::get(::llvm::cast<CircularBufferType>($_self).getTile())">]> {
  let summary = "starts the copy of a tile to the back of a circular buffer";
  let description = [{
    Waits until the circular buffer has room, then starts the copy of the tile that `nsatile.load` would give.
    Unlike a load, the copy may read elements beyond a limit if they lie within the buffer. Consumers can read
    the tile when the copy has ended. Rows that a list names are copied one by one.

    ```mlir
    nsatile.producer_load %k, %p : !nsatile.circular_buffer<2 of tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>>
    ```
  }];
  let arguments = (ins NSATile_CircularBufferType:$circular_buffer, NSATile_PlaceType:$place);
  let assemblyFormat = "$circular_buffer `,` $place attr-dict `:` type($circular_buffer)";
}

def NSATile_ConsumerStoreOp : NSATile_Op<"consumer_store", [
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "writes a tile of registers to the back of a circular buffer";
  let description = [{
    Consumers write the tile together, each thread its own part, and read it as a whole later: the op is the producer's
    part of a circular buffer that no producer fills. Each warp waits on its own until all warps have released the place, and
    reports that it has written. Without warp specialization, all threads of the block are the consumers.

    ```mlir
    nsatile.consumer_store %ds, %handed
        : tensor<128x64xbf16, #nsatile.mma<warps = 8>>, !nsatile.circular_buffer<2 of tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>>
    ```
  }];
  let arguments = (ins NSATile_Tile:$tile, NSATile_CircularBufferType:$circular_buffer);
  let assemblyFormat = "$tile `,` $circular_buffer attr-dict `:` type($tile) `,` type($circular_buffer)";
  let hasVerifier = 1;
}

def NSATile_ConsumerWaitOp : NSATile_Op<"consumer_wait", [
    MemoryEffects<[MemRead, MemWrite]>,
    TypesMatchWith<"the circular buffer's tile", "circular_buffer", "tile",
                   "::llvm::cast<CircularBufferType>($_self).getTile()">]> {
  let summary = "waits for the tile at the front of a circular buffer";
  let description = [{
    The tile may be read until the circular buffer's next `nsatile.consumer_release`.

    ```mlir
    %t = nsatile.consumer_wait %k : !nsatile.circular_buffer<2 of tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>>
    ```
  }];
  let arguments = (ins NSATile_CircularBufferType:$circular_buffer);
  let results = (outs NSATile_Tile:$tile);
  let assemblyFormat = "$circular_buffer attr-dict `:` type($circular_buffer)";
}

def NSATile_ConsumerReleaseOp : NSATile_Op<"consumer_release", [
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "frees the place at the front of a circular buffer";
  let description = [{
    Each consumer warp reports on its own that it has read the tile. The place is free
    when all of them have.
  }];
  let arguments = (ins NSATile_CircularBufferType:$circular_buffer);
  let assemblyFormat = "$circular_buffer attr-dict `:` type($circular_buffer)";
}

//===-- Products in flight ------------------------------------------------===//

def NSATile_FragmentOp : NSATile_Op<"fragment", [
    MemoryEffects<[MemRead]>, AllElementTypesMatch<["source", "result"]>]> {
  let summary = "reads the first columns of a tile into registers";
  let description = [{
    The result has the first columns of a tile in shared memory, laid out as the left operand of a product. Their
    number is a multiple of 16.

    ```mlir
    %f = nsatile.fragment %q
        : tensor<128x128xbf16, #nsatile.shared<swizzle = 128>> -> tensor<128x64xbf16, #nsatile.mma<warps = 8>>
    ```
  }];
  let arguments = (ins NSATile_Matrix:$source);
  let results = (outs NSATile_Matrix:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def NSATile_DotAsyncOp : NSATile_Op<"dot_async", [
    MemoryEffects<[MemRead]>, AttrSizedOperandSegments,
    AllElementTypesMatch<["lhs", "rhs"]>]> {
  let summary = "starts a product of two tiles";
  let description = [{
    Computes `acc + lhs · rhs` like `nsatile.dot`, with lhsᵀ or rhsᵀ for a transposed operand. A transposed left
    operand is in shared memory, swizzled by 128 bytes.
    If `adds` is false, `acc` isn't added and may hold anything: the first product of a loop
    needs no tile of zeros. Products end in the order in which they start.
    `head` is an `nsatile.fragment` of a left operand in shared memory: its columns
    needn't be read again.

    ```mlir
    %p = nsatile.dot_async %q, transpose %k
        : (tensor<128x64xbf16, #q>, tensor<128x64xbf16, #k>) -> !nsatile.pending<tensor<128x128xf32, #s>>
    ```
  }];
  let arguments = (ins NSATile_Matrix:$lhs, Optional<NSATile_Matrix>:$head,
                       NSATile_Matrix:$rhs, Optional<NSATile_F32Matrix>:$acc,
                       Optional<I1>:$adds, UnitAttr:$transpose_rhs,
                       UnitAttr:$transpose_lhs);
  let results = (outs NSATile_PendingType:$result);
  let assemblyFormat = [{
    (`transpose` $transpose_lhs^)? $lhs (`head` $head^)? `,` (`transpose` $transpose_rhs^)? $rhs (`acc` $acc^ (`if` $adds^)?)?
    attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def NSATile_DotWaitOp : NSATile_Op<"dot_wait", [
    MemoryEffects<[MemRead, MemWrite]>,
    TypesMatchWith<"the product's tile", "pending", "tile",
                   "::llvm::cast<PendingType>($_self).getTile()">]> {
  let summary = "waits for a product";
  let description = [{
    Up to `allow` products that were started later may still be in flight.

    ```mlir
    %s = nsatile.dot_wait %p allow 1 : !nsatile.pending<tensor<128x128xf32, #s>>
    ```
  }];
  let arguments = (ins NSATile_PendingType:$pending,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$allow);
  let results = (outs NSATile_F32Matrix:$tile);
  let assemblyFormat = "$pending `allow` $allow attr-dict `:` type($pending)";
}

//===-- Ping-pong ---------------------------------------------------------===//

def NSATile_PingPongWaitOp : NSATile_Op<"ping_pong_wait", [
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until the previous warpgroup has arrived";
  let description = [{
    The consumers' warpgroups take turns to run the code between this op and `nsatile.ping_pong_arrive`:
    CUTLASS's ping-pong schedule. Each warpgroup has to run both ops equally often.
  }];
  let assemblyFormat = "attr-dict";
}

def NSATile_PingPongArriveOp : NSATile_Op<"ping_pong_arrive", [
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets the next warpgroup go on";
  let assemblyFormat = "attr-dict";
}

def NSATile_UniformStepOp : NSATile_Op<"uniform_step", [
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "says whether all warpgroups run this step of a loop";
  let description = [{
    The bounds of the loop around the op may differ between warpgroups. If `condition` is true, all warpgroups run
    this step. All warpgroups run all steps of a loop without this op.
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def NSATile_AllFiniteOp : NSATile_Op<"all_finite", [Pure]> {
  let summary = "whether no element of tiles is an infinity or NaN";
  let description = [{
    ```mlir
    %ok = nsatile.all_finite %o : tensor<128x64xf32, #o>
    ```
  }];
  let arguments = (ins Variadic<NSATile_F32Tile>:$tiles);
  let results = (outs I1:$result);
  let assemblyFormat = "$tiles attr-dict `:` type($tiles)";
}

//===-- Repair of tiles ---------------------------------------------------===//

def NSATile_RaiseOp : NSATile_Op<"raise", [MemoryEffects<[MemWrite]>]> {
  let summary = "asks for a repair if an element isn't 0";
  let description = [{
    A later `nsatile.repair` of the plan does the repair.

    ```mlir
    nsatile.raise %marks : tensor<64xf32, #rows>
    ```
  }];
  let arguments = (ins NSATile_Rows:$marks);
  let assemblyFormat = "$marks attr-dict `:` type($marks)";
}

def NSATile_RepairOp : NSATile_Op<"repair", [
    HasParent<"ProgramOp">, NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "visits each point of a grid if an earlier launch asked for it";
  let description = [{
    The points (x, y, z) are shared among as many blocks as run at once. If no program of
    the plan raised, each block reads one flag and ends. The op is the only one of its program.

    ```mlir
    nsatile.repair of (%nx, %ny, %nz) {
    ^bb0(%x: index, %y: index, %z: index):
      …
    }
    ```
  }];
  let arguments = (ins Index:$x, Index:$y, Index:$z);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`of` `(` $x `,` $y `,` $z `)` $body attr-dict";
  let hasRegionVerifier = 1;
}

//===-- Producers and consumers -------------------------------------------===//

def NSATile_WarpSpecializeOp : NSATile_Op<"warp_specialize", [
    HasParent<"ProgramOp">, NoRegionArguments, NoTerminator, SingleBlock,
    RecursiveMemoryEffects]> {
  let summary = "one part of a program's warps loads, the other computes";
  let description = [{
    `warps` warps run the consumers' region. One thread of the warpgroup behind them runs the producer's region. The
    producer's warpgroup hands registers to the consumers (setmaxnreg). It keeps at least 24 for each thread, or 40
    if the producer reads lists in its loops.

    ```mlir
    nsatile.warp_specialize consumers 8 {
      … nsatile.consumer_wait …
    } producer {
      … nsatile.producer_load …
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$warps);
  let regions = (region SizedRegion<1>:$consumers, SizedRegion<1>:$producer);
  let assemblyFormat = [{
    `consumers` $warps $consumers `producer` $producer attr-dict
  }];
  let hasRegionVerifier = 1;
}

def NSATile_TilesOp : NSATile_Op<"tiles", [
    HasParent<"WarpSpecializeOp">, NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "visits the points of a grid, one after the other";
  let description = [{
    A grid's points (x, y, z) are shared among as many blocks as run at once: each block
    takes the next point when it is done with one. The producer asks for the point and
    tells the consumers. x goes down from the end, then y and z go up.

    With `sections`, several columns (y, z) go down together. This is for work that depends on x:
    the last section begins with its heavy points and leaves enough light points for all blocks,
    so that no block ends long after the others. A section has no more columns than this takes,
    since columns read different operands.

    ```mlir
    nsatile.tiles of (%nx, %ny, %nz) sections {
    ^bb0(%x: index, %y: index, %z: index):
      …
    }
    ```
  }];
  let arguments = (ins Index:$x, Index:$y, Index:$z, UnitAttr:$sections);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `of` `(` $x `,` $y `,` $z `)` (`sections` $sections^)? $body attr-dict
  }];
  let hasRegionVerifier = 1;
}

#endif // NSATILE_IR_NSATILEASYNCOPS_TD
