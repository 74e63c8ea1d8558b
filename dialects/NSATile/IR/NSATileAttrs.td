#ifndef NSATILE_IR_NSATILEATTRS_TD
#define NSATILE_IR_NSATILEATTRS_TD

include "NSATile/IR/NSATileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def NSATile_LoopOrder : I32EnumAttr<"LoopOrder", "order of an op's loops", [
  I32EnumAttrCase<"QueryMajor", 0, "query_major">,
  I32EnumAttrCase<"Union", 1, "union">,
  I32EnumAttrCase<"KeyMajor", 2, "key_major">,
  I32EnumAttrCase<"BlockMajor", 3, "block_major">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_ReduceKind : I32EnumAttr<"ReduceKind", "operation of a reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_Combine : I32EnumAttr<"Combine", "result of a write where an element stands already", [
  I32EnumAttrCase<"Set", 0, "set">,
  I32EnumAttrCase<"Add", 1, "add">,
  I32EnumAttrCase<"Or", 2, "or">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_CombineAttr : EnumAttr<NSATileDialect, NSATile_Combine, "combine"> {
  let assemblyFormat = "$value";
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

def NSATile_ProgramUse : I32EnumAttr<"ProgramUse", "program that computes an op", [
  I32EnumAttrCase<"Fused", 0, "fused">,
  I32EnumAttrCase<"Own", 1, "own">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_Halo : I32EnumAttr<"Halo", "treatment of entries that a block shares with the previous one", [
  I32EnumAttrCase<"Recompute", 0, "recompute">,
  I32EnumAttrCase<"Carry", 1, "carry">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_SelectMethod : I32EnumAttr<"SelectMethod", "method that finds the greatest keys of a row", [
  I32EnumAttrCase<"Sort", 0, "sort">,
  I32EnumAttrCase<"Threshold", 1, "threshold">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_Switch : I32EnumAttr<"Switch", "a choice that may be left to a pass", [
  I32EnumAttrCase<"Auto", 0, "auto">,
  I32EnumAttrCase<"On", 1, "on">,
  I32EnumAttrCase<"Off", 2, "off">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_SoftmaxOrder : I32EnumAttr<"SoftmaxOrder", "order of the instructions in a step of a softmax", [
  I32EnumAttrCase<"Auto", 0, "auto">,
  I32EnumAttrCase<"Rows", 1, "rows">,
  I32EnumAttrCase<"Together", 2, "together">,
  I32EnumAttrCase<"MaximaFirst", 3, "maxima_first">,
  I32EnumAttrCase<"DecayFirst", 4, "decay_first">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_Rescale : I32EnumAttr<"Rescale", "step in which sums are rescaled by a new maximum", [
  I32EnumAttrCase<"Auto", 0, "auto">,
  I32EnumAttrCase<"InStep", 1, "in_step">,
  I32EnumAttrCase<"NextStep", 2, "next_step">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_GridOrder : I32EnumAttr<"GridOrder", "order in which blocks take the points of a grid", [
  I32EnumAttrCase<"Auto", 0, "auto">,
  I32EnumAttrCase<"Columns", 1, "columns">,
  I32EnumAttrCase<"Sections", 2, "sections">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_ScheduleAttr : AttrDef<NSATileDialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how an op is tiled";
  let description = [{
    `nsatile.schedule` of ops of the `nsa` dialect before the conversion, and `schedule` of the programs behind it.
    [Schedules](../Schedules.md) lists the fields, their values and defaults, by the names that users write.

    Fields of another program than the main one stand in a list of their own: `merge` merges states, `exact` computes
    again what isn't finite. A field that isn't there has its default. Some values differ from a user's:

    - `part`: without it, a tile walks its keys in one.
    - `channels`: without it, a program has all channels.
    - `chunk`: without it, everything stands in memory at once.
    - `exact`: without its `tokens` and `keys`, there is no such program.

    The schedule of a program has the fields that its op has for it, under the names of the main program.

    ```mlir
    #nsatile.schedule<order = query_major, tokens = 32, keys = 64>
    #nsatile.schedule<order = union, tokens = 8, keys = 64, splits = auto, merge = <tokens = 1>>
    #nsatile.schedule<windows = 16>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"std::pair<::nsacc::schedule::Field, int64_t>",
                      "fields whose values aren't defaults, ascending">:$values);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    AttrBuilder<(ins "const ::nsacc::schedule::PerField<int64_t> &":$given)>
  ];
  let extraClassDeclaration = [{
    /// The value of a field, or its default.
    int64_t get(::nsacc::schedule::Field field) const;
    bool has(::nsacc::schedule::Field field) const;

    #define NSACC_SCHEDULE_NUMBER(Name, ...)                                   \
      int64_t get##Name() const {                                              \
        return get(::nsacc::schedule::Field::Name);                            \
      }
    #define NSACC_SCHEDULE_CHOICE(Name, Enum, ...)                             \
      Enum get##Name() const {                                                 \
        return static_cast<Enum>(get(::nsacc::schedule::Field::Name));         \
      }
    #include "NSATile/IR/ScheduleFields.def"

    /// Keys of a tile, or blocks of a top-k's.
    int64_t getTileColumns() const;
    /// The schedule of the exact program: small tiles of whole parts, without
    /// lists or warps of its own.
    ScheduleAttr getExact() const;
    /// The schedule of a program that only merges states.
    ScheduleAttr getMerging() const;
    /// This op's fields with the program's.
    ScheduleAttr inProgram(ScheduleAttr program) const;
  }];
}

//===-- Kernels of a GPU --------------------------------------------------===//

def NSATile_HostParameter : I32EnumAttr<"HostParameter", "parameter that the host passes", [
  I32EnumAttrCase<"Counter", 0, "counter">,
  I32EnumAttrCase<"Failures", 1, "failures">,
  I32EnumAttrCase<"Raised", 2, "raised">,
  I32EnumAttrCase<"FirstZ", 3, "first_z">]> {
  let cppNamespace = "::nsacc::nsatile";
  let genSpecializedAttr = 0;
}

def NSATile_HostParameterAttr
    : EnumAttr<NSATileDialect, NSATile_HostParameter, "parameter"> {
  let summary = "a kernel parameter that the runtime passes by itself";
  let description = [{
    - `counter`: the address of an `i32` in global memory that is 0 when the kernel
      starts; the kernel leaves it at 0. No other kernel uses it at the same time. Such a
      kernel takes the points of its grid by itself: it is launched with as many blocks, along x, as the
      device runs side by side, or with one block for each point if these are fewer.
    - `raised`: the address of an `i32` that says whether a launch asked for a repair. It is
      0 when a plan starts and when it ends.
    - `first_z`: an `i32`, the place of the launch's first block along the grid's last axis. A grid
      with more blocks along that axis than a device takes is launched in parts.
    - `failures`: the address of a failure record (include/nsacc-rt/failures.h),
      which keeps the least failure of the launch's `nsatile.assert` ops.

    ```mlir
    #nsatile.parameter<counter>
    ```
  }];
  let assemblyFormat = "`<` $value `>`";
}

def NSATile_TensorMapAttr : AttrDef<NSATileDialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a kernel parameter: the view that bulk copies have of a buffer";
  let description = [{
    The runtime encodes a CUtensorMap of argument `argument` with its address, sizes and
    strides at the launch. The kernel takes it by value: 128 bytes, aligned to 64.

    - `dims`: buffer dimensions from the innermost outwards; the innermost one's
      elements lie side by side. A dimension that isn't named has size 1 for the
      map: only its first index.
    - `box`: sizes of the box, for each of `dims`.
    - `steps`: distance between the elements that a box takes, for each of `dims`; 1 if not given.
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
  let summary = "launch parameters of a program on a GPU";
  let description = [{
    Discardable attribute `nsatile.kernel` of programs that were lowered for a GPU.

    The kernel has the program's name. Its parameters are the program's arguments
    in their order, an `index` as i64, a number as itself, and a buffer as its
    address (of element 0, so that there is no offset), its sizes and its strides in
    elements, each i64. The parameters in `extra` follow.

    - `threads`: threads of a block.
    - `shared`: bytes of dynamic shared memory.
    - `cluster`: blocks of a cluster, along x.
    - `dependent`: whether the kernel may be launched while the previous launch still runs.
      Such a kernel waits for the end of that launch before it reads or writes memory.
    - `extra`: `#nsatile.tensor_map` and `#nsatile.parameter` attributes, in the kernel's order.

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
