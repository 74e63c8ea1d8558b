#ifndef NSACC_CONVERSION_NSATILETOVECTOR_TD
#define NSACC_CONVERSION_NSATILETOVECTOR_TD

include "mlir/Pass/PassBase.td"

def ConvertNSATileToVector : Pass<"convert-nsatile-to-vector", "::mlir::ModuleOp"> {
  let summary = "Turn tile programs into functions with loops over vectors";
  let description = [{
    Each `nsatile.program` becomes a function over the same arguments and the
    three indices of its grid point. Tiles become buffers in the function's
    frame, or no buffer at all: elementwise code is computed, vector by vector,
    where its values are read (docs/Rationale/NSATileToVector.md).
    `nsacc.scratch_bytes` holds the bytes of stack that a program takes.

    Assumes that a program's arguments don't overlap where one is written. Drops
    plans: they must have been read before this pass.

    Before and after:

    ```mlir
    nsatile.program @f(%x: memref<?xf32>, %n: index) {
      %p = nsatile.program_id 0
      %at = nsatile.at %x[%p] dims [0] limits [%n] : memref<?xf32> -> !nsatile.place<16xf32>
      %t = nsatile.load %at : tensor<16xf32>
      %u = arith.mulf %t, %t : tensor<16xf32>
      %to = nsatile.at %y[%p] …
      nsatile.store %u, %to : tensor<16xf32>
      nsatile.return
    }

    func.func @f(%x: memref<?xf32>, %n: index, %p: index, %0: index, %1: index) {
      %t = scf.if %inside -> (memref<16xf32, strided<[1], offset: ?>>) { … }
      %v = vector.load %t[%c0] : vector<16xf32>
      %u = arith.mulf %v, %v : vector<16xf32>
      …
    }
    ```
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "512",
           "width of a vector register">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // NSACC_CONVERSION_NSATILETOVECTOR_TD
