#ifndef TEST_LIB_TILETEST_TILETESTOPS_TD
#define TEST_LIB_TILETEST_TILETESTOPS_TD

include "NSA/IR/NSADialect.td"
include "NSA/IR/NSAInterfaces.td"
include "NSA/IR/NSATypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "nsacc/Conversion/NSAToNSATile/TileOpInterface.td"
include "nsacc/Schedule/ScheduleOpInterface.td"

def TileTestDialect : Dialect {
  let name = "tiletest";
  let cppNamespace = "::nsacc::tiletest";
  let summary = "an op that only its own files name";
}

def SumVisibleOp : Op<TileTestDialect, "sum_visible", [
    Pure, NSA_ScoringOpInterface, NSA_HasScalarCode,
    DeclareOpInterfaceMethods<NSACC_TileOpInterface,
                              ["getTileFields", "computeTile"]>,
    DeclareOpInterfaceMethods<NSACC_ScheduleOpInterface,
                              ["getFields", "getOperandsInMemory", "choose"]>]> {
  let summary = "sum of the scores that each query sees";
  let arguments = (ins NSA_Tensor:$query, NSA_Tensor:$key);
  let regions = (region AnyRegion:$scale, AnyRegion:$mask, AnyRegion:$score, AnyRegion:$weight);
  let results = (outs NSA_Tensor:$sums);
  let extraClassDeclaration = [{
    ::mlir::Value getSelection() { return {}; }
  }];
}

def SumQueriesOp : Op<TileTestDialect, "sum_queries", [
    Pure, NSA_ScoringOpInterface, NSA_HasScalarCode,
    DeclareOpInterfaceMethods<NSACC_TileOpInterface,
                              ["getTileFields", "writesResults", "addPrograms"]>,
    DeclareOpInterfaceMethods<NSACC_ScheduleOpInterface,
                              ["getFields", "getOperandsInMemory", "isShared"]>]> {
  let summary = "sum of the scores of the queries that see each key";
  let description = [{
    Keys are the rows of its program, as in a gradient of keys and values. The result has the dimensions of keys
    without the channels.
  }];
  let arguments = (ins NSA_Tensor:$query, NSA_Tensor:$key);
  let regions = (region AnyRegion:$scale, AnyRegion:$mask, AnyRegion:$score, AnyRegion:$weight);
  let results = (outs NSA_Tensor:$sums);
  let extraClassDeclaration = [{
    ::mlir::Value getSelection() { return {}; }
  }];
}

#endif // TEST_LIB_TILETEST_TILETESTOPS_TD
