#ifndef NSATILE_IR_NSATILECANDIDATEOPS_TD
#define NSATILE_IR_NSATILECANDIDATEOPS_TD

include "NSATile/IR/NSATileTypes.td"

//===-- Candidates of a selection -----------------------------------------===//

def NSATile_WideKeys : 2DTensorOf<[I64]>;

def NSATile_CandidatesOp : NSATile_Op<"candidates", [MemoryEffects<[MemAlloc]>]> {
  let summary = "an empty list of keys for each row";
  let description = [{
    Keys below `floor`, which isn't negative, are never candidates.

    ```mlir
    %c = nsatile.candidates from 1 : !nsatile.candidates<rows = 4, keep = 2048, room = 4096>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$floor);
  let results = (outs NSATile_CandidatesType:$candidates);
  let assemblyFormat = "`from` $floor attr-dict `:` type($candidates)";
}

def NSATile_OfferOp : NSATile_Op<"offer", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds the keys of a tile that may be among the greatest";
  let description = [{
    Row r of the tile is offered to list r, from the first column on. After the op a list has all of the greatest `keep`
    keys that it was offered, and maybe some more, in the order in which they were offered. The keys that a list is
    offered differ, unless they are below its floor. Negative keys are below every floor.

    ```mlir
    nsatile.offer %keys to %c : tensor<4x64xi64>, !nsatile.candidates<rows = 4, keep = 2048, room = 4096>
    ```
  }];
  let arguments = (ins NSATile_WideKeys:$keys, NSATile_CandidatesType:$candidates);
  let assemblyFormat = "$keys `to` $candidates attr-dict `:` type($keys) `,` type($candidates)";
  let hasVerifier = 1;
}

def NSATile_ChooseOp : NSATile_Op<"choose", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "reduces each list to a given number of its greatest keys";
  let description = [{
    List r keeps its `numbers[r]` greatest keys, 0 to `keep` of them, in the order in which they were offered. With
    `beside`, keys that aren't less than `beside` don't count: a list keeps them and `numbers[r]` others, together at
    most `keep`.

    ```mlir
    nsatile.choose %n of %c : tensor<4xi64>, !nsatile.candidates<rows = 4, keep = 2048, room = 4096>
    nsatile.choose %n of %c beside 100 : tensor<4xi64>, !nsatile.candidates<rows = 4, keep = 2048, room = 4096>
    ```
  }];
  let arguments = (ins 1DTensorOf<[I64]>:$numbers, NSATile_CandidatesType:$candidates,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$beside);
  let assemblyFormat = [{
    $numbers `of` $candidates (`beside` $beside^)? attr-dict `:` type($numbers) `,` type($candidates)
  }];
  let hasVerifier = 1;
}

def NSATile_ChosenOp : NSATile_Op<"chosen", [MemoryEffects<[MemRead]>]> {
  let summary = "keys of the lists, from a place on";
  let description = [{
    Keys are in the order in which they were offered; -1 follows a list's last key.

    ```mlir
    %k = nsatile.chosen %c[%first] : !nsatile.candidates<rows = 4, keep = 2048, room = 4096> -> tensor<4x64xi64>
    ```
  }];
  let arguments = (ins NSATile_CandidatesType:$candidates, Index:$first);
  let results = (outs NSATile_WideKeys:$keys);
  let assemblyFormat = "$candidates `[` $first `]` attr-dict `:` type($candidates) `->` type($keys)";
  let hasVerifier = 1;
}

#endif // NSATILE_IR_NSATILECANDIDATEOPS_TD
