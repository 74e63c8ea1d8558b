//===- Program.h - A program that a command works on ------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_PROGRAM_H
#define NSACC_TOOLS_NSACC_PROGRAM_H

#include "Instruments.h"
#include "Messages.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Frontend/Diagnostics.h"
#include "nsacc/Pipelines/Phases.h"
#include "nsacc/Support/CrashHandler.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>

namespace nsacc {

/// Which program, with which parameters.
struct ProgramOptions {
  std::string file;
  std::vector<std::string> settings; ///< "name=value", or several with commas
  std::string dtype;                 ///< empty: bf16
  std::string kernel;                ///< empty: all, or the only one
  bool warningsAsErrors = false;
};

/// A program in memory. While it lives, internal errors write its text as
/// reproducer.
class Program {
public:
  /// Reads, compiles and verifies. Prints what is wrong and sets `status`
  /// where it returns null.
  static std::unique_ptr<Program> load(const ProgramOptions &options,
                                       llvm::ArrayRef<std::string> commandLine,
                                       Instruments &instruments,
                                       ExitCode &status);

  mlir::ModuleOp getModule() { return *module; }
  /// The text that was read.
  llvm::StringRef getSource() const {
    return sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  }
  /// The kernel of that name, or the only one.
  llvm::Expected<nsa::KernelOp> getKernel(llvm::StringRef name);
  /// Takes the module from where it is to the end of `phase`. Where a phase up
  /// to `nsa` fails, that is an internal error; the others reject what can't be
  /// compiled.
  ExitCode runPhases(Phase phase, const PhaseOptions &options = {});
  Instruments &getInstruments() { return instruments; }
  /// Shows the diagnostics of a CompileError with their source lines, and other
  /// errors as reportError does.
  ExitCode report(llvm::Error error);

private:
  Program(llvm::StringRef file, Instruments &instruments);

  ExitCode parse(const ProgramOptions &options);
  ExitCode parseProgram(const ProgramOptions &options);
  ExitCode parseIR(const ProgramOptions &options);

  std::string file;
  Instruments &instruments;
  llvm::SourceMgr sources;
  mlir::MLIRContext context;
  std::optional<frontend::DiagnosticPrinter> diagnostics;
  std::optional<ReproducerScope> reproducer;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The phase that the module is behind.
  std::optional<Phase> done;
};

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_PROGRAM_H
