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

/// A program's file and its parameters.
struct ProgramOptions {
  std::string file;
  std::vector<std::string> settings; ///< "name=value", or several with commas
  std::string dtype;                 ///< empty: bf16
  std::string kernel;                ///< empty: all, or the only one
  bool warningsAsErrors = false;
};

/// A program in memory. While it lives, internal errors write its text as a
/// reproducer.
class Program {
public:
  /// Reads, compiles and verifies. On errors, prints them, sets `status` and
  /// returns null.
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
  /// Takes the module from its current phase to the end of `phase`. A failure
  /// in a phase up to `nsa` is an internal error; later phases reject programs
  /// that can't be compiled.
  ExitCode runPhases(Phase phase, const PhaseOptions &options = {});
  Instruments &getInstruments() { return instruments; }
  /// Shows the diagnostics of a CompileError with their source lines, and other
  /// errors as reportError does.
  ExitCode report(llvm::Error error);
  /// Shows a warning of a compilation with its source line.
  void showWarning(const frontend::DiagnosticData &warning);
  /// Fails if there were warnings, and the options refuse them.
  llvm::Error checkWarnings() const;

private:
  Program(const ProgramOptions &options, Instruments &instruments);

  ExitCode parse(const ProgramOptions &options);
  ExitCode parseProgram(const ProgramOptions &options);
  ExitCode parseIR(const ProgramOptions &options);
  ExitCode refuseWarnings() const;
  std::string file;
  bool refusesWarnings;
  unsigned numLateWarnings = 0;
  Instruments &instruments;
  llvm::SourceMgr sources;
  mlir::MLIRContext context;
  std::optional<frontend::DiagnosticPrinter> diagnostics;
  std::optional<ReproducerScope> reproducer;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The last phase that ran.
  std::optional<Phase> done;
};

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_PROGRAM_H
