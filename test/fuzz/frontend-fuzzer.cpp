//===- frontend-fuzzer.cpp - Random programs through the front end --------===//
//
// Whatever the text, compiling it must end in a verified module, or in errors
// that each have a note with the fix. Errors of the dialect's verifiers have
// none: they would mean that a check is missing in the front end.
//
//===----------------------------------------------------------------------===//

#include "TokenMutator.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Frontend/Diagnostics.h"
#include "nsacc/Frontend/Frontend.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

/// Types and attributes live as long as their context: a new one now and then
/// keeps memory bounded, a shared one keeps runs fast.
static mlir::MLIRContext &getContext() {
  constexpr unsigned runsPerContext = 512;
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned runs = 0;
  if (runs++ % runsPerContext == 0) {
    context = std::make_unique<mlir::MLIRContext>(
        mlir::MLIRContext::Threading::DISABLED);
    context->printOpOnDiagnostic(false);
  }
  return *context;
}

[[noreturn]] static void fail(llvm::StringRef reason) {
  llvm::errs() << "frontend-fuzzer: " << reason << "\n";
  std::abort();
}

static void
checkDiagnostics(const std::vector<frontend::DiagnosticData> &diagnostics,
                 bool compiled, llvm::SourceMgr &sources) {
  bool hasErrors = llvm::any_of(diagnostics, [](const auto &diagnostic) {
    return diagnostic.severity == frontend::DiagnosticData::Severity::Error;
  });
  if (compiled == hasErrors)
    fail(compiled ? "errors in a program that compiles"
                  : "a program doesn't compile but has no errors");
  for (const frontend::DiagnosticData &diagnostic : diagnostics) {
    frontend::print(diagnostic, sources, llvm::nulls());
    if (diagnostic.notes.empty() || !diagnostic.hasPlace())
      fail("a problem without a note or a place: " + diagnostic.message);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t largest = 1 << 16;
  if (size > largest)
    return -1;
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "x"),
                             llvm::SMLoc());
  mlir::MLIRContext &context = getContext();
  frontend::DiagnosticCollector collector(context);
  mlir::OwningOpRef<mlir::ModuleOp> module = frontend::compile(
      sources.getMemoryBuffer(1)->getMemBufferRef(), {}, context);
  checkDiagnostics(collector.take(), bool(module), sources);
  if (module)
    module->print(llvm::nulls());
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  // Bytes for the lexer, tokens for what comes behind it.
  if (seed % 4 == 0)
    return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<const char *>(data), size);
  std::string mutated = fuzz::mutateTokens(text, seed);
  size = std::min(mutated.size(), most);
  std::copy_n(mutated.begin(), size, data);
  return size;
}
