//===- CPUProgram.cpp - Kernels as machine code of this processor ---------===//

#include "StoredCode.h"
#include "Targets.h"
#include "TileCompiler.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Target/CPU/CPU.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

namespace {

class CPUProgram : public CompiledProgram {
public:
  CPUProgram(mlir::ModuleOp module, ModuleImage image,
             std::vector<Signature> signatures, const CompileOptions &options)
      : compiler(module, std::move(image), options, getRoomCheck(options)),
        options(options), stored(options) {
    this->signatures = std::move(signatures);
  }

  Target getTarget() const override { return Target::CPU; }
  std::string getTargetName() const override { return "cpu"; }

protected:
  llvm::Error prepareChecked(size_t kernel, const DimSizes &sizes,
                             RunStatistics &statistics) const override {
    return getExecutable(kernel, sizes, statistics).takeError();
  }

  llvm::Expected<schedule::Settings>
  fitScheduleOf(size_t kernel,
                const llvm::StringMap<int64_t> &sizes) const override {
    return compiler.fit(kernel, signatures[kernel], sizes,
                        /*device=*/std::nullopt);
  }

  llvm::Expected<std::string>
  printTilesOf(size_t kernel,
               const llvm::StringMap<int64_t> &sizes) const override {
    return compiler.print(kernel, signatures[kernel], sizes,
                          /*device=*/std::nullopt);
  }

  llvm::Expected<std::string>
  printScheduleOf(size_t kernel,
                  const llvm::StringMap<int64_t> &sizes) const override {
    return compiler.printSchedule(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  }

  llvm::Error runChecked(size_t kernel, const DimSizes &sizes,
                         llvm::ArrayRef<Tensor> inputs,
                         llvm::ArrayRef<Tensor> results,
                         const RunOptions &options,
                         RunStatistics &statistics) const override;

private:
  static cpu::Options getTargetOptions(const CompileOptions &options) {
    cpu::Options target;
    target.cpu = options.cpu;
    target.features = options.features;
    target.threads = options.threads;
    return target;
  }
  static TileCompiler::RoomCheck getRoomCheck(const CompileOptions &options) {
    return [target = getTargetOptions(options)](mlir::ModuleOp module,
                                                const Specialization &) {
      return cpu::checkRoom(module, target);
    };
  }

  llvm::Expected<const cpu::Executable &>
  getExecutable(size_t kernel, const DimSizes &sizes,
                RunStatistics &statistics) const;
  llvm::Expected<rt::Package> findOrCompile(size_t kernel,
                                            const Specialization &code,
                                            bool &isFromCache) const;
  llvm::Expected<rt::Package> compile(size_t kernel,
                                      const Specialization &code) const;

  TileCompiler compiler;
  CompileOptions options;
  StoredCode stored;
  mutable CodeCache<cpu::Executable> executables;
};

} // namespace

//===-- Compiling ---------------------------------------------------------===//

llvm::Expected<const cpu::Executable &>
CPUProgram::getExecutable(size_t kernel, const DimSizes &sizes,
                          RunStatistics &statistics) const {
  auto code = compiler.specialize(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  if (!code)
    return code.takeError();
  std::string key = std::to_string(kernel) + ":" + code->spell();
  using Loaded = llvm::Expected<std::unique_ptr<cpu::Executable>>;
  return executables.get(key, [&]() -> Loaded {
    auto start = std::chrono::steady_clock::now();
    auto package = findOrCompile(kernel, *code, statistics.isFromCache);
    Loaded loaded =
        package ? cpu::load(std::move(*package)) : package.takeError();
    statistics.compileSeconds = getSecondsSince(start);
    return loaded;
  });
}

llvm::Expected<rt::Package>
CPUProgram::findOrCompile(size_t kernel, const Specialization &code,
                          bool &isFromCache) const {
  std::string key = compiler.getKey(signatures[kernel], code) + "processor: " +
                    cpu::describeProcessor(getTargetOptions(options)) + "\n";
  auto found = stored.findPackage(key);
  isFromCache = found.has_value();
  if (found)
    return std::move(*found);
  std::string sizes = llvm::join(code.sizes, ",");
  if (llvm::Error error = stored.checkMayCompile(
          "kernel '" + signatures[kernel].kernel + "' for " +
          (sizes.empty() ? "" : sizes + " and ") + "this processor"))
    return std::move(error);
  auto package = compile(kernel, code);
  if (package)
    stored.store(key, rt::writePackage(*package), {});
  return package;
}

llvm::Expected<rt::Package>
CPUProgram::compile(size_t kernel, const Specialization &code) const {
  std::optional<rt::Package> result;
  auto finish = [&](mlir::ModuleOp module,
                    mlir::TimingScope &timing) -> llvm::Error {
    mlir::TimingScope scope = timing.nest("target cpu");
    cpu::Options target = getTargetOptions(options);
    target.signature = &signatures[kernel];
    target.timing = &scope;
    if (options.preparePasses)
      target.preparePasses = [&](mlir::PassManager &manager,
                                 mlir::ModuleOp module) {
        options.preparePasses(manager, module, "cpu");
      };
    return cpu::compileToPackage(module, target).moveInto(result);
  };
  if (auto fitting = compiler.compile(signatures[kernel], code, finish);
      !fitting)
    return fitting.takeError();
  return std::move(*result);
}

//===-- Running -----------------------------------------------------------===//

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
