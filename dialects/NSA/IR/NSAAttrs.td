#ifndef NSA_IR_NSAATTRS_TD
#define NSA_IR_NSAATTRS_TD

include "NSA/IR/NSADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===-- Enumerations ------------------------------------------------------===//

def NSA_Tail : I32EnumAttr<"Tail", "treatment of an incomplete window", [
  I32EnumAttrCase<"Drop", 0, "drop">,
  I32EnumAttrCase<"Average", 1, "average">,
  I32EnumAttrCase<"ZerosLeft", 2, "zeros_left">,
  I32EnumAttrCase<"ZerosRight", 3, "zeros_right">]> {
  let cppNamespace = "::nsacc::nsa";
  let genSpecializedAttr = 0;
}

def NSA_PoolKind : I32EnumAttr<"PoolKind", "reduction of a window's tokens", [
  I32EnumAttrCase<"Mean", 0, "mean">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Weighted", 2, "weighted">]> {
  let cppNamespace = "::nsacc::nsa";
  let genSpecializedAttr = 0;
}

def NSA_ImportanceKind : I32EnumAttr<"ImportanceKind", "value of a (query, key) pair that counts", [
  I32EnumAttrCase<"Prob", 0, "prob">,
  I32EnumAttrCase<"Score", 1, "score">,
  I32EnumAttrCase<"Activation", 2, "activation">]> {
  let cppNamespace = "::nsacc::nsa";
  let genSpecializedAttr = 0;
}

def NSA_HeadReduction : I32EnumAttr<"HeadReduction", "reduction over the query heads of a group", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"None", 3, "none">]> {
  let cppNamespace = "::nsacc::nsa";
  let genSpecializedAttr = 0;
}

def NSA_BlockMap : I32EnumAttr<"BlockMap", "reduction of pooled keys to token blocks", [
  I32EnumAttrCase<"Overlap", 0, "overlap">,
  I32EnumAttrCase<"Sum", 1, "sum">,
  I32EnumAttrCase<"Mean", 2, "mean">,
  I32EnumAttrCase<"Max", 3, "max">]> {
  let cppNamespace = "::nsacc::nsa";
  let genSpecializedAttr = 0;
}

def NSA_ShareBy : I32EnumAttr<"ShareBy", "rule by which neighbours that share a selection choose it", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"First", 3, "first">,
  I32EnumAttrCase<"Last", 4, "last">]> {
  let cppNamespace = "::nsacc::nsa";
  let genSpecializedAttr = 0;
}

class NSA_EnumAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<NSADialect, info, mnemonic> {
  let assemblyFormat = "$value";
}
def NSA_TailAttr : NSA_EnumAttr<NSA_Tail, "tail">;
def NSA_PoolKindAttr : NSA_EnumAttr<NSA_PoolKind, "pool_kind">;
def NSA_ImportanceKindAttr : NSA_EnumAttr<NSA_ImportanceKind, "importance_kind">;
def NSA_HeadReductionAttr : NSA_EnumAttr<NSA_HeadReduction, "heads">;
def NSA_BlockMapAttr : NSA_EnumAttr<NSA_BlockMap, "block_map">;
def NSA_ShareByAttr : NSA_EnumAttr<NSA_ShareBy, "share_by">;

//===-- Dimensions --------------------------------------------------------===//

class NSA_Attr<string name, string attrMnemonic> : AttrDef<NSADialect, name> {
  let mnemonic = attrMnemonic;
}

def NSA_NamedDimAttr : NSA_Attr<"NamedDim", "dim"> {
  let summary = "a dimension known by its name";
  let description = [{
    Equal names have equal sizes, bound at run time from the inputs. A ragged
    dimension packs the rows of the batch: its size is the sum of the rows'
    lengths, which the kernel's `offsets` argument of that name gives. In types:
    `T`, `ragged T`; names that are keywords in types are quoted, `"pool"`.
  }];
  let parameters = (ins StringRefParameter<"name">:$name,
                        DefaultValuedParameter<"bool", "false">:$ragged);
  let assemblyFormat = "`<` $name (`,` `ragged` `=` $ragged^)? `>`";
}

def NSA_OffsetsDimAttr : NSA_Attr<"OffsetsDim", "offsets_dim"> {
  let summary = "one more than the number of batch rows of a ragged dimension";
  let description = [{
    The dimension of the argument that says where each row of a ragged dimension
    starts and ends. In types: `offsets(T)`.
  }];
  let parameters = (ins StringRefParameter<"ragged dimension">:$of);
  let assemblyFormat = "`<` $of `>`";
}

def NSA_PooledDimAttr : NSA_Attr<"PooledDim", "pooled_dim"> {
  let summary = "pooled keys over a token dimension";
  let description = [{
    Entry `j` stands for the tokens `[start(j), end(j))` of dimension `base`.
    Computed pools have no `count`: their size follows from the size of `base`,
    `len`, `stride` and `tail`. Declared pools (`nsa.declare_pooled`) name the
    input's dimension in `count`; their first `memory` entries stand for no
    tokens, and the others start at `offset`. In types: `pool(S, 32, 16, drop)`,
    `pooled(N of S, 32, 16, 0, 1)`, and both with `ragged` in front.
  }];
  let parameters = (ins StringRefParameter<"token dimension">:$base,
                        "int64_t":$len, "int64_t":$stride,
                        DefaultValuedParameter<"Tail", "Tail::Drop">:$tail,
                        DefaultValuedParameter<"bool", "false">:$ragged,
                        OptionalParameter<"::mlir::StringAttr">:$count,
                        DefaultValuedParameter<"int64_t", "0">:$offset,
                        DefaultValuedParameter<"int64_t", "0">:$memory);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether the entries were declared by the program, not computed.
    bool isDeclared() const { return getCount() != nullptr; }
    /// First token of entry 0 after the memory tokens; negative for windows
    /// that start in the zeros on the left.
    int64_t getFirstStart() const;
    /// Number of entries over `tokens` tokens. Computed pools only.
    int64_t getNumEntries(int64_t tokens) const;
    int64_t getStart(int64_t entry) const;
    int64_t getEnd(int64_t entry) const;
  }];
}

def NSA_BlocksDimAttr : NSA_Attr<"BlocksDim", "blocks_dim"> {
  let summary = "blocks of `block` tokens of a token dimension";
  let description = [{
    There are ceildiv(S, block) blocks; the last may be incomplete. In types:
    `blocks(S, 64)`.
  }];
  let parameters = (ins StringRefParameter<"token dimension">:$base,
                        "int64_t":$block);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // NSA_IR_NSAATTRS_TD
