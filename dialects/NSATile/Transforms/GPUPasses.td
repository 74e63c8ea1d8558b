//===- GPUPasses.td - Passes for GPUs -----------------------------------===//

#ifndef NSATILE_TRANSFORMS_GPUPASSES_TD
#define NSATILE_TRANSFORMS_GPUPASSES_TD

include "mlir/Pass/PassBase.td"

def NSATileAssignLayouts : Pass<"nsatile-assign-layouts", "::nsacc::nsatile::ProgramOp"> {
  let summary = "Give each tile registers, or shared memory";
  let description = [{
    Layouts start at products and softmaxes, which want `#nsatile.mma`, and at exchanges, which want each row in the
    lanes of one warp. They flow along elementwise code, broadcasts, reductions, reshapes, loops and branches in both directions.
    A sum of heads over lanes ends a flow: all of these lanes hold the sum, and code on it runs once.
    Operands that a product loads are in shared memory; tiles that no flow reaches are `#nsatile.blocked`. Where layouts
    meet, cheap values (constants, positions, small loads and arithmetic on these) are
    computed once more, others are converted.

    Assumes that programs are canonical and that orders and merges of softmaxes are expanded. A program
    that has layouts already stays as it is.

    The schedule gives the number of warps. If it is 0, a program has one warp for each 16 rows of
    the largest product, 8 at most.

    Before and after:

    ```mlir
    %k = nsatile.load %at : tensor<64x64xbf16>
    %s = nsatile.dot %q, transpose %k : (…) -> tensor<64x64xf32>
    %e = math.exp %s : tensor<64x64xf32>

    %k = nsatile.load %at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
    %s = nsatile.dot %q, transpose %k : (…) -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
    %e = math.exp %s : tensor<64x64xf32, #nsatile.mma<warps = 4>>
    ```
  }];
  let dependentDialects = ["::nsacc::nsatile::NSATileDialect"];
}

def NSATileAssumeFinite : Pass<"nsatile-assume-finite", "::mlir::ModuleOp"> {
  let summary = "Check visibility in products only where values aren't finite";
  let description = [{
    A product's `where` only matters when an operand isn't finite, and then the sums
    aren't finite either. The attribute `nsatile.exact` of a program names an exact program, which computes the same results.
    The pass takes the `where`s out of the first program, which then writes a number for each row into a
    workspace: 0 if all sums of the row are finite and its softmaxes' maxima below 2^22 in size,
    NaN if not. The exact program is launched behind it. It ends at once if no row was raised, and skips a tile if all numbers of the tile's rows are 0.
    If a sum or a maximum doesn't reach the end of the program, the program keeps its
    `where`s and the exact program is removed.

    Before and after:

    ```mlir
    nsatile.program @fast(…) attributes {nsatile.exact = @exact} { … %o = nsatile.dot %p, %v acc %a where %seen … }
    nsatile.program @exact(…) { … }

    nsatile.program @fast(…, %marks: memref<?xf32>, …) {
      … %o = nsatile.dot %p, %v acc %a …
      %nan = arith.mulf %o, %zero : tensor<64x64xf32>
      %mark = nsatile.reduce sum %nan along 1 : tensor<64x64xf32> -> tensor<64xf32>
      %to = nsatile.at %marks[…] …
      nsatile.store %mark, %to : tensor<64xf32>
      nsatile.raise %mark : tensor<64xf32>
    }
    nsatile.program @exact(…, %marks: memref<?xf32>, …) {
      nsatile.repair of (%nx, %ny, %nz) {
      ^bb0(%x: index, %y: index, %z: index):
        %from = nsatile.at %marks[…] …
        %mark = nsatile.load %from : tensor<64xf32>
        %finite = nsatile.all_finite %mark : tensor<64xf32>
        … scf.if … { … }
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def NSATileSpecializeWarps : Pass<"nsatile-specialize-warps", "::mlir::ModuleOp"> {
  let summary = "Let a producer load operands of products through circular buffers";
  let description = [{
    A producer loads swizzled tiles in shared memory into circular buffers, and vectors of f32 with `nsatile.ahead`; the other
    warps wait for the tiles, compute, and release them. The
    producer has a copy of the program's control flow and scalar code. A load
    stays where it is if tiles decide its place or whether it runs, or if a bulk tensor copy
    can't do it. A program stays as it is if it loads nothing this way in a loop, if its products aren't split over
    whole warpgroups, or if its schedule doesn't name `warps`.

    A product with a `where` looks at each pair, which a product in flight can't do: programs with such products
    of loaded tiles stay as they are, too (see `nsatile-assume-finite`). So do programs with a product over the rows
    of a loaded tile if their number isn't a multiple of 16: bulk copies don't write the rest of the last step.

    Before and after:

    ```mlir
    scf.for %j = … {
      %at = nsatile.at %K[%j, %c0] …
      %k = nsatile.load %at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
      … nsatile.dot %q, transpose %k …
    }

    %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>
    nsatile.warp_specialize consumers 4 {
      scf.for %j = … {
        %k = nsatile.consumer_wait %buffer
        … nsatile.dot %q, transpose %k …
        nsatile.consumer_release %buffer
      }
    } producer {
      scf.for %j = … {
        %at = nsatile.at %K[%j, %c0] …
        nsatile.producer_load %buffer, %at
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def NSATileNarrowKeyLoops : Pass<"nsatile-narrow-key-loops"> {
  let summary = "Let each warpgroup leave out keys that its own rows don't see";
  let description = [{
    If the bounds of consumers' loops come from an `nsatile.row_range`, each warpgroup gets the
    bounds for its own rows. The producer loads the tiles that the rows of any warpgroup see. In steps before
    and behind its own, a warpgroup waits for the tiles and releases them.

    The range stays whole if a warpgroup's share is below 16 positions (with 16 query heads on one key head, 64 rows have
    4), if its results are used otherwise or for more than one loop, if a wait in such a loop depends on a
    condition, or if warpgroups wait for each other there.

    Before and after, for three warpgroups:

    ```mlir
    %first, %end = nsatile.row_range %a to %b of 192
    … %lo and %hi from %first and %end …
    %r = scf.for %j = %lo to %hi step %c1 … {
      %k = nsatile.consumer_wait %buffer
      … nsatile.consumer_release %buffer …
    }

    %first, %end = nsatile.row_range %a to %b of 192 groups 3
    … %lo and %hi from %first and %end, %lower and %upper from %a and %b …
    scf.for %j = %lower to %lo step %c1 { nsatile.consumer_wait %buffer nsatile.consumer_release %buffer }
    %r = scf.for %j = %lo to %hi step %c1 … { … }
    scf.for %j = %hi to %upper step %c1 { nsatile.consumer_wait %buffer nsatile.consumer_release %buffer }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def NSATilePrefetchEntries : Pass<"nsatile-prefetch-entries"> {
  let summary = "Read entries of lists a step ahead";
  let description = [{
    In loops of producers and consumers, a step reads numbers from memory at places that follow from the step's number.
    The pass reads such a number in the step before, and carries it: the producer computes the place of a tile from it, consumers a mask, and neither waits for
    memory. A number that gives the place of another one is read one step earlier still: a list's page, for example, which gives the place of a table's element.
    The last step reads its own entry once more.

    Before and after:

    ```mlir
    nsatile.fold over %c0 to %n {
    ^bb0(%i: index, %partial: i1):
      %entry = memref.load %list[%i]
      … nsatile.at %K[%entry, …]

    %e0 = scf.if … { memref.load %list[%c0] } else { 0 }
    nsatile.fold over %c0 to %n state(%e0 : index) {
    ^bb0(%i: index, %partial: i1, %entry: index):
      %next = arith.minsi %i + 1, %n - 1
      %later = memref.load %list[%next]
      … nsatile.at %K[%entry, …]
      nsatile.yield %later
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def NSATileSchedulePipeline : Pass<"nsatile-schedule-pipeline"> {
  let summary = "Decide which products of a loop overlap";
  let description = [{
    If a step of a consumers' loop has products that depend on each other, the tensor cores wait for the code between
    them. A product with a sum that is only handed to the next step can run in that step: it gets stage 1, along with the
    wait for its right operand and the release. Products that wait for no other product of the step get stage 0. Code on
    the handed sum, and code that writes registers which a product in flight reads, is late: it runs behind the products
    of stage 1. Code on sums of more than 128 columns gets stage 1 itself: it runs in the next step, along with the
    products of stage 0.

    If no product can run in the next step (for example because another product reads its right operand, too), products
    that don't depend on each other run side by side in their own step: the loop has one stage. It also has one stage
    if the program's schedule says `peel = off`: with two, the first step would be a copy of the others.

    The pass changes no code. `nsatile-expand-pipeline` does what the attributes say. A remark for each loop with
    products reports the result.

    Before and after:

    ```mlir
    scf.for … iter_args(%acc = %o0) {
      %s = nsatile.dot %q, transpose %k
      … %p and %scaled from %s and %acc …
      %o = nsatile.dot %p, %v acc %scaled
    }

    scf.for … iter_args(%acc = %o0) {
      %s = nsatile.dot %q, transpose %k {nsatile.stage = 0}
      … %scaled = arith.mulf %acc, … {nsatile.late} …
      %o = nsatile.dot %p, %v acc %scaled {nsatile.stage = 1}
    } {nsatile.stages = 2}
    ```
  }];
}

def NSATileExpandPipeline : Pass<"nsatile-expand-pipeline"> {
  let summary = "Write loops with overlapping steps";
  let description = [{
    Products of warpgroups with a right operand in shared memory get a start and a separate wait. In a loop with
    `nsatile.stages`, a step starts its own products of stage 0, then the previous step's products of stage 1 (behind the
    code of stage 1 on their sums, which reads values that its step has handed on). It waits for its own products first:
    the others are in flight while the code behind its own runs. The first step's head and the last
    step's products of stage 1 are outside of the loop. Any number of products may have either stage.

    In a loop of one stage, products start together as soon as all of their operands are there and the products that
    these come from have ended. An operand of several products is released behind the last of them. Nothing is in flight
    from step to step: ptxas wants separate registers for all products in flight, and a backward step has none left.

    Before and after:

    ```mlir
    %o = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %o0) {
      %s = nsatile.dot %q, transpose %k {nsatile.stage = 0}
      … %p and %acc1 from %s and %acc …
      %o1 = nsatile.dot %p, %v acc %acc1 {nsatile.stage = 1}
    } {nsatile.stages = 2}

    … the first %p and %acc1 …
    %r:2 = scf.for %j = … iter_args(%acc1 = …, %p = …) {
      %s0 = nsatile.dot_async %q, transpose %k
      %o0 = nsatile.dot_async %p, %v acc %acc1 if %adds
      %s = nsatile.dot_wait %s0 allow 1
      … what doesn't need %o …
      %o = nsatile.dot_wait %o0 allow 0
      … the next %p and %acc1 …
    }
    … nsatile.dot_async %r#1, %v acc %r#0 if %any …
    ```

    Where %o0 is zeros, the first second product adds to nothing, and no zeros have to be written.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def NSATileOperandsInRegisters : Pass<"nsatile-operands-in-registers"> {
  let summary = "Keep left operands in registers where there is room";
  let description = [{
    A left operand in shared memory that stays the same over a loop is read by every step's product. As many of its
    columns as consumers have registers for are read once: all of them, or 64, and 128 at most.
    A thread's room is its registers less the tiles that the loop and the loops around it carry, the tiles that are
    used in the loop or behind it, the results of its products, and 28 registers for all else. If a loop that
    carries tiles comes between the operand and its last use without multiplying it, no columns stay. Nor do they if
    a step's other products have left operands in registers and no product is in flight across steps: ptxas gives them
    the registers of this operand.

    Before and after, where 64 of 128 columns fit:

    ```mlir
    %q = nsatile.consumer_wait %buffer
    %r = scf.for … {
      %s = nsatile.dot_async %q, transpose %k

    %q = nsatile.consumer_wait %buffer
    %f = nsatile.fragment %q : tensor<128x128xbf16, #shared> -> tensor<128x64xbf16, #mma>
    %r = scf.for … {
      %s = nsatile.dot_async %q head %f, transpose %k
    ```
  }];
  let options = [
    Option<"registers", "registers", "int64_t", "65536", "registers of a multiprocessor">
  ];
}

def NSATileCombineEarly : Pass<"nsatile-combine-early", "::nsacc::nsatile::ProgramOp"> {
  let summary = "Combine tiles as soon as they are there";
  let description = [{
    If its operands have no other use, an elementwise op is moved in front of loops between
    the op and its last operand. A program with several attentions then keeps one sum of
    their results in registers, not each result until the last attention is done. The loop
    that contains the most loops that carry tiles comes first, while there is no such sum:
    a selection's rows have a state beside the state of all rows.

    Before and after:

    ```mlir
    %a = scf.for …
    %b = scf.for …
    %c = scf.for …
    %d = arith.addf %a, %b : tensor<64x128xf32>

    %a = scf.for …
    %b = scf.for …
    %d = arith.addf %a, %b : tensor<64x128xf32>
    %c = scf.for …
    ```
  }];
}

def NSATilePipelineLoads : Pass<"nsatile-pipeline-loads", "::nsacc::nsatile::ProgramOp"> {
  let summary = "Load tiles of later steps while a step computes";
  let description = [{
    Tiles that a loop loads into shared memory go through circular buffers of as many tiles as the
    schedule's `stages` say. Two stages become one where shared memory has no room for them; more stages than it has room for
    are an error of the lowering. The threads of a program that isn't warp-specialized load them.
    At the beginning of a step, its tiles have arrived. The step reads the first one, and starts the loads of
    the step that is `stages - 1` steps later before it goes on. With one stage, a tile's place is loaded again as soon as
    the tile has been read, and a step's last tile is loaded while the step computes with the others.

    A load stays where it is if its place isn't known ahead (it depends on tiles or on values that the loop
    carries), or if the program writes the buffer. Warp-specialized programs have producers for this.

    Before and after, with two stages:

    ```mlir
    scf.for %j = %lo to %hi step %c1 {
      %at = nsatile.at %K[%j, %c0] …
      %k = nsatile.load %at : tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
      … nsatile.dot %q, transpose %k …
    }

    %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>
    scf.if %any {
      %first = nsatile.at %K[%lo, %c0] …
      nsatile.producer_load %buffer, %first
    }
    scf.for %j = %lo to %hi step %c1 {
      %k = nsatile.consumer_wait %buffer
      … nsatile.dot %q, transpose %k …
      nsatile.consumer_release %buffer
      %next = arith.addi %j, %c1 : index
      %more = arith.cmpi slt, %next, %hi : index
      scf.if %more {
        %at = nsatile.at %K[%next, %c0] …
        nsatile.producer_load %buffer, %at
      }
      …
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"sharedBytes", "shared-bytes", "int64_t", "101376", "shared memory of a block">
  ];
}

def NSATileDeferProducts : Pass<"nsatile-defer-products", "::nsacc::nsatile::ProgramOp"> {
  let summary = "Let products for sums in memory stand a step late";
  let description = [{
    The attribute `nsatile.stage = 1` asks for an `nsatile.accumulate` a step late. The pass puts the sum, and products that
    nothing else reads, into the next step, at the place where its own would stand. A tile that they read and their step computes is handed on through a circular buffer of two
    tiles, which the threads fill themselves: no thread waits for what others write in the same step. The first
    step's products read zeros, and nobody adds their result; the last step's stand behind the loop. Places in memory are
    computed once more, from the number of the step before.

    The sum stays where it is, with a remark, if its products read a tile that their step loads (a later load would
    overwrite it), if its place depends on tiles or on carried values, if another op of the loop uses its memory, or if shared
    memory has no room.

    Before and after:

    ```mlir
    scf.for %i = %lo to %hi step %c1 {
      … %ds from %q and %k …
      %t = nsatile.convert_layout %ds
      %dq = nsatile.dot transpose %t, %k
      %to = nsatile.at %sums[%i, %c0] …
      nsatile.accumulate %dq, %to … {nsatile.stage = 1}
    }

    %handed = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>
    nsatile.consumer_store %zeros, %handed
    scf.for %i = %lo to %hi step %c1 {
      … %ds from %q and %k …
      nsatile.consumer_store %ds, %handed
      %t = nsatile.consumer_wait %handed
      %dq = nsatile.dot transpose %t, %k
      nsatile.consumer_release %handed
      scf.if %i > %lo { %to = nsatile.at %sums[%i - 1, %c0] …; nsatile.accumulate %dq, %to … }
    }
    %t = nsatile.consumer_wait %handed
    %dq = nsatile.dot transpose %t, %k
    nsatile.consumer_release %handed
    scf.if %lo < %hi { %to = nsatile.at %sums[%hi - 1, %c0] …; nsatile.accumulate %dq, %to … }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"sharedBytes", "shared-bytes", "int64_t", "0", "shared memory of a block; 0 for no bound">
  ];
}

def NSATileOrderSoftmax : Pass<"nsatile-order-softmax", "::nsacc::nsatile::ProgramOp"> {
  let summary = "Choose the order of the instructions in softmax steps";
  let description = [{
    Each `softmax_update` on a GPU gets the order that the schedule's `softmax` says. `auto` becomes `rows`, which needs the
    fewest registers, unless the update may assume finite scores: then `decay_first` with three warpgroups or more,
    `maxima_first` with two of a specialized program and 128 keys or more, and `together` otherwise. The lowering only reads it.

    Before and after, with one warpgroup:

    ```mlir
    nsatile.softmax_update %m, %l, %s scale %c {nsatile.assumes_finite} : …

    nsatile.softmax_update %m, %l, %s scale %c {nsatile.assumes_finite, nsatile.order = "together"} : …
    ```
  }];
}

def NSATilePersistPrograms : Pass<"nsatile-persist-programs", "::mlir::ModuleOp"> {
  let summary = "Let blocks stay and take tile after tile";
  let description = [{
    A warp-specialized program runs as many blocks as the device runs at once, and each takes the
    next point of the grid when it is done with one (`nsatile.tiles`). The producer
    loads the next point's tiles while consumers still store results, and no
    block waits for another one's end. The program gets its launch's grid as arguments.
    Circular buffers of one tile get room for the next point's tile if shared memory has it beside the room for results.

    Before and after:

    ```mlir
    nsatile.warp_specialize consumers 8 { %x = nsatile.program_id 0 … } producer { … }

    nsatile.warp_specialize consumers 8 {
      nsatile.tiles of (%nx, %ny, %nz) {
      ^bb0(%x: index, %y: index, %z: index):
        …
      }
    } producer { … }
    ```
  }];
  let options = [
    Option<"sharedBytes", "shared-bytes", "int64_t", "0", "shared memory of a block">
  ];
}

#endif // NSATILE_TRANSFORMS_GPUPASSES_TD
