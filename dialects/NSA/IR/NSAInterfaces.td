#ifndef NSA_IR_NSAINTERFACES_TD
#define NSA_IR_NSAINTERFACES_TD

include "mlir/IR/OpBase.td"

def NSA_ScoringOpInterface : OpInterface<"ScoringOpInterface"> {
  let cppNamespace = "::nsacc::nsa";
  let description = [{
    Ops that score pairs of queries and keys: q·k, scaled, and changed by a
    score region. A pair is visible if the mask and the selection let it
    through. An empty region means the default (docs/spec.md).
  }];
  let methods = [
    InterfaceMethod<"queries [B, T, HQ, D] or [ragged T, HQ, D]", "::mlir::Value", "getQuery">,
    InterfaceMethod<"keys [B, S, H, D] or [ragged S, H, D]", "::mlir::Value", "getKey">,
    InterfaceMethod<"blocks that a row may see, or null", "::mlir::Value", "getSelection">,
    InterfaceMethod<"() -> f32", "::mlir::Region &", "getScale">,
    InterfaceMethod<"(b, h, t, i, j) -> i1", "::mlir::Region &", "getMask">,
    InterfaceMethod<"(s, b, h, t, i, j) -> f32", "::mlir::Region &", "getScore">,
    InterfaceMethod<"(s, b, h, t, i, j) -> f32; empty: softmax", "::mlir::Region &", "getWeight">
  ];
}

/// Ops whose regions are scalar code: of pairs, rows or elements.
def NSA_HasScalarCode : NativeOpTrait<"HasScalarCode"> {
  let cppNamespace = "::nsacc::nsa";
}

/// Ops that are allowed in scalar code only.
def NSA_InScalarCode : PredOpTrait<
    "it stands in a region of scalar code, as a mask or a score",
    CPred<"$_op.getParentOp()->hasTrait<::nsacc::nsa::HasScalarCode>()">>;

#endif // NSA_IR_NSAINTERFACES_TD
