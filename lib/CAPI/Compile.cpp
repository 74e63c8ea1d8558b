//===- Compile.cpp - From source to a program -----------------------------===//

#include "NSA/Analysis/Splits.h"
#include "NSA/IR/NSAOps.h"
#include "Options.h"
#include "Program.h"
#include "Targets.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Explain/Explanation.h"
#include "nsacc/Pipelines/Phases.h"
#include "nsacc/Support/Files.h"
#include "nsacc/Support/Suggestions.h"
#include "nsacc/Tuning/Tuner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;
using namespace nsacc::capi;

namespace {
/// One compilation, up to the program or the first failure.
class Compilation {
public:
  Compilation(llvm::MemoryBufferRef source, const nsacc_options &options)
      : source(source), options(options),
        program(std::make_unique<nsacc_program>()),
        context(mlir::MLIRContext::Threading::DISABLED) {
    program->target = options.target;
    program->source = llvm::MemoryBuffer::getMemBufferCopy(
        source.getBuffer(), source.getBufferIdentifier());
  }

  Failure run();
  nsacc_program *release() { return program.release(); }

private:
  Failure runFrontend(frontend::DiagnosticCollector &collector);
  Failure checkKernels();
  Failure runPhase(Phase phase, frontend::DiagnosticCollector &collector);
  Failure compileForTarget();

  llvm::MemoryBufferRef source;
  const nsacc_options &options;
  CompileOptions compileOptions;
  std::unique_ptr<nsacc_program> program;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
} // namespace

Failure Compilation::run() {
  if (Failure failure = resolveTarget(options, compileOptions))
    return failure;
  frontend::DiagnosticCollector collector(context);
  if (Failure failure = runFrontend(collector))
    return failure;
  if (Failure failure = checkKernels())
    return failure;
  for (Phase phase : {Phase::Frontend, Phase::NSA})
    if (Failure failure = runPhase(phase, collector))
      return failure;
  if (Failure failure = compileForTarget())
    return failure;
  for (const nsa::Split &split :
       nsa::findSplits(*module->getOps<nsa::KernelOp>().begin()))
    program->splits.emplace_back(split.begin(), split.end());
  program->diagnostics = toC(collector.take(), source);
  describe(*program);
  return nullptr;
}

Failure Compilation::runFrontend(frontend::DiagnosticCollector &collector) {
  module = frontend::compile(source, options.frontend, context);
  if (module)
    return nullptr;
  std::vector<frontend::DiagnosticData> diagnostics = collector.take();
  if (diagnostics.empty())
    return fail(NSACC_ERROR_KIND_INTERNAL,
                "the front end failed without saying why");
  return fail(NSACC_ERROR_KIND_COMPILE, std::move(diagnostics), source);
}

/// "kernel='flash' or kernel='nsa'"
static std::string listKernels(llvm::ArrayRef<nsa::KernelOp> kernels) {
  std::string names;
  for (nsa::KernelOp kernel : kernels)
    names += (names.empty() ? "kernel='" : " or kernel='") +
             kernel.getSymName().str() + "'";
  return names;
}

Failure Compilation::checkKernels() {
  auto kernels = llvm::to_vector(module->getOps<nsa::KernelOp>());
  if (kernels.size() != 1)
    return fail(NSACC_ERROR_KIND_COMPILE,
                source.getBufferIdentifier().str() + " has " +
                    std::to_string(kernels.size()) + " kernels: give " +
                    listKernels(kernels));
  return nullptr;
}

Failure Compilation::runPhase(Phase phase,
                              frontend::DiagnosticCollector &collector) {
  if (failed(nsacc::runPhase(*module, phase)))
    return fail(NSACC_ERROR_KIND_INTERNAL, collector.take(), source);
  explain::PhaseText text = explain::printPhase(*module, getName(phase));
  program->texts.push_back(
      {std::move(text.name), std::move(text.text), std::move(text.lines)});
  return nullptr;
}

Failure Compilation::compileForTarget() {
  compileOptions.schedule = options.schedule;
  compileOptions.ptxas = program->ptxas = options.ptxas;
  compileOptions.threads = options.threads;
  compileOptions.cache = options.cache;
  compileOptions.tuning = options.tuning;
  compileOptions.warn = [warnings = &program->warnings](llvm::StringRef text) {
    warnings->add(text);
  };
  program->tuning = {options.tuning, options.worker, options.threads};
  tuning::WorkerOptions worker;
  worker.command = options.worker;
  if (llvm::Error error = tuning::addTuner(*module, compileOptions, worker))
    return fail(NSACC_ERROR_KIND_ARGUMENT, llvm::toString(std::move(error)));
  auto compiled = CompiledProgram::create(*module, compileOptions);
  if (!compiled)
    return fail(NSACC_ERROR_KIND_ARGUMENT,
                llvm::toString(compiled.takeError()));
  program->compiled = std::move(*compiled);
  return nullptr;
}

static Failure checkDType(llvm::StringRef dtype) {
  if (dtype == "bf16" || dtype == "f16" || dtype == "f32")
    return nullptr;
  return fail(NSACC_ERROR_KIND_ARGUMENT,
              "unknown storage dtype '" + dtype.str() +
                  "': " + nsacc::explainStorageType(dtype));
}

static Failure compile(llvm::MemoryBufferRef source,
                       const nsacc_options *options, nsacc_program **program) {
  nsacc_options defaults;
  if (!options)
    options = &defaults;
  if (Failure failure = checkDType(options->frontend.dtype))
    return failure;
  Compilation compilation(source, *options);
  if (Failure failure = compilation.run())
    return failure;
  *program = compilation.release();
  return nullptr;
}

nsacc_status nsacc_compile(const char *source, size_t length, const char *file,
                           const nsacc_options *options,
                           nsacc_program **program, nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program || (length > 0 && !source))
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_compile: program or source is NULL");
    *program = nullptr;
    if (length > PTRDIFF_MAX)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_compile: the source can't have " +
                      std::to_string(length) + " bytes");
    // The lexer may rely on a NUL after the text.
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
        llvm::StringRef(source, length), file ? file : "<source>");
    return compile(*buffer, options, program);
  });
}

nsacc_status nsacc_compile_file(const char *path, const nsacc_options *options,
                                nsacc_program **program, nsacc_error **error) {
  return guarded(error, [&]() -> Failure {
    if (!program || !path)
      return fail(NSACC_ERROR_KIND_USAGE,
                  "nsacc_compile_file: program or path is NULL");
    *program = nullptr;
    if (llvm::Error error = refuseDevice(path, "a program"))
      return fail(NSACC_ERROR_KIND_FILE, llvm::toString(std::move(error)));
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      return fail(NSACC_ERROR_KIND_FILE,
                  "can't read '" + std::string(path) +
                      "': " + buffer.getError().message());
    return compile(**buffer, options, program);
  });
}

void nsacc_program_destroy(nsacc_program *program) { delete program; }
