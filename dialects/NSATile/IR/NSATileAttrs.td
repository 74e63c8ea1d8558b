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

def NSATile_ScheduleAttr : AttrDef<NSATileDialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how a kernel is tiled: the whole tuning point";
  let description = [{
    - `order`: `query_major` walks the keys of each query tile, of a selection each token's
      blocks; `union` walks the blocks that any of a query tile's tokens selected, with all of its
      rows, along a list that a program of its own makes; `block_major` walks all blocks up to the last visible key, each with the
      tokens of the query tile that selected it; `key_major` holds a tile of keys (of a selection: a block) and walks the queries that see it, keeps their states in memory, and
      merges these where the attention is used, in a fixed order.
    - `tokens`: query tokens of a tile; a tile has `tokens` times group size rows.
    - `keys`: keys of a tile.
    - `splits`: parts of the keys that `key_major` goes over in parallel, each with
      states of its own for every query.
    - `warps`: warps of a program on a GPU; 0 lets the compiler choose by the rows of
      a tile.
    - `stages`: buffers for each tile that a GPU loads in a loop.

    ```mlir
    #nsatile.schedule<order = query_major, tokens = 32, keys = 64>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"LoopOrder", "LoopOrder::QueryMajor">:$order,
    "int64_t":$tokens, "int64_t":$keys,
    DefaultValuedParameter<"int64_t", "1">:$splits,
    DefaultValuedParameter<"int64_t", "0">:$warps,
    DefaultValuedParameter<"int64_t", "2">:$stages);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===-- Kernels of a GPU --------------------------------------------------===//

def NSATile_HostParameter : I32EnumAttr<"HostParameter", "what the host brings", [
  I32EnumAttrCase<"Counter", 0, "counter">,
  I32EnumAttrCase<"Failures", 1, "failures">,
  I32EnumAttrCase<"Raised", 2, "raised">]> {
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
      device has multiprocessors, or as its grid has points if these are fewer.
    - `raised`: the address of an `i32` that is 0 when a plan starts and when it
      ends: whether a launch asked for a repair.
    - `failures`: the address of a failure record (include/nsacc-rt/failures.h),
      which keeps the least failure of the launch's `nsatile.require`.

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
    - `swizzle`: 0, 32, 64 or 128 bytes; the box's innermost row isn't longer.

    Elements beyond the buffer are read as zeros and not written.

    ```mlir
    #nsatile.tensor_map<argument = 3, dims = [3, 1, 2, 0], box = [64, 128, 1, 1], swizzle = 128>
    ```
  }];
  let parameters = (ins
    "int64_t":$argument, "::mlir::DenseI64ArrayAttr":$dims,
    "::mlir::DenseI64ArrayAttr":$box,
    DefaultValuedParameter<"int64_t", "0">:$swizzle);
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
    elements, each i64. Behind them stand `extra`'s parameters.

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
