#ifndef NSACC_CONVERSION_NSATONSATILE_TD
#define NSACC_CONVERSION_NSATONSATILE_TD

include "mlir/Pass/PassBase.td"

def ConvertNSAToNSATile : Pass<"convert-nsa-to-nsatile", "::mlir::ModuleOp"> {
  let summary = "Tile attention programs";
  let description = [{
    Each kernel becomes a launch plan and programs. Pooled keys and selections
    are shared between query tiles, so they get separate programs and workspace.
    Everything else is fused into one program over query tiles, computed
    from the results backwards (docs/Rationale/NSATile.md). The tile sizes come
    from the `nsatile.schedule` of each op, which `nsa-set-schedule` sets; an op
    without one is an error.

    Assumes head counts and head dimensions in `nsa.sizes` (`nsa-specialize`).

    ```mlir
    nsa.kernel @flash(…) { %o, %lse = nsa.attend(%q, %k, %v) mask (…) {…} … }
    ```
    becomes
    ```mlir
    nsatile.program @flash_attend_0(…) { … scf.for … nsatile.softmax_update … }
    nsatile.plan @flash(…) { nsatile.launch @flash_attend_0 grid(…) (…) … }
    ```
  }];
  let options = [
    Option<"mostSelected", "most-selected", "int64_t", "2048",
           "the most blocks that a selection may have for a row">,
    Option<"mostSorted", "most-sorted", "int64_t", "2048",
           "the most blocks that a row's list may have if it is sorted">,
    Option<"mostShared", "most-shared", "int64_t", "2147483647",
           "the most tokens that may share a selection">,
    Option<"longestWindow", "longest-window", "int64_t", "2147483647",
           "the most tokens that are pooled">,
    Option<"mostChannels", "most-channels", "int64_t", "2147483647",
           "the widest head dimension of queries, keys and values">,
    Option<"mostGroup", "most-group", "int64_t", "2147483647",
           "the most query heads of a key head">,
    Option<"mostScores", "most-scores", "int64_t", "9223372036854775807",
           "the most scores of a tile">,
    Option<"mostInstructions", "most-instructions", "int64_t", "9223372036854775807",
           "the most instructions of a thread in a program; scalar code is written out for each of "
           "the thread's elements">,
    Option<"multiprocessors", "multiprocessors", "int64_t", "0",
           "multiprocessors of the GPU, which parts of the keys keep busy where `splits` is 0">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::nsacc::nsatile::NSATileDialect"
  ];
}

def NSASetSchedule : Pass<"nsa-set-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose how ops are tiled";
  let description = [{
    Sets `nsatile.schedule` of every op that is tiled. Fields that the option leaves out get the
    compiler's choice, which depends on the head counts in `nsa.sizes` and on the GPU's
    `device`: a name, `sm_86`, or JSON with the device's limits. A setting is for all ops that have the
    field or, behind `NAME:`, for the op with the value of that name in the program
    (docs/Schedules.md). Before and after, with `schedule=order=union;slc:tokens=16`:

    ```mlir
    %o, %lse = nsa.attend(…) in %sel … {nsa.name = "slc"}
    %o, %lse = nsa.attend(…) in %sel … {nsa.name = "slc", nsatile.schedule =
      #nsatile.schedule<order = union, tokens = 16, keys = 64>}
    ```
  }];
  let options = [
    Option<"settings", "schedule", "::nsacc::schedule::SettingsOption",
           "::nsacc::schedule::SettingsOption()",
           "fields to set, as FIELD=VALUE,…;NAME:FIELD=VALUE,…">,
    Option<"device", "device", "::nsacc::gpu::DeviceOption", "::nsacc::gpu::DeviceOption()",
           "the GPU that the compiler's choice is for; none: the CPU">,
    Option<"queries", "queries", "::nsacc::Queries", "::nsacc::Queries::Any",
           "number of queries that the compiler's choice is for",
           "::nsacc::getQueriesValues()">
  ];
  let dependentDialects = ["::nsacc::nsatile::NSATileDialect"];
}

#endif // NSACC_CONVERSION_NSATONSATILE_TD
