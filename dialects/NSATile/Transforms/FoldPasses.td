//===- FoldPasses.td - Passes on folds, math and control ----------------===//

#ifndef NSATILE_TRANSFORMS_FOLDPASSES_TD
#define NSATILE_TRANSFORMS_FOLDPASSES_TD

include "mlir/Pass/PassBase.td"

def NSATileExpandMath : Pass<"nsatile-expand-math"> {
  let summary = "Write mathematical functions as polynomials";
  let description = [{
    `math.exp`, `math.exp2`, `math.tanh`, `math.log`, `math.log2`, `math.erf`, `math.sin`, `math.cos` and
    `math.powf` of f32, scalars and vectors alike, become arithmetic that vectorizes, and that GPUs have
    instructions for. Other functions stay as they are.

    `exp`, `exp2`, `tanh`, `erf` and `powf` are within 1.5 units in the last place of the exact result, `sin`
    and `cos` within 3, for arguments of every size. Exponentials and powers below 2^-126 are 0, above the
    greatest number infinity; NaN stays NaN. Powers of negative numbers, zeros and infinities are as in C.

    Before and after:

    ```mlir
    %y = math.exp %x : vector<16xf32>

    %n = … x · log2(e), rounded
    %r = math.fma %n, %minus_ln2, %x : vector<16xf32>
    … 1 + r + r² · p(r), times 2^n by integer addition to its exponent
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def NSATileExpandSoftmax : Pass<"nsatile-expand-softmax"> {
  let summary = "Write merges and weights of softmaxes as arithmetic";
  let description = [{
    `nsatile.softmax_merge` and `nsatile.softmax_weights` become `arith` and `math` on their
    tiles, for targets without faster instructions. `keep-approximate` leaves weights that may be
    approximate to the target.

    Before and after:

    ```mlir
    %m, %l, %r0, %r1 = nsatile.softmax_merge %m0, %l0, %m1, %l1 : tensor<64xf32>

    %m = arith.maxnumf %m0, %m1 : tensor<64xf32>
    %r0 = math.exp (%m0 - %m), or 1 where %m0 is %m
    %r1 = math.exp (%m1 - %m), or 1 where %m1 is %m
    %l = %l0 · %r0 + %l1 · %r1
    ```
  }];
  let options = [
    Option<"keepApproximate", "keep-approximate", "bool", "false",
           "Leave approximate weights to the target">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def NSATileBitonicTopK : Pass<"nsatile-bitonic-topk"> {
  let summary = "Write sorts and running lists as bitonic networks";
  let description = [{
    `nsatile.sort` becomes Batcher's bitonic network, log2(n) (log2(n) + 1) / 2
    steps that each compare and exchange all columns of a row at once.
    `nsatile.top` sorts its candidates the same way, takes the greater of key i of the list
    and key k - 1 - i of the candidates, and merges these keys in
    log2(k) steps. Rows are padded to powers of two with keys that lose. A list that only loops carry and read
    is as wide as the candidates if these are at most twice as many: then no step cuts keys off.

    If each warp has at most one list, and a list has at most one key for each lane, `nsatile.top` stays, and
    inserts candidates: most don't get in. On a CPU, all lists are updated this way. Before and after, for two columns:

    ```mlir
    %s = nsatile.sort ascending %x : tensor<32x2xi64>

    %y = nsatile.exchange %x by 1 : tensor<32x2xi64>
    %less = arith.minsi %x, %y : tensor<32x2xi64>
    %greater = arith.maxsi %x, %y : tensor<32x2xi64>
    %s = arith.select %first, %less, %greater : tensor<32x2xi1>, tensor<32x2xi64>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
}

def NSATileOnlineSoftmax : Pass<"nsatile-online-softmax"> {
  let summary = "Form the online softmax: a running maximum, sum and accumulator";
  let description = [{
    A `nsatile.softmax_fold`, a softmax over all tiles of keys, becomes a `nsatile.fold` that goes over them
    once and carries a maximum, a sum and an accumulator (Milakov and Gimelshein, arXiv:1805.02867; Dao et al.,
    arXiv:2205.14135): each step raises the maximum, scales sum and accumulator
    by exp(old maximum - new maximum), and adds the tile's exponentials and their product with its values.

    Before and after:

    ```mlir
    %m, %l, %o = nsatile.softmax_fold over %first to %end : … {
    ^bb0(%tile: index, %partial: i1):
      … nsatile.yield_scores %s scale %c values %v
    }

    %r:3 = nsatile.fold over %first to %end state(%minus_inf, %zero, %zeros : …) {
    ^bb0(%tile: index, %partial: i1, %m: …, %l: …, %o: …):
      …
      %m1, %l1, %p, %decay = nsatile.softmax_update %m, %l, %s scale %c
      %o1 = nsatile.dot %p, %v acc (%o · %decay) where (%s != -inf)
      nsatile.yield %m1, %l1, %o1
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def NSATileLowerDomains : Pass<"nsatile-lower-domains"> {
  let summary = "Write all folds over tiles as folds over one range";
  let description = [{
    A fold over a list goes over the numbers of the list's entries, and reads the entries. A fold over parts of a tile
    goes over the numbers of the parts. Several ranges become a fold each, which leaves out the tiles of earlier ranges; more than three ranges share
    one fold, which counts their tiles. A step that has to find out whether its tile is full computes that or, with `peel`,
    branches to a copy of the body for full or for partial tiles. A fold over one range stays as it is.

    Passes that pipeline loops take folds over one range: such a fold keeps the state, the tile's number and the range's
    full part together until `nsatile-lower-folds`.

    Before and after:

    ```mlir
    %r = nsatile.fold in %list[] : memref<16xi32> count %n over %first to %end full %a to %b state(%x0 : f32) {
    ^bb0(%tile: index, %partial: i1, %x: f32): …

    %r = nsatile.fold over %c0 to %n state(%x0 : f32) {
    ^bb0(%i: index, %any: i1, %x: f32):
      %tile = memref.load %list[%i] …
      … %partial from %tile, %a and %b …
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    Option<"peel", "peel", "bool", "false", "write one copy of the body for full tiles and one for partial tiles">
  ];
}

def NSATileLowerFolds : Pass<"nsatile-lower-folds"> {
  let summary = "Write folds over one range as loops";
  let description = [{
    With `peel`, the full tiles of a range get a separate loop between the loops of the partial tiles, and
    masks vanish from it. Folds with overlapping steps are peeled without `peel`, too, unless the program's schedule
    says `peel = off`: products in flight go on from one loop to the next, and code behind a branch wouldn't be
    scheduled among the products before it. Without `peel`, each other fold becomes one loop, and its steps compare the
    number of their tile with the bounds of the full part.

    Before and after, without `peel`:

    ```mlir
    %r = nsatile.fold over %first to %end full %first to %b state(%x0) {
    ^bb0(%tile: index, %partial: i1, %x: …):
      … scf.if %partial { … } …
    }

    %r = scf.for %tile = %first to %end step %c1 iter_args(%x = %x0) {
      %partial = arith.cmpi sge, %tile, %b : index
      … scf.if %partial { … } …
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"peel", "peel", "bool", "false", "write a separate loop for the full tiles of a range">
  ];
}

def NSATileLowerControl : Pass<"nsatile-lower-control"> {
  let summary = "Write loops and branches as blocks";
  let description = [{
    Does the work of MLIR's `convert-scf-to-cf`, with its patterns, but from the last op to the first. To lower a
    branch, a pattern moves all code behind it to a new block. From the first branch on, this would take quadratic time
    and memory in a kernel with a thousand branches. The pass never undoes a change, so it keeps no record of them.

    Before and after:

    ```mlir
    scf.if %c { A }
    B

      cf.cond_br %c, ^then, ^rest
    ^then:
      A
      cf.br ^rest
    ^rest:
      B
    ```
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect"];
}

#endif // NSATILE_TRANSFORMS_FOLDPASSES_TD
