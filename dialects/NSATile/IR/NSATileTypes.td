#ifndef NSATILE_IR_NSATILETYPES_TD
#define NSATILE_IR_NSATILETYPES_TD

include "NSATile/IR/NSATileDialect.td"
include "mlir/IR/AttrTypeBase.td"

class NSATile_Type<string name, string typeMnemonic>
    : TypeDef<NSATileDialect, name> {
  let mnemonic = typeMnemonic;
}

def NSATile_CircularBufferType : NSATile_Type<"CircularBuffer", "circular_buffer"> {
  let summary = "a queue of tiles in shared memory";
  let description = [{
    The queue has room for `stages` tiles. The tile that is loaded first is read
    and released first.

    ```mlir
    !nsatile.circular_buffer<2 of tensor<128x64xbf16, #nsatile.shared<swizzle = 128>>>
    ```
  }];
  let parameters = (ins "int64_t":$stages, "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $stages `of` $tile `>`";
  let genVerifyDecl = 1;
}

def NSATile_PendingType : NSATile_Type<"Pending", "pending"> {
  let summary = "a product that is being computed";
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
}

def NSATile_PlaceType : NSATile_Type<"Place", "place"> {
  let summary = "the place of a tile in memory";
  let description = [{
    The place has the shape of the tile and the type of its elements. It has no layout: tiles have one.

    ```mlir
    !nsatile.place<16x4x64xbf16>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` custom<PlaceShape>($shape, $elementType) `>`";
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$tile), [{
    return $_get(tile.getContext(), tile.getShape(), tile.getElementType());
  }]>];
}

def NSATile_CandidatesType : NSATile_Type<"Candidates", "candidates"> {
  let summary = "a list for each row of the keys that may be among its greatest";
  let description = [{
    A list collects the greatest `keep` keys of its row, and has room for `room` keys. On a GPU, lists are in shared memory.

    ```mlir
    !nsatile.candidates<rows = 4, keep = 2048, room = 4096>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$keep, "int64_t":$room);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // NSATILE_IR_NSATILETYPES_TD
