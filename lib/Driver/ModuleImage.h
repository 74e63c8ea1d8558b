//===- ModuleImage.h - Modules outside of their context ---------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_MODULEIMAGE_H
#define NSACC_LIB_DRIVER_MODULEIMAGE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace nsacc {

/// A module of the nsa dialect as bytecode, so that every compilation can have
/// a separate context and needs no lock.
class ModuleImage {
public:
  static llvm::Expected<ModuleImage> create(mlir::ModuleOp module);

  /// Reads the module into `context`. If `kernel` is given, other kernels are
  /// left out.
  mlir::OwningOpRef<mlir::ModuleOp> read(mlir::MLIRContext &context,
                                         llvm::StringRef kernel = "") const;

  /// A hash of the module, with its places in the source.
  std::string getHash() const;

private:
  std::string bytes;
};

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_MODULEIMAGE_H
