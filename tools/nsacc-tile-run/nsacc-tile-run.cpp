//===- nsacc-tile-run.cpp - Compiles and times tile programs --------------===//

#include "NSA/IR/NSADialect.h"
#include "NSATile/IR/NSATileDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Target/CPU/CPU.h"
#include "nsacc/Tensor/Npy.h"
#include "nsacc/Tensor/RandomInputs.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <cstring>
#include <ctime>
#include <sys/resource.h>

using namespace llvm;
using namespace nsacc;

namespace {

struct Settings {
  std::string inputFile;
  std::vector<std::string> shapes;
  unsigned repeats = 1;
  double flops = 0;
  std::vector<std::string> inputs, outputs;
  bool phases = false, timing = false, sums = false, memory = false;
  cpu::Options options;
  cpu::RunOptions runOptions;
};

} // namespace

static Expected<Tensor> makeTensor(const rt::Parameter &argument,
                                   StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, 'x', -1, /*KeepEmpty=*/false);
  SmallVector<int64_t> shape;
  for (StringRef part : parts)
    if (part.getAsInteger(10, shape.emplace_back()))
      return createStringError("expected a shape like 1x64x2x32, found '" +
                               text + "'");
  Tensor tensor = Tensor::zeros(argument.dtype, shape);
  if (argument.isResult)
    return tensor;
  RandomStream random(/*seed=*/0, argument.name);
  if (!isReal(argument.dtype))
    return tensor;
  // Copied piece by piece, since the memory of a run is measured, too.
  constexpr int64_t piece = 1 << 16;
  int64_t bytes = getSize(argument.dtype);
  for (int64_t first = 0; first < tensor.getNumElements(); first += piece) {
    int64_t count = std::min(piece, tensor.getNumElements() - first);
    std::vector<double> values(count);
    for (int64_t i = 0; i < count; ++i)
      values[i] = random.drawNormal(first + i);
    Tensor part = Tensor::zeros(argument.dtype, {count});
    part.setReals(values);
    std::memcpy(static_cast<char *>(tensor.getData()) + first * bytes,
                part.getData(), count * bytes);
  }
  return tensor;
}

/// The file that "NAME=FILE" in `pairs` gives for a name; empty if there is
/// none.
static StringRef findFile(ArrayRef<std::string> pairs, StringRef name) {
  for (StringRef pair : pairs)
    if (auto [key, file] = pair.split('='); key == name)
      return file;
  return {};
}

static Error checkFiles(ArrayRef<rt::Parameter> arguments,
                        ArrayRef<std::string> pairs) {
  for (StringRef pair : pairs) {
    auto [name, file] = pair.split('=');
    if (file.empty())
      return createStringError("expected NAME=FILE.npy, found '" + pair + "'");
    if (none_of(arguments, [&, name = name](const rt::Parameter &argument) {
          return argument.name == name;
        }))
      return createStringError("the plan has no argument '" + name + "'");
  }
  return Error::success();
}

static Expected<std::vector<Tensor>>
makeTensors(ArrayRef<rt::Parameter> arguments, const Settings &settings) {
  ArrayRef<std::string> shapes = settings.shapes;
  if (Error error = checkFiles(arguments, settings.inputs))
    return error;
  if (Error error = checkFiles(arguments, settings.outputs))
    return error;
  if (shapes.size() != arguments.size())
    return createStringError("expected " + Twine(arguments.size()) +
                             " shapes, found " + Twine(shapes.size()));
  std::vector<Tensor> tensors;
  for (auto [argument, shape] : zip_equal(arguments, shapes)) {
    StringRef file = findFile(settings.inputs, argument.name);
    Expected<Tensor> tensor =
        file.empty() ? makeTensor(argument, shape) : readNpy(file);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(*tensor);
  }
  return tensors;
}

static void printSums(ArrayRef<rt::Parameter> arguments,
                      ArrayRef<Tensor> tensors) {
  for (auto [argument, tensor] : zip_equal(arguments, tensors)) {
    double sum = 0;
    for (double value : tensor.toReals())
      sum += value;
    outs() << argument.name << format(": sum %.9g\n", sum);
  }
}

/// Prints the process's peak memory, with compiler and code.
static void printMemory(ArrayRef<Tensor> tensors) {
  int64_t bytes = 0;
  for (const Tensor &tensor : tensors)
    bytes += tensor.getNumElements() * getSize(tensor.getDType());
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  int64_t peak = static_cast<int64_t>(usage.ru_maxrss) << 10;
  outs() << format("memory %.1f MiB beyond %.1f MiB of inputs and results\n",
                   (peak - bytes) / 1048576.0, bytes / 1048576.0);
}

static double getSeconds() {
  timespec now;
  // Counts all threads of this process: other processes share the cores.
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

  auto tensors = makeTensors((*executable)->getParameters(), settings);
  if (!tensors)
    return tensors.takeError();
  double best = 0;
  std::vector<double> all;
  cpu::Usage usage;
  std::vector<rt::LaunchTime> times;
  for (unsigned i = 0; i < settings.repeats; ++i) {
    cpu::Usage current;
    std::vector<rt::LaunchTime> currentTimes;
    current.times = &currentTimes;
    start = getSeconds();
    if (Error error =
            (*executable)->run(*tensors, settings.runOptions, &current))
      return error;
    double seconds = getSeconds() - start;
    all.push_back(seconds);
    if (i > 0 && seconds >= best)
      continue;
    best = seconds;
    usage = current;
    times = std::move(currentTimes);
  }
  outs() << format("run %.3f ms of processor time, %lld programs", best * 1e3,
                   static_cast<long long>(usage.programs));
  outs() << ", workspace " << usage.peakWorkspaceBytes << " bytes, stack "
         << (*executable)->getScratchBytes() << " bytes\n";
  if (settings.timing) {
    for (const rt::LaunchTime &time : times)
      outs() << time.kernel << format(": %.3f ms\n", time.seconds * 1e3);
    outs() << "all runs:";
    for (double seconds : all)
      outs() << format(" %.3f", seconds * 1e3);
    outs() << " ms\n";
  }
  if (settings.memory)
    printMemory(*tensors);
  if (settings.flops > 0)
    outs() << format("%.1f GFLOP/s\n", settings.flops / best * 1e-9);
  if (settings.sums)
    printSums((*executable)->getParameters(), *tensors);
  for (auto [argument, tensor] :
       zip_equal((*executable)->getParameters(), *tensors))
    if (StringRef file = findFile(settings.outputs, argument.name);
        !file.empty())
      if (Error error = writeNpy(file, tensor))
        return error;
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
               "print the processor time of each launch in the fastest run, "
               "and of all runs");
  app.add_flag("--memory", settings.memory,
               "print the most memory that the process took");
  app.add_option("--input", settings.inputs,
                 "NAME=FILE.npy: an argument that isn't random");
  app.add_option("--output", settings.outputs,
                 "NAME=FILE.npy: where to write an argument after the run");
  app.add_flag("--sums", settings.sums, "print the sum of each argument");
  CLI11_PARSE(app, argc, argv);
  if (Error error = run(settings)) {
    logAllUnhandledErrors(std::move(error), errs(), "nsacc-tile-run: ");
    return 1;
  }
  return 0;
}
