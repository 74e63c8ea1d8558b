#ifndef NSACC_CONVERSION_NSATONSATILE_TILEOPINTERFACE_TD
#define NSACC_CONVERSION_NSATONSATILE_TILEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def NSACC_TileOpInterface : OpInterface<"TileOpInterface"> {
  let cppNamespace = "::nsacc";
  let description = [{
    Ops of a kernel that are computed in programs over tiles. `convert-nsa-to-nsatile` knows an op by this interface
    and ScheduleOpInterface
    alone: first operands are put in memory, then it adds the programs that its readers need, then programs ask it
    for tiles of its results, from the kernel's results backwards (docs/Rationale/Axes.md).

    The conversion attaches models for the ops of the `nsa` dialect. An op of another dialect implements the interface
    itself, or its library attaches a model.
  }];
  let methods = [
    InterfaceMethod<
      "whether the op's own programs write its results to memory, whoever reads them",
      "bool", "writesResults", (ins), "", "return false;">,
    InterfaceMethod<
      "fields without which the op's schedule says nothing",
      "::llvm::SmallVector<::nsacc::schedule::Field>", "getTileFields", (ins), "",
      "return {};">,
    InterfaceMethod<[{
        Adds the op's own programs to the plan: programs that write its results, or lists and states that readers go
        by. Operands stand in memory.
      }],
      "::llvm::LogicalResult", "addPrograms", (ins "::nsacc::PlanBuilder &":$plan), "",
      "return ::mlir::success();">,
    InterfaceMethod<[{
        Computes a tile of `result`, which has the dimensions `dims` of the tile's: [batch, tokens, heads, channels] in
        programs over rows. Fails with an error where such tiles aren't compiled.
      }],
      "::llvm::FailureOr<::nsacc::Tile>", "computeTile",
      (ins "::nsacc::TileSource &":$source, "::mlir::Value":$result,
           "const ::nsacc::nsa::DimSet &":$dims), "",
      "return source.reject($_op);">,
    InterfaceMethod<[{
        Computes a log-sum-exp of the op for rows, with what f32 leaves of it, and no other result.
      }],
      "::llvm::FailureOr<::nsacc::Tile>", "computeLse",
      (ins "::nsacc::Evaluator &":$rows, "::mlir::Value":$lse), "",
      "return rows.evaluate(lse);">
  ];
}

#endif // NSACC_CONVERSION_NSATONSATILE_TILEOPINTERFACE_TD
