#ifndef NSATILE_IR_NSATILEATTRS_TD
#define NSATILE_IR_NSATILEATTRS_TD

include "NSATile/IR/NSATileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def NSATile_LoopOrder : I32EnumAttr<"LoopOrder", "which loops are outside", [
  I32EnumAttrCase<"QueryMajor", 0, "query_major">,
  I32EnumAttrCase<"Union", 1, "union">,
  I32EnumAttrCase<"KeyMajor", 2, "key_major">]> {
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
    - `order`: `query_major` walks the keys of each query tile, a selection's
      blocks one after the other, each for the tokens that selected it; `union`
      walks the blocks that any of a query tile's tokens selected, with all of its
      rows; `key_major` holds a tile of keys (of a selection: a block) and walks the queries that see it, keeps their states in memory, and
      merges these where the attention is used, in a fixed order.
    - `tokens`: query tokens of a tile; a tile has `tokens` times group size rows.
    - `keys`: keys of a tile.
    - `splits`: parts of the keys that `key_major` goes over in parallel, each with
      states of its own for every query.

    ```mlir
    #nsatile.schedule<order = query_major, tokens = 32, keys = 64>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"LoopOrder", "LoopOrder::QueryMajor">:$order,
    "int64_t":$tokens, "int64_t":$keys,
    DefaultValuedParameter<"int64_t", "1">:$splits);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // NSATILE_IR_NSATILEATTRS_TD
