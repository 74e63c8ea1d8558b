//===- ExplainCommand.cpp - nsacc explain ---------------------------------===//

#include "Commands.h"
#include "Dimensions.h"
#include "Files.h"
#include "FlagChecks.h"
#include "Program.h"
#include "ProgramFlags.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/Explain/Explanation.h"
#include "nsacc/Pipelines/Targets.h"
#include "nsacc/Signature/Signature.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

namespace {
struct ExplainFlags {
  ProgramOptions program;
  std::string target = "cpu", schedule, page;
  std::optional<std::string> device;
  std::vector<std::string> dims;
  unsigned threads = 0;
  bool json = false;
};
} // namespace

static llvm::Expected<explain::Explanation>
explainProgram(Program &program, const ExplainFlags &flags,
               const Settings &dims, CompileOptions options,
               explain::BuildOptions build) {
  auto kernel = program.getKernel(flags.program.kernel);
  if (!kernel)
    return kernel.takeError();
  Signature signature = getSignature(*kernel);
  auto sizes = readAllDimensions(dims, signature, "an explanation");
  if (!sizes)
    return sizes.takeError();
  auto threads = chooseThreads(flags.threads);
  if (!threads)
    return threads.takeError();
  if (llvm::Error error = lookupTuning().moveInto(build.tuning))
    return std::move(error);
  options.schedule = flags.schedule;
  options.threads = build.threads = *threads;
  options.tuning.policy = build.tuning.policy;
  options.warn = build.warn = printWarning;
  options.warnOfUnread = [&program](const frontend::DiagnosticData &warning) {
    program.showWarning(warning);
  };
  build.ptxas = options.ptxas;
  auto compiled = CompiledProgram::create(program.getModule(), options);
  if (!compiled)
    return compiled.takeError();
  return explain::build(**compiled, signature.kernel, *sizes, std::move(build));
}

static ExitCode writePage(const explain::Explanation &explanation,
                          const std::string &path) {
  std::string page;
  llvm::raw_string_ostream os(page);
  printPage(explanation, os);
  if (llvm::Error error = writeFiles({{path, page}}))
    return reportError(std::move(error));
  if (path != "-")
    llvm::outs() << "the page of kernel '" << explanation.kernel << "' is in "
                 << path << '\n';
  return ExitCode::Success;
}

static ExitCode runExplain(const ExplainFlags &flags,
                           llvm::ArrayRef<std::string> commandLine) {
  auto target = findKnownTarget(flags.target);
  if (!target)
    return reportError(target.takeError(), ExitCode::Usage);
  if ((*target)->target == Target::Oracle)
    return reportError(
        makeError("target 'oracle' interprets programs and has no schedule to "
                  "explain",
                  "use --target cpu, or a GPU as --target sm_90a"),
        ExitCode::Usage);
  auto dims = parseSettings("--dims", flags.dims);
  if (!dims)
    return reportError(dims.takeError(), ExitCode::Usage);
  CompileOptions options;
  if (llvm::Error error = resolveTarget(**target, flags.device, options))
    return reportError(std::move(error));
  Instruments instruments({});
  ExitCode status;
  auto program = Program::load(flags.program, commandLine, instruments, status);
  if (!program)
    return status;
  explain::BuildOptions build;
  build.file = flags.program.file;
  build.source = program->getSource().str();
  status = program->runPhases(Phase::Frontend);
  if (status != ExitCode::Success)
    return status;
  build.earlier.push_back(
      explain::printPhase(program->getModule(), getName(Phase::Frontend)));
  status = program->runPhases(Phase::NSA);
  if (status != ExitCode::Success)
    return status;
  auto explanation = explainProgram(*program, flags, *dims, std::move(options),
                                    std::move(build));
  if (!explanation)
    return program->report(explanation.takeError());
  if (llvm::Error error = program->checkWarnings())
    return reportError(std::move(error));
  if (!flags.page.empty())
    return writePage(*explanation, flags.page);
  if (flags.json)
    llvm::outs() << llvm::formatv("{0:2}\n", toJSON(*explanation));
  else
    printText(*explanation, llvm::outs());
  return ExitCode::Success;
}

void nsacc::addExplainCommand(CLI::App &app, Invocation &invocation) {
  CLI::App *command = app.add_subcommand(
      "explain", "explain how a kernel is compiled for some sizes, why, and "
                 "what limits its speed");
  auto flags = std::make_shared<ExplainFlags>();
  addProgramFlags(*command, flags->program);
  addRepeatedFlag(*command, "--dims", flags->dims,
                  "sizes of all dimensions of a call; for ragged ones the "
                  "rows' lengths: T=[5,0,127]")
      ->type_name("NAME=SIZE,...")
      ->required();
  command
      ->add_option("--target", flags->target,
                   "target of the code; nsacc env lists targets")
      ->type_name("NAME")
      ->capture_default_str();
  addDeviceFlag(*command, flags->device, "Compiler");
  addScheduleFlag(*command, flags->schedule);
  addThreadsFlag(*command, flags->threads,
                 "threads of the runs on a CPU that are explained, and of the "
                 "compiler (NSACC_THREADS, or one for each core)",
                 "Compiler");
  auto *page =
      command
          ->add_option("--html", flags->page,
                       "write a page with pictures and the IR of every phase "
                       "instead; '-': standard output")
          ->type_name("PAGE.html")
          ->check(checkFileName())
          ->group("Result");
  command->add_flag("--json", flags->json, "print it as JSON")
      ->group("Result")
      ->excludes(page);
  command->callback([flags, &invocation] {
    invocation.status = runExplain(*flags, invocation.commandLine);
  });
}
