//===- CompileCommand.cpp - nsacc compile ---------------------------------===//

#include "Commands.h"
#include "Program.h"
#include "ProgramFlags.h"
#include "TileSizes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

namespace {
struct CompileFlags {
  ProgramOptions program;
  InstrumentOptions instruments;
  std::vector<std::string> dims;
  std::string schedule, emit, output;
};
} // namespace

static llvm::Error rejectPhase(llvm::StringRef name) {
  std::vector<std::string> names;
  for (Phase phase : getPhases())
    names.push_back(getName(phase).str());
  static constexpr llvm::StringLiteral planned[] = {"tile-opt", "gpu", "nvvm",
                                                    "ptx", "cubin"};
  return makeError("phase '" + name + "' " +
                       (llvm::is_contained(planned, name) ? "isn't built yet"
                                                          : "isn't known"),
                   "this nsacc has " + quoteList(names));
}

static llvm::Error writeIR(mlir::ModuleOp module, llvm::StringRef path) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_Text);
  if (!code) {
    module.print(file.os());
    file.os() << '\n';
    file.os().flush();
    code = file.os().error();
    file.os().clear_error();
  }
  if (code)
    return makeError(
        "can't write " +
        (path == "-" ? "standard output" : "'" + path.str() + "'") + ": " +
        code.message());
  file.keep();
  return llvm::Error::success();
}

static ExitCode compile(const CompileFlags &flags,
                        llvm::ArrayRef<std::string> commandLine) {
  std::optional<Phase> phase = parsePhase(flags.emit);
  if (!phase)
    return reportError(rejectPhase(flags.emit), ExitCode::Usage);
  Instruments instruments(flags.instruments);
  ExitCode status;
  auto program = Program::load(flags.program, commandLine, instruments, status);
  if (!program)
    return status;
  status = compilePhases(*program, flags.dims, flags.schedule, *phase);
  if (status != ExitCode::Success)
    return status;
  if (llvm::Error error = writeIR(program->getModule(), flags.output))
    return reportError(std::move(error));
  if (llvm::Error error = instruments.finish())
    return reportError(std::move(error));
  return ExitCode::Success;
}

void nsacc::addCompileCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "compile", "compile a program and write what a phase leaves");
  auto options = std::make_shared<CompileFlags>();
  addProgramFlags(*command, options->program);
  addTileSizesFlag(*command, options->dims);
  addScheduleFlag(*command, options->schedule);
  addInstrumentFlags(*command, options->instruments);
  std::string phases;
  for (Phase phase : getPhases())
    phases += "\n" + getName(phase).str() + ": " + getDescription(phase).str();
  options->emit = getName(Phase::NSA).str();
  command->add_option("--emit", options->emit, "up to which phase:" + phases)
      ->type_name("PHASE")
      ->capture_default_str()
      ->group("Result");
  options->output = "-";
  command
      ->add_option("-o,--output", options->output,
                   "where to; '-': standard output")
      ->type_name("FILE")
      ->capture_default_str()
      ->group("Result");
  command->callback([options, &invocation] {
    invocation.status = compile(*options, invocation.commandLine);
  });
}
