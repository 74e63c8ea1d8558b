//===- Run.cpp - Running a kernel -----------------------------------------===//

#include "Run.h"
#include "Outputs.h"
#include "Report.h"
#include "nsacc/Signature/Signature.h"
#include "nsacc/Support/Environment.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace nsacc;

namespace {
/// The command line, parsed as far as it can be without the program.
struct RunPlan {
  Target target = Target::Oracle;
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
    auto file = parseSetting(flag, argument);
    if (!file)
      return file.takeError();
    if (llvm::any_of(files,
                     [&](auto &known) { return known.first == file->first; }))
      return makeError(flag + " gives '" + file->first + "' twice");
    files.push_back(std::move(*file));
  }
  return files;
}

static llvm::Expected<unsigned> chooseThreads(unsigned asked) {
  if (asked > 0)
    return asked;
  llvm::Expected<unsigned> threads = lookupThreads();
  if (!threads || *threads > 0)
    return threads;
  return llvm::hardware_concurrency().compute_thread_count();
}

static llvm::Error rejectTarget(llvm::StringRef name) {
  std::vector<std::string> names;
  for (const TargetInfo &info : getTargets())
    names.push_back(info.name.str());
  return makeError(explainMissingTarget(name), "use --target " + names.front() +
                                                   "; this nsacc has " +
                                                   quoteList(names));
}

static llvm::Expected<RunPlan> makePlan(const RunOptions &options) {
  RunPlan plan;
  std::optional<Target> target = parseTarget(options.target);
  if (!target)
    return rejectTarget(options.target);
  plan.target = *target;
  plan.inputs.seed = options.seed;
  auto threads = chooseThreads(options.threads);
  if (!threads)
    return threads.takeError();
  plan.threads = *threads;
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

static llvm::Error runOracle(nsa::KernelOp kernel, const RunOptions &options,
                             RunReport &report) {
  interpreter::Options oracle;
  oracle.threads = report.threads;
  oracle.roundStorage = options.roundStorage;
  auto start = std::chrono::steady_clock::now();
  auto results = interpreter::run(kernel, report.inputs.tensors, oracle);
  if (!results)
    return results.takeError();
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  report.results = std::move(*results);
  if (!options.check)
    return llvm::Error::success();
  auto checks = checkOracle(kernel, report.signature, report.inputs.tensors,
                            report.results, oracle);
  if (!checks)
    return checks.takeError();
  report.checks = std::move(*checks);
  return llvm::Error::success();
}

static llvm::Error runPlan(nsa::KernelOp kernel, const RunOptions &options,
                           const RunPlan &plan, RunReport &report) {
  auto inputs = makeInputs(report.signature, plan.inputs);
  if (!inputs)
    return inputs.takeError();
  report.inputs = std::move(*inputs);
  auto files = planOutputs(report.signature.kernel, report.signature.results,
                           plan.outputs, options.outputDir);
  if (!files)
    return files.takeError();
  report.resultFiles = std::move(*files);
  auto inputFiles =
      planFolder(report.signature.inputs, "--save-inputs", options.inputDir);
  if (!inputFiles)
    return inputFiles.takeError();
  if (llvm::Error error = writeTensors(report.inputs.tensors, *inputFiles))
    return error;
  if (llvm::Error error = runOracle(kernel, options, report))
    return error;
  return writeTensors(report.results, report.resultFiles);
}

ExitCode nsacc::runKernel(const RunOptions &options,
                          llvm::ArrayRef<std::string> commandLine) {
  llvm::Expected<RunPlan> plan = makePlan(options);
  if (!plan)
    return reportError(plan.takeError(), ExitCode::Usage);
  ExitCode status;
  auto program = Program::load(options.program, commandLine, status);
  if (!program)
    return status;
  status = program->runPhases(Phase::NSA);
  if (status != ExitCode::Success)
    return status;
  auto kernel = program->getKernel(options.program.kernel);
  if (!kernel)
    return reportError(kernel.takeError());

  RunReport report;
  report.file = options.program.file;
  report.signature = getSignature(*kernel);
  report.target = plan->target;
  report.threads = plan->threads;
  if (llvm::Error error = runPlan(*kernel, options, *plan, report))
    return reportError(std::move(error));
  (options.json ? printJSON : printText)(report, llvm::outs());
  return report.hasFailed() ? ExitCode::UserError : ExitCode::Success;
}
