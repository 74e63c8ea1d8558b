#ifndef NSA_TRANSFORMS_PASSES_TD
#define NSA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NSAReportMasks : Pass<"nsa-report-masks"> {
  let summary = "Tell which keys each mask lets a query see";
  let description = [{
    Changes nothing. Each op with a mask gets a remark with the intervals of keys
    that the compiler will loop over, and a note where a mask isn't affine in the
    positions, so that it is evaluated for every pair of an interval.

    ```
    remark: sees keys i - 511 <= j < i + 1
    ```
  }];
}

#endif // NSA_TRANSFORMS_PASSES_TD
