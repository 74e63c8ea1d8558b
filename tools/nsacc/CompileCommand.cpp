//===- CompileCommand.cpp - nsacc compile ---------------------------------===//

#include "Commands.h"
#include "Dimensions.h"
#include "Files.h"
#include "FlagChecks.h"
#include "Program.h"
#include "ProgramFlags.h"
#include "TileSizes.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/RT/Package.h"
#include "nsacc/Signature/Signature.h"
#include "llvm/ADT/StringExtras.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

namespace {
struct CompileFlags {
  ProgramOptions program;
  InstrumentOptions instruments;
  std::vector<std::string> dims;
  std::string schedule, target, emit, output;
  std::optional<std::string> device;
  unsigned threads = 0; ///< 0: by NSACC_THREADS, or one for each core
};

/// The output that --emit asks for.
struct Goal {
  /// The phase to run up to.
  Phase phase = Phase::NSA;
  /// A package, or a part of one.
  bool isPart = false;
  /// A whole package, which may be for several targets.
  bool isPackage = false;
  /// The chosen schedules, as text.
  bool isSchedule = false;
  /// A processor's assembly, as text.
  bool isAssembly = false;

  bool isForGPU() const { return isPart || phase > Phase::Tile; }
  /// Whether the output depends on the target.
  bool needsTarget() const {
    return isPart || isSchedule || isAssembly || phase > Phase::NSA;
  }
};
} // namespace

/// Values of `--emit` besides phases.
static constexpr llvm::StringLiteral scheduleName = "schedule",
                                     assemblyName = "asm";
static constexpr llvm::StringLiteral packageParts[] = {"ptx", "cubin",
                                                       "package"};

static llvm::Error rejectPhase(llvm::StringRef name) {
  std::vector<std::string> names;
  for (Phase phase : getPhases())
    names.push_back(getName(phase).str());
  names.push_back(scheduleName.str());
  names.push_back(assemblyName.str());
  llvm::append_range(names, packageParts);
  return makeError("phase '" + name + "' " +
                       (name == "gpu" ? "isn't built yet" : "isn't known"),
                   "this nsacc has " + quoteList(names));
}

static std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text + "\n";
}

//===-- Targets -----------------------------------------------------------===//

static llvm::Expected<const TargetInfo *>
chooseTarget(llvm::StringRef name, const CompileFlags &flags,
             const Goal &goal) {
  bool hasCPU = !goal.isForGPU() || goal.isPackage;
  const TargetInfo *target =
      name.empty() && hasCPU ? &getTargets().front() : findTarget(name);
  if (goal.isAssembly && target && target->target != Target::CPU)
    return makeError("--emit " + assemblyName +
                         " is of processors, found --target " + name,
                     target->target == Target::GPU
                         ? "use --emit ptx for a GPU, or drop --target"
                         : "use --target cpu");
  if (target && (target->target == Target::GPU || !goal.needsTarget() ||
                 (target->target == Target::CPU && hasCPU)))
    return target;
  std::vector<std::string> names;
  for (const TargetInfo &info : getTargets())
    if (info.target == Target::GPU)
      names.push_back(info.name);
  if (!target && !name.empty()) {
    auto suggested = suggestTarget(name);
    return makeError(explainMissingTarget(name),
                     (suggested ? "use --target " + *suggested + "; " : "") +
                         "of GPUs there is " + quoteList(names));
  }
  if (!goal.isForGPU())
    return makeError("target 'oracle' interprets phase 'nsa' and has no tiles",
                     "use --target cpu, or of GPUs " + quoteList(names));
  if (goal.isPackage)
    names.insert(names.begin(), "cpu");
  return makeError(
      "--emit " + flags.emit +
          (goal.isPackage ? " is of compiled targets" : " is of GPUs") +
          ", found " + (name.empty() ? "no --target" : "--target " + name),
      "add --target NAME: there is " + quoteList(names));
}

/// The targets of --target. Only packages take several.
static llvm::Expected<std::vector<const TargetInfo *>>
chooseTargets(const CompileFlags &flags, const Goal &goal) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(flags.target).split(names, ',');
  if (names.size() > 1 && !goal.isPackage)
    return makeError("--emit " + flags.emit + " is of one target, found " +
                         llvm::Twine(names.size()) + ": " + flags.target,
                     "name one of them, or use --emit package");
  std::vector<const TargetInfo *> targets;
  for (llvm::StringRef name : names) {
    auto target = chooseTarget(name.trim(), flags, goal);
    if (!target)
      return target.takeError();
    if (llvm::is_contained(targets, *target))
      return makeError("--target names '" + name.trim() + "' twice");
    targets.push_back(*target);
  }
  return targets;
}

/// The options of each target, with its device. If the output doesn't depend on
/// the target, the machine needn't have a device.
static llvm::Expected<std::vector<CompileOptions>>
resolveTargets(llvm::ArrayRef<const TargetInfo *> targets,
               const CompileFlags &flags, const Goal &goal) {
  std::vector<CompileOptions> resolved;
  if (!goal.needsTarget() && !flags.device)
    resolved.resize(targets.size());
  if (!resolved.empty())
    return resolved;
  for (const TargetInfo *target : targets) {
    // A device's file applies to the target that has no device yet.
    bool isOpen = target->target == Target::GPU && !target->device;
    bool isOnly = targets.size() == 1;
    if (llvm::Error error = resolveTarget(
            *target, isOpen || isOnly ? flags.device : std::nullopt,
            resolved.emplace_back()))
      return std::move(error);
  }
  return resolved;
}

//===-- Packages ----------------------------------------------------------===//

/// The sizes of one set of --dims; they must be all sizes that code depends on.
static llvm::Expected<DimSizes>
readSizes(Program &program, const Settings &dims, nsa::KernelOp kernel) {
  auto known = readDimensions(dims, getSignature(kernel));
  if (!known)
    return known.takeError();
  if (auto sizes = findTileSizes(program.getModule(), dims); !sizes)
    return sizes.takeError();
  return *known;
}

static llvm::Expected<std::unique_ptr<CompiledProgram>>
createProgram(Program &program, const CompileFlags &flags,
              CompileOptions options) {
  auto threads = chooseThreads(flags.threads);
  if (!threads)
    return threads.takeError();
  Instruments &instruments = program.getInstruments();
  options.schedule = flags.schedule;
  options.threads = *threads;
  options.timing = &instruments.getTiming();
  options.warn = printWarning;
  options.warnOfUnread = [&program](const frontend::DiagnosticData &warning) {
    program.showWarning(warning);
  };
  if (llvm::Error error = instruments.chooseCache().moveInto(options.cache))
    return std::move(error);
  options.preparePasses = [&](mlir::PassManager &manager, mlir::ModuleOp module,
                              llvm::StringRef phase) {
    instruments.preparePasses(manager, module, phase);
  };
  if (llvm::Error error = chooseTuning(program.getModule(), options))
    return std::move(error);
  return CompiledProgram::create(program.getModule(), options);
}

/// A package with at least one variant for each target and set of --dims.
static llvm::Expected<std::string>
compilePackage(Program &program, const CompileFlags &flags,
               std::vector<CompileOptions> targets) {
  auto kernel = program.getKernel(flags.program.kernel);
  if (!kernel)
    return kernel.takeError();
  auto sets = parseSettingSets("--dims", flags.dims);
  if (!sets)
    return sets.takeError();
  std::vector<DimSizes> sizes;
  for (const Settings &dims : *sets) {
    auto known = readSizes(program, dims, *kernel);
    if (!known)
      return known.takeError();
    sizes.push_back(std::move(*known));
  }
  std::vector<std::string> packages;
  for (CompileOptions &options : targets) {
    auto compiled = createProgram(program, flags, std::move(options));
    if (!compiled)
      return compiled.takeError();
    auto package = (*compiled)->package(kernel->getSymName(), sizes);
    if (!package)
      return package.takeError();
    packages.push_back(std::move(*package));
  }
  return combinePackages(packages);
}

namespace {
/// The selected kernel, and the sizes of --dims.
struct Call {
  nsa::KernelOp kernel;
  DimSizes sizes;
};
} // namespace

static llvm::Expected<Call> readCall(Program &program,
                                     const CompileFlags &flags) {
  auto kernel = program.getKernel(flags.program.kernel);
  if (!kernel)
    return kernel.takeError();
  auto dims = parseSettings("--dims", flags.dims);
  if (!dims)
    return dims.takeError();
  auto sizes = readSizes(program, *dims, *kernel);
  if (!sizes)
    return sizes.takeError();
  return Call{*kernel, std::move(*sizes)};
}

/// The kernels of a run with the sizes of --dims, as a processor's assembly.
static llvm::Expected<std::string> writeAssembly(Program &program,
                                                 const CompileFlags &flags,
                                                 CompileOptions options) {
  auto call = readCall(program, flags);
  if (!call)
    return call.takeError();
  auto compiled = createProgram(program, flags, std::move(options));
  if (!compiled)
    return compiled.takeError();
  return (*compiled)->assembly(call->kernel.getSymName(), call->sizes);
}

/// PTX or machine code of a GPU for these kernels. The driver's compiler
/// doesn't need machine code.
static llvm::Expected<std::string> compileImage(Program &program,
                                                const CompileFlags &flags,
                                                CompileOptions options) {
  auto call = readCall(program, flags);
  if (!call)
    return call.takeError();
  std::string architecture = options.device->getMachineArchitecture();
  auto compiled = createProgram(program, flags, std::move(options));
  if (!compiled)
    return compiled.takeError();
  auto image = (*compiled)->image(call->kernel.getSymName(), call->sizes);
  if (!image)
    return image.takeError();
  if (flags.emit == "ptx")
    return std::move(image->ptx);
  if (image->cubin.empty())
    return makeError("there is no machine code for " + architecture +
                         ": ptxas, which makes it, wasn't found, or is older",
                     "put a newer one on the PATH, or use --emit ptx");
  return std::move(image->cubin);
}

//===-- Schedules ---------------------------------------------------------===//

/// The chosen schedules for the sizes of --dims, and the reasons.
static llvm::Expected<std::string> printSchedules(Program &program,
                                                  const CompileFlags &flags,
                                                  CompileOptions options) {
  auto dims = parseSettings("--dims", flags.dims);
  if (!dims)
    return dims.takeError();
  auto compiled = createProgram(program, flags, std::move(options));
  if (!compiled)
    return compiled.takeError();
  std::string text;
  for (auto kernel : program.getModule().getOps<nsa::KernelOp>()) {
    auto sizes = readSizes(program, *dims, kernel);
    if (!sizes)
      return sizes.takeError();
    auto own = (*compiled)->printSchedule(kernel.getSymName(), sizes->sizes);
    if (!own)
      return own.takeError();
    text += *own;
  }
  return text;
}

//===-- The command -------------------------------------------------------===//

static ExitCode finish(const Program &program, Instruments &instruments,
                       llvm::StringRef bytes, const CompileFlags &flags) {
  if (llvm::Error error = program.checkWarnings())
    return reportError(std::move(error));
  if (llvm::Error error = writeFiles({{flags.output, bytes}}))
    return reportError(std::move(error));
  if (llvm::Error error = instruments.finish())
    return reportError(std::move(error));
  return ExitCode::Success;
}

static ExitCode compile(const CompileFlags &flags,
                        llvm::ArrayRef<std::string> commandLine) {
  std::optional<Phase> phase = parsePhase(flags.emit);
  Goal goal = {phase.value_or(Phase::NSA),
               llvm::is_contained(packageParts, flags.emit),
               flags.emit == "package", flags.emit == scheduleName,
               flags.emit == assemblyName};
  if (!phase && !goal.isPart && !goal.isSchedule && !goal.isAssembly)
    return reportError(rejectPhase(flags.emit), ExitCode::Usage);
  // PTX is text and may go to a terminal. Checked before compiling, which may
  // take minutes.
  if (goal.isPart && flags.emit != "ptx")
    if (llvm::Error error = refuseTerminal(
            flags.output, "what --emit " + flags.emit + " writes", "-o"))
      return reportError(std::move(error), ExitCode::Usage);
  auto chosen = chooseTargets(flags, goal);
  if (!chosen)
    return reportError(chosen.takeError(), ExitCode::Usage);
  if (flags.instruments.remarks && !goal.needsTarget())
    return reportError(
        makeError("no pass up to phase '" + flags.emit + "' makes remarks",
                  "add --emit tile or a later phase, or drop --remarks"),
        ExitCode::Usage);
  auto targets = resolveTargets(*chosen, flags, goal);
  if (!targets)
    return reportError(targets.takeError());
  CompileOptions &options = targets->front();
  Instruments instruments(flags.instruments);
  ExitCode status;
  auto program = Program::load(flags.program, commandLine, instruments, status);
  if (!program)
    return status;
  status = compilePhases(*program, flags.dims, flags.schedule, goal.phase,
                         options.device);
  if (status != ExitCode::Success)
    return status;
  if (goal.isSchedule) {
    auto text = printSchedules(*program, flags, std::move(options));
    return text ? finish(*program, instruments, *text, flags)
                : program->report(text.takeError());
  }
  if (goal.isAssembly) {
    auto text = writeAssembly(*program, flags, std::move(options));
    return text ? finish(*program, instruments, *text, flags)
                : program->report(text.takeError());
  }
  if (!goal.isPart)
    return finish(*program, instruments, print(program->getModule()), flags);
  auto bytes = goal.isPackage
                   ? compilePackage(*program, flags, std::move(*targets))
                   : compileImage(*program, flags, std::move(options));
  if (!bytes)
    return program->report(bytes.takeError());
  return finish(*program, instruments, *bytes, flags);
}

void nsacc::addCompileCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "compile", "compile a program and write the result of a phase");
  auto options = std::make_shared<CompileFlags>();
  addProgramFlags(*command, options->program);
  addTileSizesFlag(*command, options->dims,
                   "; --emit package: one that names a size again is for a "
                   "variant of its own");
  addScheduleFlag(*command, options->schedule);
  command
      ->add_option("--target", options->target,
                   "target of the phases after nsa; earlier ones are the same "
                   "for all targets; nsacc env lists targets (tile, package: "
                   "cpu); --emit package takes several")
      ->type_name("NAME,...")
      ->check(checkTargetNames())
      ->group("Compiler");
  addDeviceFlag(*command, options->device, "Compiler");
  addThreadsFlag(*command, options->threads,
                 "threads that compile kernels side by side (NSACC_THREADS, "
                 "or one for each core)",
                 "Compiler");
  addInstrumentFlags(*command, options->instruments);
  command
      ->add_flag("--remarks", options->instruments.remarks,
                 "print remarks of passes, successful or missed, to standard "
                 "error")
      ->group("Compiler");
  std::string phases;
  for (Phase phase : getPhases())
    phases += "\n" + getName(phase).str() + ": " + getDescription(phase).str();
  phases += "\nschedule: how each op is tiled for a target and sizes, and why"
            "\nasm: code of a processor, to read"
            "\nptx, cubin: code of a GPU"
            "\npackage: a file that libnsacc_rt runs, for GPUs and cpu";
  options->emit = getName(Phase::NSA).str();
  command
      ->add_option("--emit", options->emit,
                   "last phase, or another output:" + phases)
      ->type_name("PHASE")
      ->capture_default_str()
      ->group("Result");
  options->output = "-";
  command
      ->add_option("-o,--output", options->output,
                   "output file; '-': standard output")
      ->type_name("FILE")
      ->capture_default_str()
      ->group("Result");
  command->callback([options, &invocation] {
    invocation.status = compile(*options, invocation.commandLine);
  });
}
