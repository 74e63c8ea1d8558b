#ifndef NSA_IR_NSATYPES_TD
#define NSA_IR_NSATYPES_TD

include "NSA/IR/NSAAttrs.td"

class NSA_Type<string name, string typeMnemonic> : TypeDef<NSADialect, name> {
  let mnemonic = typeMnemonic;
}

def NSA_Tensor : NSA_Type<"NamedTensor", "tensor"> {
  let summary = "a whole tensor with named dimensions";
  let description = [{
    A dimension is a name (`T`), an integer, `ragged T`, `offsets(T)`,
    `pool(S, 32, 16, drop)` (pooled keys over the tokens `S`: window length,
    stride and tail), `ragged pool(…)`, `pooled(N of S, 32, 16, 0, 0)` (declared
    pooled keys: window length, stride, offset and memory tokens) or
    `blocks(S, 64)`.

    ```mlir
    !nsa.tensor<[B, T, HQ, D], bf16>
    !nsa.tensor<[B, pool(S, 32, 16, drop), H, D], bf16>
    !nsa.tensor<[], f32>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$dims,
                        "::mlir::Type":$elementType);
  let assemblyFormat = "`<` custom<Dims>($dims) `,` $elementType `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    size_t getRank() const { return getDims().size(); }
    /// Whether the rows of the batch are packed into the first dimension.
    bool isRagged() const;
    /// The type that scalar code sees for one element: f32, index or i1.
    ::mlir::Type getScalarType() const;
  }];
}

def NSA_Selection : NSA_Type<"Selection", "selection"> {
  let summary = "for each query row and head, a set of key blocks";
  let description = [{
    A set of at most `top` blocks of `block` tokens of dimension `of`, for each
    index of `dims` (batch, query and head). With `tokens`, that many
    neighbouring queries of a batch row share one set, and `dims` counts such
    groups.

    ```mlir
    !nsa.selection<[B, T, H], top = 16, block = 64, of = S>
    !nsa.selection<[B, M, H], top = 16, block = 64, of = S, tokens = 128>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$dims,
                        "int64_t":$top, "int64_t":$block,
                        "::mlir::StringAttr":$of,
                        DefaultValuedParameter<"int64_t", "1">:$tokens);
  let assemblyFormat = [{
    `<` custom<Dims>($dims) `,` `top` `=` $top `,` `block` `=` $block `,` `of` `=`
    custom<DimName>($of) (`,` `tokens` `=` $tokens^)? `>`
  }];
  let extraClassDeclaration = [{
    /// The dimension of tokens, or of their groups.
    ::mlir::Attribute getRowDim() const { return getDims().drop_back().back(); }
  }];
  let genVerifyDecl = 1;
}

#endif // NSA_IR_NSATYPES_TD
