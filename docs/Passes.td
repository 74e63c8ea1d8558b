//===- Passes.td - All passes, for docs/Passes.md -------------------------===//

include "NSA/Transforms/Passes.td"
include "NSATile/Transforms/FoldPasses.td"
include "NSATile/Transforms/GPUPasses.td"
include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.td"
include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.td"
include "nsacc/Conversion/NSATileToVector/NSATileToVector.td"
