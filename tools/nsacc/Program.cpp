//===- Program.cpp - A program that a command works on --------------------===//

#include "Program.h"
#include "Files.h"
#include "NSA/Analysis/Lint.h"
#include "NSA/IR/NSADialect.h"
#include "Settings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Support/CompilerErrors.h"
#include "llvm/Support/Path.h"

using namespace nsacc;

Program::Program(const ProgramOptions &options, Instruments &instruments)
    : file(options.file), refusesWarnings(options.warningsAsErrors),
      instruments(instruments),
      context(mlir::MLIRContext::Threading::DISABLED) {
  context.printOpOnDiagnostic(false);
}

//===-- Reading -----------------------------------------------------------===//

std::unique_ptr<Program> Program::load(const ProgramOptions &options,
                                       llvm::ArrayRef<std::string> commandLine,
                                       Instruments &instruments,
                                       ExitCode &status) {
  if (llvm::sys::path::extension(options.file) == ".nsapkg") {
    status = reportError(
        makeError("'" + options.file + "' is a package, not a program",
                  "nsacc inspect lists what is in it, nsacc header makes a "
                  "header of C, and nsacc.load in Python runs it"));
    return nullptr;
  }
  auto buffer = readFile(options.file, "a program");
  if (!buffer) {
    status = reportError(buffer.takeError());
    return nullptr;
  }
  if (llvm::Error error = instruments.start(options.file, commandLine)) {
    status = reportError(std::move(error));
    return nullptr;
  }
  std::unique_ptr<Program> program(new Program(options, instruments));
  program->reproducer.emplace(options.file, (*buffer)->getBuffer(),
                              commandLine);
  program->sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  program->diagnostics.emplace(program->sources, program->context,
                               llvm::errs());
  {
    mlir::TimingScope scope = instruments.getTiming().nest("front end");
    status = program->parse(options);
  }
  if (status != ExitCode::Success)
    return nullptr;
  return program;
}

//===-- Compiling ---------------------------------------------------------===//

ExitCode Program::parse(const ProgramOptions &options) {
  ExitCode status = llvm::sys::path::extension(file) == ".mlir"
                        ? parseIR(options)
                        : parseProgram(options);
  if (status == ExitCode::Success && mlir::failed(mlir::verify(*module)))
    return reportInternalError("the front end made invalid IR");
  return status;
}

ExitCode Program::parseProgram(const ProgramOptions &options) {
  frontend::Options frontendOptions;
  frontendOptions.kernel = options.kernel;
  if (!options.dtype.empty())
    frontendOptions.dtype = options.dtype;
  auto settings = parseSettings("--set", options.settings);
  if (!settings)
    return reportError(settings.takeError(), ExitCode::Usage);
  for (auto &[name, value] : *settings)
    frontendOptions.params[name] = value;

  module = frontend::compile(
      sources.getMemoryBuffer(sources.getMainFileID())->getMemBufferRef(),
      frontendOptions, context);
  if (module)
    return refuseWarnings();
  if (diagnostics->getNumErrors() > 0)
    return ExitCode::UserError;
  return reportInternalError("the front end failed without a message");
}

void Program::showWarning(const frontend::DiagnosticData &warning) {
  ++numLateWarnings;
  llvm::outs().flush();
  frontend::print(warning, sources, llvm::errs());
}

llvm::Error Program::checkWarnings() const {
  if (!refusesWarnings || diagnostics->getNumWarnings() + numLateWarnings == 0)
    return llvm::Error::success();
  return makeError("there are warnings, which --warnings-as-errors refuses");
}

ExitCode Program::refuseWarnings() const {
  llvm::Error error = checkWarnings();
  return error ? reportError(std::move(error)) : ExitCode::Success;
}

ExitCode Program::parseIR(const ProgramOptions &options) {
  if (!options.settings.empty() || !options.dtype.empty())
    return reportError(
        makeError("--set and --dtype don't apply to '" + file + "'",
                  "parameters are fixed in IR; compile the .nsa program"),
        ExitCode::Usage);
  context.loadDialect<nsa::NSADialect, mlir::arith::ArithDialect,
                      mlir::math::MathDialect>();
  module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return ExitCode::UserError;
  for (auto kernel : module->getOps<nsa::KernelOp>())
    nsa::emitFindings(kernel);
  return refuseWarnings();
}

ExitCode Program::runPhases(Phase last, const PhaseOptions &options) {
  for (Phase phase : getPhases()) {
    if (phase > last)
      break;
    if (done && phase <= *done)
      continue;
    mlir::TimingScope scope =
        instruments.getTiming().nest("phase " + getName(phase).str());
    auto prepare = [&](mlir::PassManager &manager, mlir::ModuleOp module,
                       Phase) {
      manager.enableTiming(scope);
      instruments.preparePasses(manager, module, getName(phase));
    };
    bool isDone =
        mlir::succeeded(nsacc::runPhase(*module, phase, options, prepare));
    instruments.finishPasses();
    if (!isDone && phase > Phase::NSA && diagnostics->getNumErrors() > 0)
      return ExitCode::UserError;
    if (!isDone)
      return reportInternalError(
          ("the " + getName(phase) + " phase failed").str());
    done = phase;
  }
  return ExitCode::Success;
}

ExitCode Program::report(llvm::Error error) {
  instruments.finishPasses();
  llvm::outs().flush();
  auto show = [&](const CompileError &error) {
    for (const frontend::DiagnosticData &diagnostic : error.getDiagnostics())
      frontend::print(diagnostic, sources, llvm::errs());
  };
  if (error.isA<FatalError>())
    return reportError(std::move(error), ExitCode::Internal);
  error = llvm::handleErrors(std::move(error), show);
  return error ? reportError(std::move(error)) : ExitCode::UserError;
}

llvm::Expected<nsa::KernelOp> Program::getKernel(llvm::StringRef name) {
  std::vector<std::string> names;
  nsa::KernelOp found;
  for (auto kernel : module->getOps<nsa::KernelOp>()) {
    names.push_back(kernel.getName().str());
    if (name.empty() || kernel.getName() == name)
      found = kernel;
  }
  if (names.empty())
    return makeError("'" + file + "' has no kernel");
  if (name.empty() && names.size() > 1)
    return makeError("'" + file + "' has " + llvm::Twine(names.size()) +
                         " kernels: " + quoteList(names),
                     "choose one with --kernel");
  if (!found)
    return makeError("'" + file + "' has no kernel '" + name + "'",
                     suggest(name, names, "it has " + quoteList(names)));
  return found;
}
