#ifndef NSATILE_TRANSFORMS_PASSES_TD
#define NSATILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NSATileExpandMath : Pass<"nsatile-expand-math"> {
  let summary = "Write mathematical functions as polynomials";
  let description = [{
    `math.exp`, `math.exp2`, `math.tanh`, `math.log`, `math.log2` and `math.erf` of f32, scalars and
    vectors alike, become arithmetic that vectorizes. Other functions stay as they are.

    `exp` and `exp2` are within 1.5 units in the last place of the exact result;
    results below 2^-126 are 0, above the greatest number infinity; NaN stays NaN.

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

#endif // NSATILE_TRANSFORMS_PASSES_TD
