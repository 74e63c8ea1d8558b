//===- nsacc-tile-run.cpp - Compiles and times tile programs --------------===//

#include "NSA/IR/NSADialect.h"
#include "NSATile/IR/NSATileDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Runtime/RandomInputs.h"
#include "nsacc/Target/CPU/CPU.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <ctime>

using namespace llvm;
using namespace nsacc;

namespace {

struct Settings {
  std::string inputFile;
  std::vector<std::string> shapes;
  unsigned repeats = 1;
  double flops = 0;
  bool phases = false, timing = false, sums = false;
  cpu::Options options;
  cpu::RunOptions runOptions;
};

} // namespace

static Expected<Tensor> makeTensor(const cpu::Argument &argument,
                                   StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, 'x', -1, /*KeepEmpty=*/false);
  SmallVector<int64_t> shape;
  for (StringRef part : parts)
    if (part.getAsInteger(10, shape.emplace_back()))
      return createStringError("expected a shape like 1x64x2x32, found '" +
                               text + "'");
  Tensor tensor = Tensor::zeros(argument.dtype, shape);
  if (argument.isWritten)
    return tensor;
  RandomStream random(/*seed=*/0, argument.name);
  if (!isReal(argument.dtype))
    return tensor;
  std::vector<double> values(tensor.getNumElements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = random.drawNormal(i);
  tensor.setReals(values);
  return tensor;
}

static Expected<std::vector<Tensor>>
makeTensors(ArrayRef<cpu::Argument> arguments, ArrayRef<std::string> shapes) {
  if (shapes.size() != arguments.size())
    return createStringError("expected " + Twine(arguments.size()) +
                             " shapes, found " + Twine(shapes.size()));
  std::vector<Tensor> tensors;
  for (auto [argument, shape] : zip_equal(arguments, shapes)) {
    Expected<Tensor> tensor = makeTensor(argument, shape);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(*tensor);
  }
  return tensors;
}

static void printSums(ArrayRef<cpu::Argument> arguments,
                      ArrayRef<Tensor> tensors) {
  for (auto [argument, tensor] : zip_equal(arguments, tensors)) {
    double sum = 0;
    for (double value : tensor.toReals())
      sum += value;
    outs() << argument.name << format(": sum %.9g\n", sum);
  }
}

static double getSeconds() {
  timespec now;
  // Of all threads of this process: other processes share the cores.
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

static Error run(const Settings &settings) {
  mlir::DialectRegistry registry;
  registry.insert<nsa::NSADialect, nsatile::NSATileDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module =
      mlir::parseSourceFile<mlir::ModuleOp>(settings.inputFile, &context);
  if (!module)
    return createStringError("the module couldn't be read");

  mlir::DefaultTimingManager manager;
  manager.setEnabled(settings.phases);
  mlir::TimingScope scope = manager.getRootScope();
  cpu::Options options = settings.options;
  options.timing = &scope;
  double start = getSeconds();
  auto executable = cpu::compile(*module, options);
  if (!executable)
    return executable.takeError();
  outs() << format("compile %.0f ms\n", (getSeconds() - start) * 1e3);
  scope.stop();

  auto tensors = makeTensors((*executable)->getArguments(), settings.shapes);
  if (!tensors)
    return tensors.takeError();
  double best = 0;
  cpu::Usage usage;
  for (unsigned i = 0; i < settings.repeats; ++i) {
    cpu::Usage current;
    start = getSeconds();
    if (Error error =
            (*executable)->run(*tensors, settings.runOptions, &current))
      return error;
    double seconds = getSeconds() - start;
    if (i > 0 && seconds >= best)
      continue;
    best = seconds;
    usage = std::move(current);
  }
  outs() << format("run %.3f ms of processor time, %lld programs", best * 1e3,
                   static_cast<long long>(usage.programs));
  outs() << ", workspace " << usage.peakWorkspaceBytes << " bytes, stack "
         << (*executable)->getScratchBytes() << " bytes\n";
  if (settings.timing)
    for (const cpu::LaunchTime &time : usage.times)
      outs() << time.program << format(": %.3f ms\n", time.seconds * 1e3);
  if (settings.flops > 0)
    outs() << format("%.1f GFLOP/s\n", settings.flops / best * 1e-9);
  if (settings.sums)
    printSums((*executable)->getArguments(), *tensors);
  return Error::success();
}

int main(int argc, char **argv) {
  Settings settings;
  settings.runOptions.threads = 1;
  CLI::App app("Compiles a plan of tile programs, runs it on random inputs and "
               "times it");
  app.add_option("module", settings.inputFile, "module of tile programs")
      ->required();
  app.add_option("shapes", settings.shapes,
                 "shape of each of the plan's arguments, like 1x64x2x32");
  app.add_option("--repeat", settings.repeats, "timed runs")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", settings.runOptions.threads,
                 "threads; 0: all cores");
  app.add_option("--flops", settings.flops,
                 "useful operations of a run, to print GFLOP/s");
  app.add_option("--cpu", settings.options.cpu, "processor to compile for");
  app.add_option("--features", settings.options.features,
                 "its features, like +avx2,-avx512f");
  app.add_flag("--phases", settings.phases, "print the time of each phase");
  app.add_flag("--timing", settings.timing,
               "print the processor time of each launch in the fastest run");
  app.add_flag("--sums", settings.sums, "print the sum of each argument");
  CLI11_PARSE(app, argc, argv);
  if (Error error = run(settings)) {
    logAllUnhandledErrors(std::move(error), errs(), "nsacc-tile-run: ");
    return 1;
  }
  return 0;
}
