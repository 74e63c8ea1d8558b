#ifndef NSA_IR_NSADIALECT_TD
#define NSA_IR_NSADIALECT_TD

include "mlir/IR/OpBase.td"

def NSADialect : Dialect {
  let name = "nsa";
  let cppNamespace = "::nsacc::nsa";
  let summary = "Block-sparse attention over whole tensors with named dimensions";
  let description = [{
    The `nsa` dialect says *which* attention is computed: pooling of keys and
    values, attention with a mask, a score and a weight given as regions of
    scalar code over positions, importance scores, exact top-k selection of key
    blocks, merging of branches and elementwise arithmetic. All values are whole
    tensors with named dimensions; there are no tiles, threads or memory.
    docs/spec.md defines the meaning of each op, as numbered rules;
    docs/Rationale/NSA.md gives the reasons for the design.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();

    /// Attribute of arguments, of results and, in text, of statements, holding
    /// the name the program gave.
    static constexpr ::llvm::StringLiteral getNameAttrName() {
      return "nsa.name";
    }

    /// Argument and result attribute holding the order in which callers give
    /// the dimensions: their dimension i is the type's dimension order[i].
    static constexpr ::llvm::StringLiteral getOrderAttrName() {
      return "nsa.order";
    }
  }];
}

#endif // NSA_IR_NSADIALECT_TD
