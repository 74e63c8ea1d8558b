#ifndef NSATILE_IR_NSATILEATTRS_TD
#define NSATILE_IR_NSATILEATTRS_TD

include "NSATile/IR/NSATileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def NSATile_LoopOrder : I32EnumAttr<"LoopOrder", "which loops are outside", [
  I32EnumAttrCase<"QueryMajor", 0, "query_major">,
  I32EnumAttrCase<"Union", 1, "union">,
  I32EnumAttrCase<"KeyMajor", 2, "key_major">,
  I32EnumAttrCase<"BlockMajor", 3, "block_major">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_ReduceKind : I32EnumAttr<"ReduceKind", "what a reduction computes", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_Order : I32EnumAttr<"Order", "direction of a sort", [
  I32EnumAttrCase<"Ascending", 0, "ascending">,
  I32EnumAttrCase<"Descending", 1, "descending">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_OrderAttr : EnumAttr<NSATileDialect, NSATile_Order, "order"> {
  let assemblyFormat = "$value";
}

def NSATile_ReduceKindAttr
    : EnumAttr<NSATileDialect, NSATile_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

def NSATile_ProgramUse : I32EnumAttr<"ProgramUse", "where an op is computed", [
  I32EnumAttrCase<"Fused", 0, "fused">,
  I32EnumAttrCase<"Own", 1, "own">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_Halo : I32EnumAttr<"Halo", "entries that blocks share with the ones in front", [
  I32EnumAttrCase<"Recompute", 0, "recompute">,
  I32EnumAttrCase<"Carry", 1, "carry">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_SelectMethod : I32EnumAttr<"SelectMethod", "how a row's greatest keys are found", [
  I32EnumAttrCase<"Sort", 0, "sort">,
  I32EnumAttrCase<"Threshold", 1, "threshold">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_Switch : I32EnumAttr<"Switch", "what may be left to a pass", [
  I32EnumAttrCase<"Auto", 0, "auto">,
  I32EnumAttrCase<"On", 1, "on">,
  I32EnumAttrCase<"Off", 2, "off">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_SoftmaxOrder : I32EnumAttr<"SoftmaxOrder", "how a step of a softmax is ordered", [
  I32EnumAttrCase<"Auto", 0, "auto">,
  I32EnumAttrCase<"Rows", 1, "rows">,
  I32EnumAttrCase<"Together", 2, "together">,
  I32EnumAttrCase<"MaximaFirst", 3, "maxima_first">,
  I32EnumAttrCase<"DecayFirst", 4, "decay_first">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_Rescale : I32EnumAttr<"Rescale", "when sums are rescaled by a new maximum", [
  I32EnumAttrCase<"Auto", 0, "auto">,
  I32EnumAttrCase<"InStep", 1, "in_step">,
  I32EnumAttrCase<"NextStep", 2, "next_step">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_GridOrder : I32EnumAttr<"GridOrder", "in which order blocks take a grid's points", [
  I32EnumAttrCase<"Auto", 0, "auto">,
  I32EnumAttrCase<"Columns", 1, "columns">,
  I32EnumAttrCase<"Sections", 2, "sections">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_ScheduleAttr : AttrDef<NSATileDialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how an attention, an importance or a top-k is tiled";
  let description = [{
    `nsatile.schedule` of `nsa.attend`, `nsa.importance` and `nsa.topk` before the conversion, and `schedule` of the
    programs behind it. [Schedules](../Schedules.md) lists the fields by the names that users set, and their
    defaults.

    These fields are an op's:

    - `order`: `query_major` walks the keys of each query tile, of a selection each token's
      blocks; `union` walks the blocks that any of a query tile's tokens selected, with all of its
      rows, along a list that a program of its own makes; `block_major` walks all blocks up to the last visible key, each with the
      tokens of the query tile that selected it; `key_major` holds a tile of keys (of a selection: a block) and walks the queries that see it, keeps their states in memory, and
      merges these where the attention is used, in a fixed order.
    - `keys`: keys of a tile; of a top-k, blocks whose importance is computed at a time.
    - `splits`: parts of the keys that programs go over side by side, each with states of its own for every query,
      which are merged where the attention is used: under `key_major`, and under `query_major` without a selection.
      0: as many as keep a GPU's multiprocessors busy, by the sizes of a call. Of a top-k with `method = threshold`, parts of
      its blocks, whose lists are merged.
    - `merge_tokens`: query tokens of a tile of the program that merges them, where it does nothing else; 0: as
      `tokens`.
    - `merge_heads`: query heads of that tile, which divide those that share a key head; 0: all of them.
    - `chunk`: MiB of the states of a selection's blocks under `key_major`, or of the output of a program of its own, that
      stand in memory at a time; 0: all.
    - `program`: `fused` computes the op in the programs of its readers, `own` once, into memory.
    - `method`: how a top-k finds the greatest keys of a row: `sort` merges each tile's with a sorted list (`nsatile.top`),
      `threshold` gathers those that aren't below a threshold, which rises (`nsatile.offer`).
    - `halo`: of a top-k that sorts, entries of pooled keys that a block shares with the one in front of it: `recompute`
      scores them for each, `carry` keeps a tile's last ones for the next tile (`nsatile.shift`).
    - `exact_keys`: `keys` of the exact program.

    These fields are the program's, and the ops that share it agree:

    - `tokens`: query tokens of a tile; a tile has `tokens` times group size rows.
    - `part`: tokens of the parts in which a tile walks keys that aren't selected, whose bounds are
      tighter than the tile's; 0: the tile in one. It divides `tokens`.
    - `channels`: channels of values, and of what is computed of them, that a program has; programs side by side have
      the others, each with the scores of its own. 0: all.
    - `warps`: warps of a program on a GPU; 0 lets `nsatile-assign-layouts` choose by the rows of
      a tile.
    - `blocks_per_sm`: blocks of a persistent program that share a multiprocessor, each with its part of the
      registers and of shared memory.
    - `stages`: buffers for each tile that a GPU loads in a loop.
    - `query_stages`: buffers for each tile that a persistent program loads once for a query tile;
      0: two where shared memory has room.
    - `ping_pong`: whether warpgroups start their products in turn; `auto`: unless two warpgroups have products
      as long as their softmaxes.
    - `columns_in_registers`: columns of a left operand that stay in registers; -1: as many as registers have
      room for.
    - `softmax`: how a step of a softmax is ordered: `rows` one after the other, all rows `together`, `maxima_first`
      in front of all exponentials, `decay_first` the factor of what was summed before. `auto`:
      by warps, keys and whether scores are known to be finite.
    - `rescale`: when the sums of a pipelined softmax are rescaled by a new maximum: `in_step`, before the step's own
      product adds to them, or in the `next_step`, while its first products run. `auto`: the latter for sums of
      more than 128 columns.
    - `grid`: in which order the blocks of a persistent program take query tiles: `columns`, one head after
      the other, or `sections` of as many heads as keep all blocks busy (`nsatile.tiles`). `auto`:
      sections where the tiles of a head differ in work.
    - `peel`: whether a loop's first step, its steps with masks and those without have code of their own, so that
      loads and products of a step run during the one before or behind it. `off`: all steps have the same code, and
      only loads run ahead. `auto`: they have their own.
    - `exact_tokens`: `tokens` of the exact program, which computes again what isn't finite in a fast one's
      results; 0: there is none. It divides `tokens`.

    ```mlir
    #nsatile.schedule<order = query_major, tokens = 32, keys = 64>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"LoopOrder", "LoopOrder::QueryMajor">:$order,
    "int64_t":$tokens, "int64_t":$keys,
    DefaultValuedParameter<"int64_t", "1">:$splits,
    DefaultValuedParameter<"int64_t", "0">:$merge_tokens,
    DefaultValuedParameter<"int64_t", "0">:$merge_heads,
    DefaultValuedParameter<"int64_t", "0">:$chunk,
    DefaultValuedParameter<"int64_t", "0">:$part,
    DefaultValuedParameter<"int64_t", "0">:$channels,
    DefaultValuedParameter<"ProgramUse", "ProgramUse::Fused">:$program,
    DefaultValuedParameter<"SelectMethod", "SelectMethod::Sort">:$method,
    DefaultValuedParameter<"Halo", "Halo::Recompute">:$halo,
    DefaultValuedParameter<"int64_t", "0">:$warps,
    DefaultValuedParameter<"int64_t", "1">:$blocks_per_sm,
    DefaultValuedParameter<"int64_t", "2">:$stages,
    DefaultValuedParameter<"int64_t", "0">:$query_stages,
    DefaultValuedParameter<"Switch", "Switch::Auto">:$ping_pong,
    DefaultValuedParameter<"int64_t", "-1">:$columns_in_registers,
    DefaultValuedParameter<"SoftmaxOrder", "SoftmaxOrder::Auto">:$softmax,
    DefaultValuedParameter<"Rescale", "Rescale::Auto">:$rescale,
    DefaultValuedParameter<"GridOrder", "GridOrder::Auto">:$grid,
    DefaultValuedParameter<"Switch", "Switch::Auto">:$peel,
    DefaultValuedParameter<"int64_t", "0">:$exact_tokens,
    DefaultValuedParameter<"int64_t", "0">:$exact_keys);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same op in the exact program of its program: in small tiles of whole
    /// parts, without lists or warps of its own.
    ScheduleAttr getExact() const;
    /// That of a program that only merges states.
    ScheduleAttr getMerging() const;
    /// This op's fields with the program's.
    ScheduleAttr inProgram(ScheduleAttr program) const;
  }];
}

def NSATile_PoolScheduleAttr : AttrDef<NSATileDialect, "PoolSchedule"> {
  let mnemonic = "pool_schedule";
  let summary = "how a pooling is tiled";
  let description = [{
    `nsatile.schedule` of `nsa.pool`.

    - `windows`: windows that a program pools.

    ```mlir
    #nsatile.pool_schedule<windows = 16>
    ```
  }];
  let parameters = (ins "int64_t":$windows);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NSATile_MapScheduleAttr : AttrDef<NSATileDialect, "MapSchedule"> {
  let mnemonic = "map_schedule";
  let summary = "how elementwise code is tiled";
  let description = [{
    `nsatile.schedule` of `nsa.map`.

    - `rows`, `columns`: a tile over a tensor's last two dimensions, where no attention is
      computed in the program.
    - `program`: `fused` computes the op in the programs of its readers, `own` once, into memory.

    ```mlir
    #nsatile.map_schedule<rows = 16, columns = 64>
    ```
  }];
  let parameters = (ins
    "int64_t":$rows, "int64_t":$columns,
    DefaultValuedParameter<"ProgramUse", "ProgramUse::Fused">:$program);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===-- Kernels of a GPU --------------------------------------------------===//

def NSATile_HostParameter : I32EnumAttr<"HostParameter", "what the host brings", [
  I32EnumAttrCase<"Counter", 0, "counter">,
  I32EnumAttrCase<"Failures", 1, "failures">,
  I32EnumAttrCase<"Raised", 2, "raised">,
  I32EnumAttrCase<"FirstZ", 3, "first_z">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_HostParameterAttr
    : EnumAttr<NSATileDialect, NSATile_HostParameter, "parameter"> {
  let summary = "a parameter of a kernel that the runtime brings by itself";
  let description = [{
    - `counter`: the address of an `i32` in global memory that is 0 when the kernel
      starts; the kernel leaves it at 0. No other kernel uses it at the same time. Such a
      kernel takes the points of its grid by itself: it is launched with as many blocks, along x, as the
      device runs side by side, or as its grid has points if these are fewer.
    - `raised`: the address of an `i32` that is 0 when a plan starts and when it
      ends: whether a launch asked for a repair.
    - `first_z`: an `i32`, the place of the launch's first block along the grid's last axis. A grid
      with more blocks along it than a device takes is launched in parts.
    - `failures`: the address of a failure record (include/nsacc-rt/failures.h),
      which keeps the least failure of the launch's `nsatile.assert`.

    ```mlir
    #nsatile.parameter<counter>
    ```
  }];
  let assemblyFormat = "`<` $value `>`";
}

def NSATile_TensorMapAttr : AttrDef<NSATileDialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a parameter of a kernel: how bulk copies see a buffer";
  let description = [{
    The runtime encodes a CUtensorMap of argument `argument` with its address, sizes and
    strides at the launch. The kernel takes it by value: 128 bytes, aligned to 64.

    - `dims`: buffer dimensions from the innermost outwards; the innermost one's
      elements lie side by side. A dimension that isn't named has size 1 for the
      map: its first index.
    - `box`: sizes of the box, for each of `dims`.
    - `steps`: a box takes every so many elements, for each of `dims`; without them each one.
    - `swizzle`: 0, 32, 64 or 128 bytes; the box's innermost row isn't longer.

    Elements beyond the buffer are read as zeros and not written.

    ```mlir
    #nsatile.tensor_map<argument = 3, dims = [3, 1, 2, 0], box = [64, 128, 1, 1], swizzle = 128>
    ```
  }];
  let parameters = (ins
    "int64_t":$argument, "::mlir::DenseI64ArrayAttr":$dims,
    "::mlir::DenseI64ArrayAttr":$box,
    DefaultValuedParameter<"int64_t", "0">:$swizzle,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$steps);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NSATile_KernelAttr : AttrDef<NSATileDialect, "Kernel"> {
  let mnemonic = "kernel";
  let summary = "how a GPU launches a program";
  let description = [{
    Discardable attribute `nsatile.kernel` of programs that were lowered for a GPU.

    The kernel has the program's name. Its parameters are the program's arguments
    in their order, an `index` as i64, a number as itself, and a buffer as its
    address (of element 0, so that there is no offset), its sizes and its strides in
    elements, each i64. `extra`'s parameters follow.

    - `threads`: threads of a block.
    - `shared`: bytes of dynamic shared memory.
    - `cluster`: blocks of a cluster, along x.
    - `dependent`: whether it may be launched while the launch before it still runs: it
      waits for that one's end before it reads or writes memory.
    - `extra`: `#nsatile.tensor_map` and `#nsatile.parameter`, in the kernel's order.

    ```mlir
    #nsatile.kernel<threads = 384, shared = 98304, extra = [#nsatile.parameter<counter>]>
    ```
  }];
  let parameters = (ins
    "int64_t":$threads,
    DefaultValuedParameter<"int64_t", "0">:$shared,
    DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"bool", "false">:$dependent,
    OptionalParameter<"::mlir::ArrayAttr">:$extra);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // NSATILE_IR_NSATILEATTRS_TD
