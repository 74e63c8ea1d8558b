#ifndef NSACC_CONVERSION_NSATILETONVVM_TD
#define NSACC_CONVERSION_NSATILETONVVM_TD

include "mlir/Pass/PassBase.td"

def ConvertNSATileToNVVM : Pass<"convert-nsatile-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Turn tile programs into GPU kernels, the code of one thread";
  let description = [{
    Each `nsatile.program` becomes a kernel. A tile becomes registers of a thread, one value
    each, or a place in shared memory; an index has 32 bits, addresses have 64. Control
    flow stays `scf`, scalar code `arith` and `math`, for upstream passes to lower.

    Arguments become an `index` as i64, a number as itself, and a buffer as its address, its sizes and its
    strides in elements. `nsatile.kernel` says how the kernel is launched; shared memory comes
    with the launch, and the places of tiles in it follow from their lifetimes.

    With `dependent-launches`, a program with a repair waits by itself for the program before it, and
    a program that raises lets the next one start at once: the GPU starts the repair's blocks while the
    last tiles are computed.

    Assumes that tiles have layouts (`nsatile-assign-layouts`). Drops plans:
    they must have been read before this pass.

    Before and after:

    ```mlir
    nsatile.program @f(%x: memref<?xf32, strided<[1]>>, %n: index) {
      %p = nsatile.program_id 0
      %at = nsatile.at %x[%p] dims [0] limits [%n] : … -> !nsatile.place<128xf32>
      %t = nsatile.load %at : tensor<128xf32, #nsatile.blocked<threads = 32>>
      %u = arith.mulf %t, %t : tensor<128xf32, #nsatile.blocked<threads = 32>>
      …
    }

    llvm.func @f(%x: !llvm.ptr<1>, %size: i64, %stride: i64, %n: i64)
        attributes {nvvm.kernel, nsatile.kernel = #nsatile.kernel<threads = 32>} {
      %t:4 = scf.if %inside -> (f32, f32, f32, f32) { … llvm.load … }
      %u0 = arith.mulf %t#0, %t#0 : f32
      …
    }
    ```
  }];
  let options = [
    Option<"sharedBytes", "shared-bytes", "int64_t", "101376",
           "shared memory that a block may have">,
    Option<"registers", "registers", "int64_t", "65536",
           "registers of a multiprocessor">,
    Option<"parameterBytes", "parameter-bytes", "int64_t", "4352",
           "bytes that a kernel's parameters may take">,
    Option<"dependentLaunches", "dependent-launches", "bool", "false",
           "start a repair while the program before it still runs">,
    Option<"movesRegisters", "moves-registers", "bool", "true",
           "let warps that load hand registers to warps that compute">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
}

#endif // NSACC_CONVERSION_NSATILETONVVM_TD
