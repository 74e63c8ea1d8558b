#ifndef NSA_TRANSFORMS_PASSES_TD
#define NSA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NSALint : Pass<"nsa-lint"> {
  let summary = "Warn of valid code that is most likely a mistake";
  let description = [{
    Changes nothing. Reads masks, scores, weights, selections and other scalar
    code, proves what holds for all positions, and tries formulas at some. The
    front end shows the same warnings when it compiles a program, and others
    that need its text: of names that nothing uses or that count something else
    than a table's dimension, of types and layouts of inputs, of sums and
    comparisons of `i`, `t` and `j`, of `log(0)` and of a capped constant.

    IR says less than the text, so the pass may warn where the front end doesn't.
    `--emit nsa` leaves out `normalize 1`, which says that a sum of exponentials
    is meant. A constant that switches off a part of a mask is in the locations
    alone, which `--mlir-print-debuginfo` prints.

    ```
    warning: this mask hides every key from every query
    note: a query that sees no key gets 0; are two comparisons, or a parameter's value, the wrong way round?
    ```
  }];
}

def NSAReportMasks : Pass<"nsa-report-masks"> {
  let summary = "Tell which keys each mask lets a query see";
  let description = [{
    Changes nothing. Each op with a mask gets a remark with the intervals of
    keys that the compiler will loop over, and a note if a mask isn't affine in
    the positions, so that it is evaluated for every pair of an interval.

    ```
    remark: sees keys i - 511 <= j < i + 1
    ```
  }];
}

def NSASpecialize : Pass<"nsa-specialize"> {
  let summary = "Fix sizes of dimensions";
  let description = [{
    Sets `nsa.sizes` of every kernel: head counts, head dimensions and table sizes
    that compiled programs may rely on. Dimensions that count tokens stay open.
    Drops `normalize` with a divisor of 1.
    Before and after, with `dims=D=64`:

    ```mlir
    nsa.kernel @f(%q: !nsa.tensor<[B, T, HQ, D], bf16>) …
    nsa.kernel @f(%q: !nsa.tensor<[B, T, HQ, D], bf16>) … attributes {nsa.sizes = {D = 64 : i64}}
    ```
  }];
  let options = [
    ListOption<"dims", "dims", "std::string", "sizes as NAME=SIZE, …">
  ];
}

#endif // NSA_TRANSFORMS_PASSES_TD
