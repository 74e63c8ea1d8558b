//===- Passes.td - All passes, for docs/Passes.md -------------------------===//

include "NSA/Transforms/Passes.td"
include "NSATile/Transforms/Passes.td"
include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.td"
include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.td"
include "nsacc/Conversion/NSATileToVector/NSATileToVector.td"
