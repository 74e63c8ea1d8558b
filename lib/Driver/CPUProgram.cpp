//===- CPUProgram.cpp - Kernels as machine code of this processor ---------===//

#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"
#include "Targets.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Target/CPU/CPU.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <mutex>

using namespace nsacc;

static double getSecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

namespace {

/// Code for one choice of sizes. Whoever needs it first compiles it while the
/// others wait.
struct Specialization {
  std::mutex mutex;
  std::unique_ptr<cpu::Executable> executable;
};

class CPUProgram : public CompiledProgram {
public:
  CPUProgram(mlir::ModuleOp module, ModuleImage image,
             std::vector<Signature> signatures, const CompileOptions &options)
      : image(std::move(image)), options(options) {
    this->signatures = std::move(signatures);
    for (auto kernel : module.getOps<nsa::KernelOp>()) {
      auto &names = dims.emplace_back();
      for (llvm::StringRef name : nsa::getSpecializedDims(kernel))
        names.push_back(name.str());
    }
  }

  Target getTarget() const override { return Target::CPU; }

protected:
  llvm::Error prepareChecked(size_t kernel, const DimSizes &sizes,
                             RunStatistics &statistics) const override {
    return getExecutable(kernel, sizes, statistics).takeError();
  }

  llvm::Expected<std::string>
  printTilesOf(size_t kernel,
               const llvm::StringMap<int64_t> &sizes) const override;

  llvm::Error runChecked(size_t kernel, const DimSizes &sizes,
                         llvm::ArrayRef<Tensor> inputs,
                         llvm::ArrayRef<Tensor> results,
                         const RunOptions &options,
                         RunStatistics &statistics) const override;

private:
  llvm::Expected<const cpu::Executable &>
  getExecutable(size_t kernel, const DimSizes &sizes,
                RunStatistics &statistics) const;
  Specialization &getSpecialization(size_t kernel, llvm::StringRef sizes) const;
  llvm::Expected<std::vector<std::string>>
  getSpecializedSizes(size_t kernel, const DimSizes &sizes) const;
  llvm::Expected<std::unique_ptr<cpu::Executable>>
  compile(size_t kernel, std::vector<std::string> sizes) const;
  llvm::Error lowerToTiles(mlir::ModuleOp module,
                           std::vector<std::string> sizes,
                           mlir::TimingScope &timing) const;

  ModuleImage image;
  CompileOptions options;
  /// For each kernel, the dimensions that code is made for.
  std::vector<std::vector<std::string>> dims;
  mutable std::mutex mutex;
  mutable llvm::StringMap<std::unique_ptr<Specialization>> specializations;
};

} // namespace

//===-- Compiling ---------------------------------------------------------===//

llvm::Expected<std::vector<std::string>>
CPUProgram::getSpecializedSizes(size_t kernel, const DimSizes &sizes) const {
  std::vector<std::string> settings;
  for (const std::string &name : dims[kernel]) {
    auto found = sizes.sizes.find(name);
    // A name that results alone have; its use is what gets the message.
    if (found == sizes.sizes.end())
      continue;
    if (found->second < 1)
      return llvm::createStringError(
          "kernel '" + signatures[kernel].kernel + "' isn't compiled for " +
          name + " = " + llvm::Twine(found->second) +
          ": use target 'oracle', which takes every size");
    settings.push_back(name + "=" + std::to_string(found->second));
  }
  return settings;
}

Specialization &CPUProgram::getSpecialization(size_t kernel,
                                              llvm::StringRef sizes) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto &entry = specializations[(llvm::Twine(kernel) + ":" + sizes).str()];
  if (!entry)
    entry = std::make_unique<Specialization>();
  return *entry;
}

llvm::Expected<const cpu::Executable &>
CPUProgram::getExecutable(size_t kernel, const DimSizes &sizes,
                          RunStatistics &statistics) const {
  auto settings = getSpecializedSizes(kernel, sizes);
  if (!settings)
    return settings.takeError();
  Specialization &entry = getSpecialization(kernel, llvm::join(*settings, ","));
  std::lock_guard<std::mutex> lock(entry.mutex);
  if (!entry.executable) {
    auto start = std::chrono::steady_clock::now();
    auto compiled = compile(kernel, std::move(*settings));
    if (!compiled)
      return compiled.takeError();
    entry.executable = std::move(*compiled);
    statistics.compileSeconds = getSecondsSince(start);
  }
  return *entry.executable;
}

/// The diagnostics of a failed compilation, each error with a way out. `error`
/// says it again in short, or alone.
static llvm::Error explain(frontend::DiagnosticCollector &collector,
                           llvm::Error error) {
  using frontend::DiagnosticData;
  std::vector<DiagnosticData> diagnostics = collector.take();
  bool hasError = false;
  for (DiagnosticData &diagnostic : diagnostics) {
    if (diagnostic.severity != DiagnosticData::Severity::Error)
      continue;
    hasError = true;
    DiagnosticData note;
    note.severity = DiagnosticData::Severity::Note;
    note.message = "target 'oracle' runs every program, slowly";
    diagnostic.notes.push_back(note);
  }
  if (!hasError)
    return error;
  llvm::consumeError(std::move(error));
  return llvm::make_error<CompileError>(std::move(diagnostics));
}

llvm::Error CPUProgram::lowerToTiles(mlir::ModuleOp module,
                                     std::vector<std::string> sizes,
                                     mlir::TimingScope &timing) const {
  mlir::TimingScope scope = timing.nest("phase tile");
  auto prepare = [&](mlir::PassManager &manager, mlir::ModuleOp module,
                     Phase phase) {
    manager.enableTiming(scope);
    if (options.preparePasses)
      options.preparePasses(manager, module, getName(phase));
  };
  PhaseOptions phaseOptions = {std::move(sizes), options.schedule};
  if (mlir::failed(runPhase(module, Phase::Tile, phaseOptions, prepare)))
    return llvm::createStringError("the tile phase failed");
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<cpu::Executable>>
CPUProgram::compile(size_t kernel, std::vector<std::string> sizes) const {
  mlir::TimingScope none;
  mlir::TimingScope &timing = options.timing ? *options.timing : none;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  frontend::DiagnosticCollector collector(context);
  auto module = image.read(context, signatures[kernel].kernel);
  if (!module)
    return llvm::createStringError("the module can't be read back");
  if (llvm::Error error = lowerToTiles(*module, std::move(sizes), timing))
    return explain(collector, std::move(error));

  mlir::TimingScope scope = timing.nest("target cpu");
  cpu::Options target;
  target.cpu = options.cpu;
  target.features = options.features;
  target.timing = &scope;
  if (options.preparePasses)
    target.preparePasses = [&](mlir::PassManager &manager,
                               mlir::ModuleOp module) {
      options.preparePasses(manager, module, "cpu");
    };
  auto executable = cpu::compile(*module, target);
  if (!executable)
    return explain(collector, executable.takeError());
  return executable;
}

llvm::Expected<std::string>
CPUProgram::printTilesOf(size_t kernel,
                         const llvm::StringMap<int64_t> &sizes) const {
  std::vector<std::string> settings, missing;
  for (const std::string &name : dims[kernel]) {
    auto found = sizes.find(name);
    if (found == sizes.end())
      missing.push_back("'" + name + "'");
    else
      settings.push_back(name + "=" + std::to_string(found->second));
  }
  if (!missing.empty())
    return llvm::createStringError(
        "phase 'tile' depends on sizes of heads and channels: expected those "
        "of " +
        llvm::join(missing, ", "));
  mlir::TimingScope timing;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  frontend::DiagnosticCollector collector(context);
  auto module = image.read(context, signatures[kernel].kernel);
  if (!module)
    return llvm::createStringError("the module can't be read back");
  if (llvm::Error error = lowerToTiles(*module, std::move(settings), timing))
    return explain(collector, std::move(error));
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

//===-- Running -----------------------------------------------------------===//

static bool hasNoElements(const Tensor &tensor) {
  return tensor.getNumElements() == 0;
}

llvm::Error CPUProgram::runChecked(size_t kernel, const DimSizes &sizes,
                                   llvm::ArrayRef<Tensor> inputs,
                                   llvm::ArrayRef<Tensor> results,
                                   const RunOptions &options,
                                   RunStatistics &statistics) const {
  if (options.keepF64 || options.roundStorage)
    return llvm::createStringError(
        "target 'cpu' has no results in f64 and no choice of rounding: both "
        "are of target 'oracle'");
  if (llvm::all_of(results, hasNoElements))
    return llvm::Error::success();
  auto executable = getExecutable(kernel, sizes, statistics);
  if (!executable)
    return executable.takeError();
  std::vector<Tensor> tensors(inputs);
  llvm::append_range(tensors, results);
  cpu::RunOptions own;
  own.threads = options.threads;
  bool isInterrupted = false;
  if (options.isInterrupted)
    own.isInterrupted = [&] {
      return isInterrupted = isInterrupted || options.isInterrupted();
    };
  cpu::Usage usage;
  auto start = std::chrono::steady_clock::now();
  if (llvm::Error error = executable->run(tensors, own, &usage)) {
    if (!isInterrupted)
      return error;
    llvm::consumeError(std::move(error));
    return llvm::make_error<InterruptedError>();
  }
  statistics.runSeconds = getSecondsSince(start);
  statistics.workspaceBytes = usage.peakWorkspaceBytes;
  statistics.launches = usage.launches;
  statistics.programs = usage.programs;
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<CompiledProgram>>
nsacc::createCPUProgram(mlir::ModuleOp module, ModuleImage image,
                        std::vector<Signature> signatures,
                        const CompileOptions &options) {
  return std::make_unique<CPUProgram>(module, std::move(image),
                                      std::move(signatures), options);
}
