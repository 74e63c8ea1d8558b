#ifndef NSA_IR_NSAINTERFACES_TD
#define NSA_IR_NSAINTERFACES_TD

include "mlir/IR/OpBase.td"

def NSA_ScoringOpInterface : OpInterface<"ScoringOpInterface"> {
  let cppNamespace = "::nsacc::nsa";
  let description = [{
    Ops that score pairs of queries and keys: q·k, scaled, and changed by a
    score region. A pair is visible if the mask and the selection let it
    through. An empty region means the default (docs/spec.md).

    An op that sums values over the keys has `getValue` and `getOutput`. Code that asks for these, and not for the kind
    of op, works for any of them.
  }];
  let methods = [
    InterfaceMethod<"queries [B, T, HQ, D] or [ragged T, HQ, D]", "::mlir::Value", "getQuery">,
    InterfaceMethod<"keys [B, S, H, D] or [ragged S, H, D]", "::mlir::Value", "getKey">,
    InterfaceMethod<"blocks that a row may see, or null", "::mlir::Value", "getSelection">,
    InterfaceMethod<"() -> f32", "::mlir::Region &", "getScale">,
    InterfaceMethod<"(b, h, t, i, j) -> i1", "::mlir::Region &", "getMask">,
    InterfaceMethod<"(s, b, h, t, i, j) -> f32", "::mlir::Region &", "getScore">,
    InterfaceMethod<"(s, b, h, t, i, j) -> f32; empty: softmax", "::mlir::Region &", "getWeight">,
    InterfaceMethod<"(sum, visible, b, h, t, i) -> f32, which a row's sum is divided by; null without one",
                    "::mlir::Region *", "getNormalizer", (ins), "", "return nullptr;">,
    InterfaceMethod<"(b, h, t, i) -> f32, a score that a row's sum begins with; null without one",
                    "::mlir::Region *", "getSinkScore", (ins), "", "return nullptr;">,
    InterfaceMethod<"values [B, S, H, DV] or [ragged S, H, DV] that weights multiply, or null",
                    "::mlir::Value", "getValue", (ins), "", "return {};">,
    InterfaceMethod<"sums of the weighted values, or null", "::mlir::Value", "getOutput", (ins), "", "return {};">,
    InterfaceMethod<"log-sum-exps of rows that the op computes, or null", "::mlir::Value", "getComputedLse", (ins), "",
                    "return {};">,
    InterfaceMethod<"whether each pair takes an exponential beside its scalar code", "bool", "takesExponentials", (ins),
                    "", "return false;">
  ];
  let extraSharedClassDeclaration = [{
    /// Whether weights are a softmax of the scores.
    bool isSoftmax() { return $_op.getWeight().empty(); }
    /// Counts the arguments of a region in front of its indices.
    unsigned countLeading(::mlir::Region &region) {
      if (&region == $_op.getNormalizer())
        return 2;
      return &region == &$_op.getScore() || &region == &$_op.getWeight();
    }
  }];
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
