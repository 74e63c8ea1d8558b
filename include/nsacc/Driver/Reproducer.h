//===- Reproducer.h - Modules that run a pipeline again ---------*- C++ -*-===//

#ifndef NSACC_DRIVER_REPRODUCER_H
#define NSACC_DRIVER_REPRODUCER_H

#include <string>

namespace mlir {
class ModuleOp;
class PassManager;
} // namespace mlir

namespace nsacc {

/// The module's text with the pipeline that is about to run on it, as
/// `nsacc-opt --run-reproducer` takes it.
std::string makeReproducer(mlir::PassManager &manager, mlir::ModuleOp module);

} // namespace nsacc

#endif // NSACC_DRIVER_REPRODUCER_H
