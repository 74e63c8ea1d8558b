//===- Compiled.cpp - Compiles the program of a case ----------------------===//

#include "Compiled.h"
#include "NSA/IR/NSAOps.h"
#include "nsacc/Frontend/Diagnostics.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Pipelines/Phases.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;
using namespace nsacc::differential;

/// The reported diagnostics as an error.
static llvm::Error makeError(frontend::DiagnosticCollector &collector,
                             llvm::StringRef otherwise) {
  for (const frontend::DiagnosticData &diagnostic : collector.take())
    if (diagnostic.severity == frontend::DiagnosticData::Severity::Error)
      return llvm::createStringError(diagnostic.message);
  return llvm::createStringError(otherwise);
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
nsacc::differential::importProgram(const Case &testCase,
                                   mlir::MLIRContext &context) {
  frontend::DiagnosticCollector collector(context);
  frontend::Options options;
  options.dtype = testCase.dtype;
  for (const auto &[name, value] : testCase.params)
    options.params[name] = value;
  auto module = frontend::compile(
      llvm::MemoryBufferRef(testCase.program, "program.nsa"), options, context);
  if (!module)
    return makeError(collector, "the front end failed without a message");
  if (mlir::failed(runPhases(*module, Phase::NSA)))
    return makeError(collector, "phase nsa failed without a message");
  return module;
}

llvm::Expected<std::unique_ptr<CompiledProgram>>
nsacc::differential::compile(const Case &testCase, mlir::ModuleOp module) {
  CompileOptions options;
  if (const std::optional<Schedule> &schedule = testCase.schedule) {
    options.schedule = llvm::formatv("order={0},tokens={1},keys={2},splits={3}",
                                     schedule->order, schedule->tokens,
                                     schedule->keys, schedule->splits);
    if (!schedule->program.empty())
      options.schedule += ",program=" + schedule->program;
    // Fields that no op has would be an error.
    module.walk([&](nsa::TopKOp) {
      options.schedule += ",method=" + schedule->method;
      return mlir::WalkResult::interrupt();
    });
  }
  return CompiledProgram::create(module, options);
}
