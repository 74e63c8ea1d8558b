#ifndef NSATILE_IR_NSATILELISTOPS_TD
#define NSATILE_IR_NSATILELISTOPS_TD

include "NSATile/IR/NSATileTypes.td"

//===-- Lists -------------------------------------------------------------===//

def NSATile_I32Row : 1DTensorOf<[I32]>;

def NSATile_ScatterOp : NSATile_Op<"scatter", [AttrSizedOperandSegments]> {
  let summary = "writes each element of a tile to an element of a buffer";
  let description = [{
    The counterpart of `nsatile.gather`: indices are in the buffer where the mask is true, and nothing is written where
    it is false. `add` and `or` combine integers with the element that stands there.

    The order of elements, and of the rounds of a loop around the op, isn't fixed: `set` writes equal values where
    indices are equal.

    ```mlir
    nsatile.scatter add %ones, %counts[%key] where %in : tensor<64xi1> : tensor<64xi32>, memref<256xi32>, tensor<64xindex>
    ```
  }];
  let arguments = (ins NSATile_CombineAttr:$kind, NSATile_Tile:$values,
                       Arg<NSATile_Buffer, "", [MemRead, MemWrite]>:$buffer,
                       Variadic<NSATile_Tile>:$indices, Optional<NSATile_Mask>:$mask);
  let assemblyFormat = [{
    $kind $values `,` $buffer `[` $indices `]` (`where` $mask^ `:` type($mask))? attr-dict
    `:` type($values) `,` type($buffer) (`,` type($indices)^)?
  }];
  let hasVerifier = 1;
}

def NSATile_EnumerateOp : NSATile_Op<"enumerate", [
    TypesMatchWith<"keys and numbers have one shape and layout", "numbers", "keys",
                   "::mlir::cast<::mlir::RankedTensorType>($_self).clone("
                   "::mlir::IndexType::get($_self.getContext()))">]> {
  let summary = "numbers the elements that have equal keys";
  let description = [{
    Each key has a counter. In the order of elements, an element gets the counter of its key, which then grows by 1.
    Keys are below the number of counters where the mask is true. Elsewhere nothing is counted, and the number is 0.

    An element of a list that is sorted by keys goes to the place that its number names, if the counters begin with the
    sums of a histogram (`nsatile.scatter add`, `nsatile.scan`).

    ```mlir
    %place = nsatile.enumerate %key in %starts where %in : tensor<64xi1> : memref<256xi32>, tensor<64xi32>
    ```
  }];
  let arguments = (ins 1DTensorOf<[Index]>:$keys,
                       Arg<NSATile_List, "", [MemRead, MemWrite]>:$counters,
                       Optional<NSATile_Mask>:$mask);
  let results = (outs NSATile_I32Row:$numbers);
  let assemblyFormat = [{
    $keys `in` $counters (`where` $mask^ `:` type($mask))? attr-dict `:` type($counters) `,` type($numbers)
  }];
  let hasVerifier = 1;
}

def NSATile_ScanOp : NSATile_Op<"scan", [Pure, AllTypesMatch<["source", "before"]>]> {
  let summary = "sums of the elements in front of each one";
  let description = [{
    `before` has the sum of the elements in front of each one, and `sum` is the sum of all.

    ```mlir
    %before, %sum = nsatile.scan %counts : tensor<128xi32>
    ```
  }];
  let arguments = (ins NSATile_I32Row:$source);
  let results = (outs NSATile_I32Row:$before, I32:$sum);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

#endif // NSATILE_IR_NSATILELISTOPS_TD
