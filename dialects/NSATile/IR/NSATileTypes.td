#ifndef NSATILE_IR_NSATILETYPES_TD
#define NSATILE_IR_NSATILETYPES_TD

include "NSATile/IR/NSATileDialect.td"
include "mlir/IR/AttrTypeBase.td"

class NSATile_Type<string name, string typeMnemonic>
    : TypeDef<NSATileDialect, name> {
  let mnemonic = typeMnemonic;
}

def NSATile_CircularBufferType : NSATile_Type<"CircularBuffer", "circular_buffer"> {
  let summary = "tiles in shared memory on their way from memory to products";
  let description = [{
    A queue with room for `stages` tiles. What is loaded first is read and
    released first.

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

def NSATile_CandidatesType : NSATile_Type<"Candidates", "candidates"> {
  let summary = "for each of some rows, the keys that may be among its greatest";
  let description = [{
    A list has room for `room` keys, the greatest `keep` of which it is for. A GPU has lists in shared memory.

    ```mlir
    !nsatile.candidates<rows = 4, keep = 2048, room = 4096>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$keep, "int64_t":$room);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // NSATILE_IR_NSATILETYPES_TD
