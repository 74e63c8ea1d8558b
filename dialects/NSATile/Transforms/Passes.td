#ifndef NSATILE_TRANSFORMS_PASSES_TD
#define NSATILE_TRANSFORMS_PASSES_TD

include "NSATile/Transforms/FoldPasses.td"
include "NSATile/Transforms/GPUPasses.td"

#endif // NSATILE_TRANSFORMS_PASSES_TD
