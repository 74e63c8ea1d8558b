//===- Run.cpp - Running a kernel -----------------------------------------===//

#include "Run.h"
#include "CompareCheck.h"
#include "Outputs.h"
#include "ProgramFlags.h"
#include "Report.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/Signature/Signature.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

namespace {
/// The command line, parsed as far as possible without the program.
struct RunPlan {
  const TargetInfo *target = nullptr;
  unsigned threads = 1;
  InputOptions inputs;
  Settings outputs;
};
} // namespace

/// File names may hold commas, so each flag names one.
static llvm::Expected<Settings>
parseFiles(llvm::StringRef flag, llvm::ArrayRef<std::string> arguments) {
  Settings files;
  for (llvm::StringRef argument : arguments) {
    auto file = parseSetting(flag, argument, "NAME=FILE.npy");
    if (!file)
      return file.takeError();
    if (llvm::any_of(files,
                     [&](auto &known) { return known.first == file->first; }))
      return makeError(flag + " gives '" + file->first + "' twice");
    files.push_back(std::move(*file));
  }
  return files;
}

static llvm::Expected<RunPlan> makePlan(const RunFlags &options) {
  RunPlan plan;
  auto target = findKnownTarget(options.target);
  if (!target)
    return target.takeError();
  plan.target = *target;
  bool isOracle = plan.target->target == Target::Oracle;
  if (options.roundStorage && !isOracle)
    return makeError("--round-storage is of the oracle alone",
                     "add --target oracle");
  if (!options.schedule.empty() && isOracle)
    return makeError("target 'oracle' has no schedule: it interprets the "
                     "program",
                     "drop --schedule");
  plan.inputs.seed = options.seed;
  auto threads = chooseThreads(options.threads);
  if (!threads)
    return threads.takeError();
  plan.threads =
      *threads ? *threads : llvm::hardware_concurrency().compute_thread_count();
  auto dims = parseSettings("--dims", options.dims);
  if (!dims)
    return dims.takeError();
  plan.inputs.dims = std::move(*dims);
  auto ranges = parseSettings("--range", options.ranges);
  if (!ranges)
    return ranges.takeError();
  plan.inputs.ranges = std::move(*ranges);
  auto files = parseFiles("--input", options.inputs);
  if (!files)
    return files.takeError();
  plan.inputs.files = std::move(*files);
  auto outputs = parseFiles("--output", options.outputs);
  if (!outputs)
    return outputs.takeError();
  plan.outputs = std::move(*outputs);
  return plan;
}

static RunOptions getRunOptions(const RunFlags &flags,
                                const RunReport &report) {
  RunOptions options;
  options.threads = report.threads;
  options.roundStorage = flags.roundStorage;
  return options;
}

/// Compiles the kernel, runs it as often as requested, and checks the results.
static llvm::Error runTarget(Program &program, nsa::KernelOp kernel,
                             const RunFlags &flags, const TargetInfo &target,
                             RunReport &report) {
  Instruments &instruments = program.getInstruments();
  CompileOptions options;
  if (llvm::Error error = resolveTarget(target, flags.device, options))
    return error;
  options.schedule = flags.schedule;
  options.threads = report.threads;
  options.timing = &instruments.getTiming();
  options.warn = printWarning;
  options.warnOfUnread = [&program](const frontend::DiagnosticData &warning) {
    program.showWarning(warning);
  };
  if (llvm::Error error = instruments.chooseCache().moveInto(options.cache))
    return error;
  options.preparePasses = [&](mlir::PassManager &manager, mlir::ModuleOp module,
                              llvm::StringRef phase) {
    instruments.preparePasses(manager, module, phase);
  };
  if (llvm::Error error = chooseTuning(program.getModule(), options))
    return error;
  auto compiled = CompiledProgram::create(program.getModule(), options);
  if (!compiled)
    return compiled.takeError();
  llvm::StringRef name = kernel.getSymName();
  const std::vector<Tensor> &inputs = report.inputs.tensors;
  RunStatistics statistics;
  if (llvm::Error error = (*compiled)->prepare(name, inputs, &statistics))
    return error;
  instruments.finishPasses();
  RunOptions runOptions = getRunOptions(flags, report);
  for (unsigned i = 0; i < flags.repeat; ++i) {
    auto results = (*compiled)->run(name, inputs, runOptions, &statistics);
    if (!results)
      return results.takeError();
    report.results = std::move(*results);
    report.seconds.push_back(statistics.runSeconds);
  }
  report.compileSeconds = statistics.compileSeconds;
  report.isFromCache = statistics.isFromCache;
  report.workspaceBytes = statistics.workspaceBytes;
  if (!flags.check)
    return llvm::Error::success();
  if (target.target != Target::Oracle) {
    auto checks =
        checkCompiled(kernel, **compiled, runOptions, inputs, report.results);
    if (!checks)
      return checks.takeError();
    report.checks = std::move(checks->checks);
    report.usefulOperations = checks->usefulOperations;
    return llvm::Error::success();
  }
  interpreter::Options oracle;
  oracle.threads = report.threads;
  oracle.roundStorage = flags.roundStorage;
  auto checks =
      checkOracle(kernel, report.signature, inputs, report.results, oracle);
  if (!checks)
    return checks.takeError();
  report.checks = std::move(*checks);
  return llvm::Error::success();
}

static llvm::Error runPlan(Program &program, nsa::KernelOp kernel,
                           const RunFlags &flags, const RunPlan &plan,
                           RunReport &report) {
  auto inputs = makeInputs(report.signature, plan.inputs);
  if (!inputs)
    return inputs.takeError();
  report.inputs = std::move(*inputs);
  if (std::string odd = describeOddSizes(report.signature, report.inputs.sizes);
      !odd.empty())
    printWarning(odd);
  auto files = planOutputs(report.signature.kernel, report.signature.results,
                           plan.outputs, flags.outputDir);
  if (!files)
    return files.takeError();
  report.resultFiles = std::move(*files);
  auto inputFiles =
      planFolder(report.signature.inputs, "--save-inputs", flags.inputDir);
  if (!inputFiles)
    return inputFiles.takeError();
  if (llvm::Error error = writeTensors(report.inputs.tensors, *inputFiles))
    return error;
  if (llvm::Error error =
          runTarget(program, kernel, flags, *plan.target, report))
    return error;
  return writeTensors(report.results, report.resultFiles);
}

ExitCode nsacc::runKernel(const RunFlags &flags,
                          llvm::ArrayRef<std::string> commandLine) {
  llvm::Expected<RunPlan> plan = makePlan(flags);
  if (!plan)
    return reportError(plan.takeError(), ExitCode::Usage);
  Instruments instruments(flags.instruments);
  ExitCode status;
  auto program = Program::load(flags.program, commandLine, instruments, status);
  if (!program)
    return status;
  status = program->runPhases(Phase::NSA);
  if (status != ExitCode::Success)
    return status;
  auto kernel = program->getKernel(flags.program.kernel);
  if (!kernel)
    return reportError(kernel.takeError());

  RunReport report;
  report.file = flags.program.file;
  report.signature = getSignature(*kernel);
  report.target = plan->target->name;
  report.schedule = flags.schedule;
  report.threads = plan->threads;
  if (llvm::Error error = runPlan(*program, *kernel, flags, *plan, report))
    return program->report(std::move(error));
  if (llvm::Error error = program->checkWarnings())
    return reportError(std::move(error));
  if (llvm::Error error = instruments.finish())
    return reportError(std::move(error));
  (flags.json ? printJSON : printText)(report, llvm::outs());
  return report.hasFailed() ? ExitCode::UserError : ExitCode::Success;
}
