//===- GPUPasses.td - Passes for GPUs -----------------------------------===//

#ifndef NSATILE_TRANSFORMS_GPUPASSES_TD
#define NSATILE_TRANSFORMS_GPUPASSES_TD

include "mlir/Pass/PassBase.td"

def NSATileAssignLayouts : Pass<"nsatile-assign-layouts", "::nsacc::nsatile::ProgramOp"> {
  let summary = "Give each tile registers, or shared memory";
  let description = [{
    Layouts start at products and softmaxes, which want `#nsatile.mma`, and at exchanges, which want each row in the
    lanes of one warp. They flow along elementwise code, broadcasts, reductions, reshapes, loops and branches in both directions.
    Heads that lanes add up end a flow: all of these lanes hold the sum, and what is computed of it is computed once.
    What a product loads is in shared memory; what nothing reaches is `#nsatile.blocked`. Where layouts meet, cheap
    values (constants, positions, small loads and arithmetic on these) are
    computed once more, others are converted.

    Assumes that programs are canonical and that orders and merges of softmaxes are expanded. A program
    that has layouts already stays as it is.

    The number of warps is the schedule's; where that is 0, one for each 16 rows of
    the largest product, 8 at most.

    Before and after:

    ```mlir
    %k = nsatile.load %K[…] … -> tensor<64x64xbf16>
    %s = nsatile.dot %q, transpose %k : (…) -> tensor<64x64xf32>
    %e = math.exp %s : tensor<64x64xf32>

    %k = nsatile.load %K[…] … -> tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
    %s = nsatile.dot %q, transpose %k : (…) -> tensor<64x64xf32, #nsatile.mma<warps = 4>>
    %e = math.exp %s : tensor<64x64xf32, #nsatile.mma<warps = 4>>
    ```
  }];
  let dependentDialects = ["::nsacc::nsatile::NSATileDialect"];
}

def NSATileAssumeFinite : Pass<"nsatile-assume-finite", "::mlir::ModuleOp"> {
  let summary = "Look at who sees what only where values aren't finite";
  let description = [{
    A product's `where` only matters when an operand isn't finite, and then the sums
    aren't. The attribute `nsatile.exact` of a program names an exact program, which computes the same.
    The pass takes the `where`s out of the first program, which then writes a number for each row into a
    workspace: 0 if all sums of the row are finite and its softmaxes' maxima below 2^22 in size,
    NaN if not. The exact program is launched behind it, ends at once where no row was raised, and does nothing where all of its tile's rows are 0.
    Where a sum or a maximum doesn't reach the end of the program, the program keeps its
    `where`s and the exact one is removed.

    Before and after:

    ```mlir
    nsatile.program @fast(…) attributes {nsatile.exact = @exact} { … %o = nsatile.dot %p, %v acc %a where %seen … }
    nsatile.program @exact(…) { … }

    nsatile.program @fast(…, %marks: memref<?xf32>, …) {
      … %o = nsatile.dot %p, %v acc %a …
      %nan = arith.mulf %o, %zero : tensor<64x64xf32>
      %mark = nsatile.reduce sum %nan along 1 : tensor<64x64xf32> -> tensor<64xf32>
      nsatile.store %mark, %marks[…] …
      nsatile.raise %mark : tensor<64xf32>
    }
    nsatile.program @exact(…, %marks: memref<?xf32>, …) {
      nsatile.repair of (%nx, %ny, %nz) {
      ^bb0(%x: index, %y: index, %z: index):
        %mark = nsatile.load %marks[…] …
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
    Loads of swizzled tiles into shared memory go into circular buffers by a producer
    of its own; the other warps wait for the tiles, compute, and release them. The
    producer has a copy of the program's control flow and scalar code. A load
    stays where it is if tiles decide its place or whether it runs, or if a bulk tensor copy
    can't do it. Programs that load nothing this way in a loop, whose products aren't split over
    whole warpgroups, or whose schedule doesn't name `warps`, stay as they are.

    A product's `where` looks at each pair, which products in flight can't: programs with such products
    of loaded tiles stay as they are, too (see `nsatile-assume-finite`). Programs with a product over
    rows of a loaded tile whose number isn't a multiple of 16 also stay as they are: bulk copies leave the rest of the last step as it was.

    Before and after:

    ```mlir
    scf.for %j = … {
      %k = nsatile.load %K[%j, %c0] … -> tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
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
        nsatile.producer_load %buffer, %K[%j, %c0] …
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def NSATileNarrowKeyLoops : Pass<"nsatile-narrow-key-loops"> {
  let summary = "Let each warpgroup leave out keys that its own rows don't see";
  let description = [{
    Where bounds of consumers' loops come from an `nsatile.row_range`, each warpgroup gets
    those of its own rows. The producer loads what the rows of all warpgroups see. In steps before
    and behind its own, a warpgroup waits for the tiles and releases them.

    The range stays whole if a warpgroup's share is below 16 positions (with 16 query heads on one key head, 64 rows have
    4), if its results are used otherwise or for more than one loop, if what is waited for in such a loop depends on a
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
    memory. What names the place of another such number, as a list's page that of a table's element, is read a step earlier still. The last step reads its own entry once more.

    Before and after:

    ```mlir
    nsatile.fold over %c0 to %n {
    ^bb0(%i: index, %partial: i1):
      %entry = memref.load %list[%i]
      … nsatile.producer_load %buffer, %K[%entry, …]

    %e0 = scf.if … { memref.load %list[%c0] } else { 0 }
    nsatile.fold over %c0 to %n state(%e0 : index) {
    ^bb0(%i: index, %partial: i1, %entry: index):
      %next = arith.minsi %i + 1, %n - 1
      %later = memref.load %list[%next]
      … nsatile.producer_load %buffer, %K[%entry, …]
      nsatile.yield %later
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def NSATileSchedulePipeline : Pass<"nsatile-schedule-pipeline"> {
  let summary = "Decide which products of a loop overlap";
  let description = [{
    In a loop of consumers whose step has products that depend on each other, the tensor cores wait for the code between
    them. A product whose sum is only handed to the next step can run there: it gets stage 1, along with what waits for and
    releases its right operand. Products that wait for no other one of the step get stage 0. Code on the handed sum, and
    code that writes registers which a product in flight reads, is late: it runs behind the products of stage 1. Code on
    sums of more than 128 columns gets stage 1 itself: it runs in the next step, while that one's products of stage 0 do.

    Where no product can run in the next step (its right operand is read by another product, too, say), products that
    need none of each other run side by side in their own: the loop has one stage. So they do where the program's schedule
    says `peel = off`: the first step would be a copy of the others.

    The pass changes no code. `nsatile-expand-pipeline` does what the attributes say. A remark for each loop with
    products says what was found.

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
  let summary = "Write loops whose steps overlap";
  let description = [{
    Products of warpgroups with a right operand in shared memory are started and waited for apart. In a loop with
    `nsatile.stages`, a step starts its own products of stage 0, then those of stage 1 of the step before (with the code of
    stage 1 on their sums in front, which reads what its step left for it), and waits for its own: the others are in flight while the code behind these runs. The first step's head and the last
    step's products of stage 1 stand outside of the loop. Any number of products may have either stage.

    In a loop of one stage, products start together as soon as all of their operands are there and those that these
    come from have ended. What several products read is given back behind the last of them. Nothing is in flight from
    step to step: ptxas wants registers of their own for all that is in flight at a time, and a backward step has none left.

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
    Room is what a thread's registers leave beside the tiles that the loop and those around it carry, those that are
    used in it or behind it, the results of its products, and 28 for all else. Where a loop that
    carries tiles stands between the operand and its last use without multiplying it, nothing stays. Nor does it where
    a step's other products have left operands in registers and none is in flight across steps: ptxas gives them
    the registers of this one.

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
    Elementwise ops whose operands nobody else needs are moved in front of loops that stand
    between them and the last operand. A program with several attentions then keeps one sum
    of what they gave in registers, not each of them until the last one is done. The loop
    with most loops that carry tiles in it comes first, while there is no such sum: a
    selection's rows have a state of their own beside that of all rows.

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
    schedule's `stages` say, or as there is room for. The threads of a program that isn't warp-specialized load them:
    a step begins with its tiles there, reads the first one, and starts the loads of step `stages - 1`
    from there before it goes on. With one stage, a tile's place is loaded again as soon as it has been read, and a step's last
    tile is loaded while it computes with the others.

    A load stays where it is when its place isn't known ahead (it depends on tiles or on what the loop
    carries), or when the program writes the buffer. Warp-specialized programs have producers for this.

    Before and after, with two stages:

    ```mlir
    scf.for %j = %lo to %hi step %c1 {
      %k = nsatile.load %K[%j, %c0] … -> tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>
      … nsatile.dot %q, transpose %k …
    }

    %buffer = nsatile.circular_buffer : !nsatile.circular_buffer<2 of tensor<64x64xbf16, #nsatile.shared<swizzle = 128>>>
    scf.if %any { nsatile.producer_load %buffer, %K[%lo, %c0] … }
    scf.for %j = %lo to %hi step %c1 {
      %k = nsatile.consumer_wait %buffer
      … nsatile.dot %q, transpose %k …
      nsatile.consumer_release %buffer
      %next = arith.addi %j, %c1 : index
      %more = arith.cmpi slt, %next, %hi : index
      scf.if %more { nsatile.producer_load %buffer, %K[%next, %c0] … }
      …
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"sharedBytes", "shared-bytes", "int64_t", "101376", "shared memory of a block">
  ];
}

def NSATilePersistPrograms : Pass<"nsatile-persist-programs", "::mlir::ModuleOp"> {
  let summary = "Let blocks stay and take tile after tile";
  let description = [{
    Warp-specialized programs run as many blocks as the device runs at once, and each takes the
    next point of the grid when it is done with one (`nsatile.tiles`). The producer
    loads the next point's tiles while consumers still store results, and no
    block waits for another one's end. The program gets its launch's grid as arguments.
    Circular buffers of one tile get room for the next point's, where shared memory has it beside that for results.

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
