//===- Compiled.h - Compiles the program of a case --------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_COMPILED_H
#define NSACC_TEST_DIFFERENTIAL_COMPILED_H

#include "Case.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Target/CPU/CPU.h"

namespace nsacc::differential {

/// The nsa level of the program. Fails with the first diagnostic.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importProgram(const Case &testCase, mlir::MLIRContext &context);

/// Compiles the module's kernel under the case's schedule.
llvm::Expected<std::unique_ptr<cpu::Executable>> compile(const Case &testCase,
                                                         mlir::ModuleOp module);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_COMPILED_H
