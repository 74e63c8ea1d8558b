//===- InspectCommand.cpp - nsacc inspect ---------------------------------===//

#include "Commands.h"
#include "Dimensions.h"
#include "InspectPackage.h"
#include "NSATile/IR/NSATileOps.h"
#include "Program.h"
#include "ProgramFlags.h"
#include "TileSizes.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/Pipelines/Targets.h"
#include "nsacc/Signature/Signature.h"
#include "nsacc/Target/CUDA/CUDA.h"
#include "nsacc/Target/Plan/ReadPlan.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

namespace {
struct InspectOptions {
  ProgramOptions program;
  std::vector<std::string> dims;
  std::string schedule, target;
  std::optional<std::string> device;
  bool json = false, plan = false;
};
} // namespace

//===-- Text --------------------------------------------------------------===//

static void printList(llvm::StringRef heading,
                      llvm::ArrayRef<Argument> arguments) {
  for (const Argument &argument : arguments) {
    llvm::outs() << llvm::left_justify(heading, 12) << toString(argument)
                 << '\n';
    heading = "";
  }
}

static void printText(const Signature &signature) {
  llvm::outs() << llvm::left_justify("kernel", 12) << signature.kernel << '\n';
  llvm::StringRef heading = "parameters";
  for (auto &[name, value] : signature.params) {
    llvm::outs() << llvm::left_justify(heading, 12) << name << " = " << value
                 << '\n';
    heading = "";
  }
  printList("inputs", signature.inputs);
  printList("results", signature.results);
  heading = "needs";
  for (const Multiple &multiple : signature.multiples) {
    llvm::outs() << llvm::left_justify(heading, 12)
                 << toString(multiple.multiple) << " a multiple of "
                 << toString(multiple.of) << '\n';
    heading = "";
  }
}

//===-- JSON --------------------------------------------------------------===//

static void printArguments(llvm::json::OStream &json, llvm::StringRef key,
                           llvm::ArrayRef<Argument> arguments) {
  json.attributeArray(key, [&] {
    for (const Argument &argument : arguments)
      json.object([&] {
        json.attribute("name", toUTF8(argument.name));
        json.attribute("dtype", getName(argument.dtype));
        json.attributeArray("dims", [&] {
          for (const Dim &dim : argument.dims)
            json.value(toUTF8(toString(dim)));
        });
      });
  });
}

static void printJSON(llvm::json::OStream &json, const Signature &signature) {
  json.object([&] {
    json.attribute("kernel", toUTF8(signature.kernel));
    json.attributeObject("params", [&] {
      for (auto &[name, value] : signature.params)
        json.attribute(toUTF8(name), toUTF8(value));
    });
    printArguments(json, "inputs", signature.inputs);
    printArguments(json, "results", signature.results);
    json.attributeArray("multiples", [&] {
      for (const Multiple &multiple : signature.multiples)
        json.array([&] {
          json.value(toUTF8(toString(multiple.multiple)));
          json.value(toUTF8(toString(multiple.of)));
        });
    });
  });
}

//===-- Plans -------------------------------------------------------------===//

/// Whether --dims has the sizes of all inputs of the only kernel.
static bool hasAllSizes(Program &program, const InspectOptions &options) {
  auto kernels = program.getModule().getOps<nsa::KernelOp>();
  if (!llvm::hasSingleElement(kernels))
    return false;
  auto kernel = program.getKernel(options.program.kernel);
  auto dims = parseSettings("--dims", options.dims);
  bool isOne = bool(kernel) && bool(dims);
  llvm::consumeError(kernel.takeError());
  llvm::consumeError(dims.takeError());
  if (!isOne)
    return false;
  auto sizes = readAllDimensions(*dims, getSignature(*kernel), "a plan");
  llvm::consumeError(sizes.takeError());
  return bool(sizes);
}

/// A package of the module's plan. Resources of a GPU's blocks are known only
/// after their code is compiled; a processor's are in the plan.
static llvm::Expected<rt::Package>
packPlan(mlir::ModuleOp module, const InspectOptions &options,
         const Signature &signature, const std::optional<gpu::Device> &device) {
  if (device) {
    cuda::Options target(*device);
    target.signature = &signature;
    target.assemble = false;
    CompilerThreads threads(0);
    auto started = cuda::Compilation::start(module, target, threads);
    if (!started)
      return started.takeError();
    return (*started)->finish();
  }
  auto read = readPlan(*module.getOps<nsatile::PlanOp>().begin(),
                       {.target = "the CPU target",
                        .maxRank = rt::kMaxRank,
                        .signature = &signature});
  if (mlir::failed(read))
    return llvm::createStringError("the plan couldn't be read");
  rt::Package package;
  package.parameters = std::move(read->parameters);
  rt::TargetCode &code = package.variants.emplace_back().targets.emplace_back();
  code.architecture = options.target;
  code.plan = std::move(read->plan);
  return package;
}

/// Prints buffers in bytes, launches and their grids.
static ExitCode printPlanForSizes(Program &program,
                                  const InspectOptions &options,
                                  const std::optional<gpu::Device> &device) {
  Signature signature =
      getSignature(llvm::cantFail(program.getKernel(options.program.kernel)));
  ExitCode status = compilePhases(program, options.dims, options.schedule,
                                  Phase::Tile, device);
  if (status != ExitCode::Success)
    return status;
  auto package = packPlan(program.getModule(), options, signature, device);
  if (!package)
    return program.report(package.takeError());
  auto dims = llvm::cantFail(parseSettings("--dims", options.dims));
  if (llvm::Error error =
          printForSizes(*package, signature, dims, llvm::outs()))
    return reportError(std::move(error));
  return ExitCode::Success;
}

/// Prints the host's work for each kernel; as IR if sizes are open.
static ExitCode printPlans(Program &program, const InspectOptions &options) {
  auto target = findKnownTarget(options.target);
  if (!target)
    return reportError(target.takeError(), ExitCode::Usage);
  if ((*target)->target == Target::Oracle)
    return reportError(makeError("target 'oracle' interprets and has no plan",
                                 "use --target cpu, or one of a GPU"),
                       ExitCode::Usage);
  CompileOptions resolved;
  if (llvm::Error error = resolveTarget(**target, options.device, resolved))
    return reportError(std::move(error));
  if (hasAllSizes(program, options))
    return printPlanForSizes(program, options, resolved.device);
  ExitCode status = compilePhases(program, options.dims, options.schedule,
                                  Phase::Tile, resolved.device);
  if (status != ExitCode::Success)
    return status;
  for (auto plan : program.getModule().getOps<nsatile::PlanOp>()) {
    plan.print(llvm::outs());
    llvm::outs() << '\n';
  }
  return ExitCode::Success;
}

//===-- Packages ----------------------------------------------------------===//

static ExitCode inspectPackage(const InspectOptions &options) {
  const ProgramOptions &program = options.program;
  if (options.plan || !options.schedule.empty() || !program.settings.empty() ||
      !program.dtype.empty() || !program.kernel.empty() ||
      (options.json && !options.dims.empty()))
    return reportError(
        makeError("'" + program.file +
                      "' is a package: its only options are --json, or --dims",
                  "its kernel and schedule are those that it was compiled for"),
        ExitCode::Usage);
  auto dims = parseSettings("--dims", options.dims);
  if (!dims)
    return reportError(dims.takeError(), ExitCode::Usage);
  if (llvm::Error error =
          printPackage(program.file, options.json, *dims, llvm::outs()))
    return reportError(std::move(error));
  return ExitCode::Success;
}

//===-- The command -------------------------------------------------------===//

static ExitCode inspect(const InspectOptions &options,
                        llvm::ArrayRef<std::string> commandLine) {
  if (llvm::sys::path::extension(options.program.file) == ".nsapkg")
    return inspectPackage(options);
  Instruments instruments({});
  ExitCode status;
  auto program =
      Program::load(options.program, commandLine, instruments, status);
  if (!program)
    return status;
  if (options.plan)
    return printPlans(*program, options);
  std::vector<Signature> signatures;
  auto kernels = program->getModule().getOps<nsa::KernelOp>();
  if (options.program.kernel.empty() && !kernels.empty()) {
    for (auto kernel : kernels)
      signatures.push_back(getSignature(kernel));
  } else {
    auto kernel = program->getKernel(options.program.kernel);
    if (!kernel)
      return reportError(kernel.takeError());
    signatures.push_back(getSignature(*kernel));
  }
  if (options.json) {
    llvm::json::OStream json(llvm::outs(), /*IndentSize=*/2);
    json.array([&] {
      for (const Signature &signature : signatures)
        printJSON(json, signature);
    });
    llvm::outs() << '\n';
    return ExitCode::Success;
  }
  for (const Signature &signature : signatures) {
    if (&signature != &signatures.front())
      llvm::outs() << '\n';
    printText(signature);
  }
  return ExitCode::Success;
}

void nsacc::addInspectCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "inspect", "list a program's kernels: parameters, inputs, results; or "
                 "the content of a package (.nsapkg)");
  auto options = std::make_shared<InspectOptions>();
  addProgramFlags(*command, options->program);
  auto *json = command->add_flag("--json", options->json, "print JSON");
  auto *plan = command->add_flag("--plan", options->plan,
                                 "print the host's work: with all sizes, "
                                 "buffers in bytes, launches and their grids; "
                                 "as IR if batch or lengths stay open");
  plan->excludes(json);
  options->target = getTargets().front().name;
  command
      ->add_option("--target", options->target,
                   "target of the plan of --plan: cpu, or a GPU as sm_90a")
      ->type_name("NAME")
      ->needs(plan)
      ->group("Compiler");
  addDeviceFlag(*command, options->device, "Compiler")->needs(plan);
  addTileSizesFlag(*command, options->dims,
                   "; of a package or with --plan, all sizes: prints buffers "
                   "in bytes, launches and their grids");
  addScheduleFlag(*command, options->schedule);
  command->callback([options, &invocation] {
    invocation.status = inspect(*options, invocation.commandLine);
  });
}
