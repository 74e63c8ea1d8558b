//===- Program.cpp - Failures of compiled programs ------------------------===//

#include "Program.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Support/CompilerErrors.h"

using namespace nsacc;
using namespace nsacc::capi;

Failure nsacc::capi::toFailure(llvm::Error error,
                               const nsacc_program &program) {
  Failure failure;
  auto compile = [&](const CompileError &error) {
    failure = fail(NSACC_ERROR_KIND_COMPILE, error.getDiagnostics().vec(),
                   program.source->getMemBufferRef());
  };
  auto interrupted = [&](const InterruptedError &error) {
    failure = fail(NSACC_ERROR_KIND_INTERRUPTED, error.message());
  };
  auto fatal = [&](const FatalError &error) {
    failure = fail(NSACC_ERROR_KIND_INTERNAL, error.message());
  };
  error = llvm::handleErrors(std::move(error), compile, interrupted, fatal);
  if (error)
    failure = fail(NSACC_ERROR_KIND_ARGUMENT, llvm::toString(std::move(error)));
  return failure;
}
