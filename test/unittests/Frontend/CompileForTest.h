//===- CompileForTest.h - A program and its errors --------------*- C++ -*-===//

#ifndef NSACC_TEST_UNITTESTS_FRONTEND_COMPILEFORTEST_H
#define NSACC_TEST_UNITTESTS_FRONTEND_COMPILEFORTEST_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Frontend/Diagnostics.h"
#include "nsacc/Frontend/Frontend.h"

namespace nsacc::frontend {

struct Compiled {
  bool succeeded = false;
  std::vector<DiagnosticData> diagnostics;
};

inline Compiled compileForTest(llvm::StringRef text,
                               const Options &options = {}) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticCollector collector(context);
  Compiled result;
  result.succeeded =
      bool(compile(llvm::MemoryBufferRef(text, "test.nsa"), options, context));
  result.diagnostics = collector.take();
  return result;
}

} // namespace nsacc::frontend

#endif // NSACC_TEST_UNITTESTS_FRONTEND_COMPILEFORTEST_H
