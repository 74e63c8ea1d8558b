//===- OperandWriter.h - Tiles that threads write for products --*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_OPERANDWRITER_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_OPERANDWRITER_H

#include "Fragments.h"
#include "Kernel.h"

namespace nsacc {

/// Writes tiles of registers to places in shared memory, from where products
/// read them. Synchronization is up to the callers.
class OperandWriter {
public:
  explicit OperandWriter(Kernel &kernel)
      : b(kernel.b), program(kernel.program), sharedTiles(kernel.sharedTiles),
        loader(kernel.b, kernel.threads, kernel.shared) {}

  /// `isInFlight` says whether products in flight read the tile. Without a
  /// fence, they don't see the threads' stores.
  void write(const SharedTile &tile, mlir::Value source, bool isInFlight);

private:
  bool writeMatrices(const SharedTile &tile, mlir::Value source);

  CodeBuilder &b;
  ProgramValues &program;
  SharedTiles &sharedTiles;
  FragmentLoader loader;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_OPERANDWRITER_H
