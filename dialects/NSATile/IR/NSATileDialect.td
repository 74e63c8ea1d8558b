#ifndef NSATILE_IR_NSATILEDIALECT_TD
#define NSATILE_IR_NSATILEDIALECT_TD

include "mlir/IR/OpBase.td"

def NSATileDialect : Dialect {
  let name = "nsatile";
  let cppNamespace = "::nsacc::nsatile";
  let summary = "Loops over tiles: the programs at the points of a grid";
  let description = [{
    The `nsatile` dialect says which loops run over which tiles. A program
    computes one point of a grid; a plan launches programs over workspace and
    arguments. Buffers are memrefs, tiles are static tensors on which `arith` and
    `math` work as they stand (docs/Rationale/NSATile.md).
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();

    /// Attribute of nsa ops and of programs that holds their schedule.
    static constexpr ::llvm::StringLiteral getScheduleAttrName() {
      return "nsatile.schedule";
    }

    /// Attribute of programs that were lowered for a GPU: a KernelAttr.
    static constexpr ::llvm::StringLiteral getKernelAttrName() {
      return "nsatile.kernel";
    }
  }];
}

#endif // NSATILE_IR_NSATILEDIALECT_TD
