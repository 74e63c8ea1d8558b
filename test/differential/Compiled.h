//===- Compiled.h - Compiles the program of a case --------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_COMPILED_H
#define NSACC_TEST_DIFFERENTIAL_COMPILED_H

#include "Case.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Driver/CompiledProgram.h"

namespace nsacc::differential {

/// The nsa level of the program. Fails with the first diagnostic.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importProgram(const Case &testCase, mlir::MLIRContext &context);

/// The module's kernel for the CPU, under the case's schedule.
llvm::Expected<std::unique_ptr<CompiledProgram>> compile(const Case &testCase,
                                                         mlir::ModuleOp module);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_COMPILED_H
