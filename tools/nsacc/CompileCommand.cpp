//===- CompileCommand.cpp - nsacc compile ---------------------------------===//

#include "Commands.h"
#include "Dimensions.h"
#include "Program.h"
#include "ProgramFlags.h"
#include "TileSizes.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/RT/Package.h"
#include "nsacc/Signature/Signature.h"
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
  std::string schedule, target, emit, output;
};
} // namespace

/// What `--emit` takes beside phases: parts of a GPU's package, and the whole.
static constexpr llvm::StringLiteral packageParts[] = {"ptx", "cubin",
                                                       "package"};

static llvm::Error rejectPhase(llvm::StringRef name) {
  std::vector<std::string> names;
  for (Phase phase : getPhases())
    names.push_back(getName(phase).str());
  llvm::append_range(names, packageParts);
  return makeError("phase '" + name + "' " +
                       (name == "gpu" ? "isn't built yet" : "isn't known"),
                   "this nsacc has " + quoteList(names));
}

static llvm::Error writeBytes(llvm::StringRef bytes, llvm::StringRef path) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_None);
  if (!code) {
    file.os() << bytes;
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

static std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text + "\n";
}

//===-- Packages ----------------------------------------------------------===//

static llvm::Expected<Target> chooseTarget(const CompileFlags &flags) {
  std::optional<Target> target = parseTarget(flags.target);
  if (target && isGPU(*target))
    return *target;
  std::vector<std::string> names;
  for (const TargetInfo &info : getTargets())
    if (isGPU(info.target))
      names.push_back(info.name.str());
  if (!target && !flags.target.empty())
    return makeError(explainMissingTarget(flags.target),
                     "use --target " +
                         suggestTarget(flags.target).value_or(names[1]).str() +
                         "; of GPUs there is " + quoteList(names));
  return makeError(
      "--emit " + flags.emit + " is of GPUs, found " +
          (flags.target.empty() ? "no --target" : "--target " + flags.target),
      "add --target " + names[1] + "; there is " + quoteList(names));
}

/// The named part of a package; the driver's compiler does without machine
/// code.
static llvm::Expected<std::string> getPart(llvm::StringRef bytes,
                                           llvm::StringRef part) {
  if (part == "package")
    return bytes.str();
  rt::Package package = rt::readPackage(bytes.data(), bytes.size());
  const rt::TargetCode &code = package.variants.front().targets.front();
  if (part == "ptx")
    return code.ptx;
  if (code.cubin.empty())
    return makeError("ptxas, which makes machine code, wasn't found",
                     "put it on the PATH, or use --emit ptx");
  return code.cubin;
}

static llvm::Expected<std::string>
compilePackage(Program &program, const CompileFlags &flags, Target target) {
  auto kernel = program.getKernel(flags.program.kernel);
  if (!kernel)
    return kernel.takeError();
  auto dims = parseSettings("--dims", flags.dims);
  if (!dims)
    return dims.takeError();
  auto known = readDimensions(*dims, getSignature(*kernel));
  if (!known)
    return known.takeError();
  if (auto sizes = findTileSizes(program.getModule(), *dims); !sizes)
    return sizes.takeError();
  Instruments &instruments = program.getInstruments();
  CompileOptions options;
  options.target = target;
  options.schedule = flags.schedule;
  options.timing = &instruments.getTiming();
  options.warn = printWarning;
  options.preparePasses = [&](mlir::PassManager &manager, mlir::ModuleOp module,
                              llvm::StringRef phase) {
    instruments.preparePasses(manager, module, phase);
  };
  auto compiled = CompiledProgram::create(program.getModule(), options);
  if (!compiled)
    return compiled.takeError();
  auto bytes = (*compiled)->package(kernel->getSymName(), *known);
  if (!bytes)
    return bytes.takeError();
  return getPart(*bytes, flags.emit);
}

//===-- The command -------------------------------------------------------===//

static ExitCode finish(Instruments &instruments, llvm::StringRef bytes,
                       const CompileFlags &flags) {
  if (llvm::Error error = writeBytes(bytes, flags.output))
    return reportError(std::move(error));
  if (llvm::Error error = instruments.finish())
    return reportError(std::move(error));
  return ExitCode::Success;
}

static ExitCode compile(const CompileFlags &flags,
                        llvm::ArrayRef<std::string> commandLine) {
  std::optional<Phase> phase = parsePhase(flags.emit);
  bool isPart = llvm::is_contained(packageParts, flags.emit);
  if (!phase && !isPart)
    return reportError(rejectPhase(flags.emit), ExitCode::Usage);
  Target target = Target::CUDA;
  bool isForGPU = isPart || *phase > Phase::Tile;
  if (isForGPU) {
    auto chosen = chooseTarget(flags);
    if (!chosen)
      return reportError(chosen.takeError(), ExitCode::Usage);
    target = *chosen;
  } else if (!flags.target.empty()) {
    return reportError(
        makeError(
            "phase '" + flags.emit + "' is the same for every target",
            "drop --target, or add --emit package for what runs on a GPU"),
        ExitCode::Usage);
  }
  Instruments instruments(flags.instruments);
  ExitCode status;
  auto program = Program::load(flags.program, commandLine, instruments, status);
  if (!program)
    return status;
  status = compilePhases(*program, flags.dims, flags.schedule,
                         phase.value_or(Phase::NSA),
                         isForGPU ? getName(target) : llvm::StringRef());
  if (status != ExitCode::Success)
    return status;
  if (!isPart)
    return finish(instruments, print(program->getModule()), flags);
  auto bytes = compilePackage(*program, flags, target);
  if (!bytes)
    return program->report(bytes.takeError());
  return finish(instruments, *bytes, flags);
}

void nsacc::addCompileCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "compile", "compile a program and write what a phase leaves");
  auto options = std::make_shared<CompileFlags>();
  addProgramFlags(*command, options->program);
  addTileSizesFlag(*command, options->dims);
  addScheduleFlag(*command, options->schedule);
  command
      ->add_option("--target", options->target,
                   "ptx, cubin, package: for which GPU, sm_90a or sm_80")
      ->type_name("NAME")
      ->group("Compiler");
  addInstrumentFlags(*command, options->instruments);
  std::string phases;
  for (Phase phase : getPhases())
    phases += "\n" + getName(phase).str() + ": " + getDescription(phase).str();
  phases += "\nptx, cubin: code of a GPU"
            "\npackage: all that libnsacc_rt needs to run the kernel";
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
