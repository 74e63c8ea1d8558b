//===- Program.h - Compiled programs of the C interface ---------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_PROGRAM_H
#define NSACC_LIB_CAPI_PROGRAM_H

#include "Error.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Runtime/Signature.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

struct nsacc_dim {
  explicit nsacc_dim(const nsacc::Dim &dim)
      : dim(dim), text(nsacc::toString(dim)) {}

  nsacc::Dim dim;
  std::string text;
};

struct nsacc_value {
  explicit nsacc_value(const nsacc::Argument &argument)
      : argument(argument), text(nsacc::toString(argument)),
        dims(argument.dims.begin(), argument.dims.end()) {}

  nsacc::Argument argument;
  std::string text;
  std::vector<nsacc_dim> dims;
};

/// Immutable once compiled. Runs read the module concurrently, which is why its
/// context guards what it uniques although it never starts a thread.
struct nsacc_program {
  struct Text {
    std::string phase, ir;
  };

  std::string target;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation *kernel = nullptr;
  nsacc::Signature signature;
  std::vector<nsacc_value> inputs, results;
  std::vector<nsacc_diagnostic> diagnostics;
  std::vector<Text> texts;
};

#endif // NSACC_LIB_CAPI_PROGRAM_H
