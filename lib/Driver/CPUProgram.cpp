//===- CPUProgram.cpp - Kernels as machine code of this processor ---------===//

#include "LoadedPackage.h"
#include "PackageVariants.h"
#include "StoredCode.h"
#include "Targets.h"
#include "TileCompiler.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Target/CPU/CPU.h"
#include "nsacc/Tensor/SignatureText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

namespace {

class CPUProgram : public CompiledProgram {
public:
  CPUProgram(mlir::ModuleOp module, ModuleImage image,
             std::vector<Signature> signatures, const CompileOptions &options)
      : compiler(module, std::move(image), options, getRoomCheck(options),
                 [this](const Specialization &) {
                   return describeTarget(getOwnProcessor(this->options)) +
                          describeThreads(this->options.threads);
                 }),
        options(options), stored(options) {
    this->signatures = std::move(signatures);
  }

  Target getTarget() const override { return Target::CPU; }
  std::optional<int> getDevice() const override { return NSACC_RT_HOST; }
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
  static cpu::Options getOwnProcessor(const CompileOptions &options) {
    cpu::Options target;
    target.cpu = options.cpu;
    target.features = options.features;
    target.threads = options.threads;
    return target;
  }
  static std::string describeTarget(const cpu::Options &target) {
    return std::string("target: ") +
           (cpu::isLevel(target) ? target.cpu : "this processor") +
           "\nprocessor: " + cpu::describeProcessor(target) + "\n";
  }
  /// Fast schedules depend on the number of threads; like lengths, it is
  /// rounded.
  static std::string describeThreads(unsigned threads) {
    if (threads == 0)
      threads = llvm::hardware_concurrency().compute_thread_count();
    return "threads: " + std::to_string(llvm::bit_ceil(threads)) + "\n";
  }
  static TileCompiler::RoomCheck getRoomCheck(const CompileOptions &options) {
    return [target = getOwnProcessor(options)](mlir::ModuleOp module,
                                               const Specialization &) {
      return cpu::checkRoom(module, target);
    };
  }

  llvm::Expected<const cpu::Executable &>
  getExecutable(size_t kernel, const DimSizes &sizes,
                RunStatistics &statistics) const;
  llvm::Expected<std::string>
  packageChecked(size_t kernel, llvm::ArrayRef<DimSizes> sizes) const override;
  llvm::Expected<rt::Package>
  packageFor(size_t kernel, llvm::ArrayRef<TileCompiler::Variant> codes,
             const cpu::Options &target) const;
  llvm::Expected<std::string>
  packageForLevels(size_t kernel,
                   llvm::ArrayRef<TileCompiler::Variant> codes) const;
  llvm::Expected<rt::Package> findOrCompile(size_t kernel,
                                            const Specialization &code,
                                            const cpu::Options &target,
                                            bool &isFromCache) const;
  llvm::Expected<rt::Package> compile(size_t kernel, const Specialization &code,
                                      cpu::Options target, bool isExact = false,
                                      schedule::Settings *fitted = {}) const;
  /// The options of a kernel's compilation, and of its observers.
  cpu::Options watch(cpu::Options target, size_t kernel,
                     mlir::TimingScope &timing) const;
  llvm::Expected<std::string>
  assemblyChecked(size_t kernel, const DimSizes &sizes) const override;
  llvm::Expected<std::string>
  packageByRuleChecked(size_t kernel, const DimSizes &sizes,
                       const TunedRule &rule) const override;
  llvm::Expected<CodeFor>
  compileForChecked(size_t kernel, const DimSizes &sizes,
                    llvm::StringRef schedule) const override;
  llvm::Expected<CodeDetails>
  compileInDetailChecked(size_t kernel, const DimSizes &sizes,
                         llvm::StringRef tuned, bool isModelled) const override;
  llvm::Expected<std::string>
  getTuningKeyChecked(size_t kernel, const DimSizes &sizes) const override;
  llvm::Error withKernelChecked(size_t kernel, const DimSizes &sizes,
                                KernelUser use) const override;

  TileCompiler compiler;
  CompileOptions options;
  StoredCode stored;
  mutable CodeCache<cpu::Executable> executables;
  mutable LastCall<cpu::Executable> last;
};

} // namespace

//===-- Compiling ---------------------------------------------------------===//

llvm::Expected<const cpu::Executable &>
CPUProgram::getExecutable(size_t kernel, const DimSizes &sizes,
                          RunStatistics &statistics) const {
  if (const cpu::Executable *known = last.find(kernel, NSACC_RT_HOST, sizes))
    return *known;
  auto code = compiler.specialize(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  if (!code)
    return code.takeError();
  compiler.setTuned(*code, signatures[kernel], sizes);
  std::string key = std::to_string(kernel) + ":" + code->spell();
  using Loaded = llvm::Expected<std::unique_ptr<cpu::Executable>>;
  auto executable = executables.get(key, [&]() -> Loaded {
    auto start = std::chrono::steady_clock::now();
    auto package = findOrCompile(kernel, *code, getOwnProcessor(options),
                                 statistics.isFromCache);
    Loaded loaded =
        package ? cpu::load(std::move(*package)) : package.takeError();
    statistics.compileSeconds = getSecondsSince(start);
    return loaded;
  });
  if (!executable)
    return executable.takeError();
  last.set(kernel, NSACC_RT_HOST, sizes, *executable);
  return *executable;
}

llvm::Expected<rt::Package>
CPUProgram::findOrCompile(size_t kernel, const Specialization &code,
                          const cpu::Options &target, bool &isFromCache) const {
  std::string key =
      compiler.getKey(signatures[kernel], code) + describeTarget(target);
  auto found = stored.findPackage(key);
  isFromCache = found.has_value();
  if (found) {
    compiler.warnOfUnread(signatures[kernel], code);
    return std::move(*found);
  }
  std::string sizes = llvm::join(code.sizes, ",");
  if (llvm::Error error = stored.checkMayCompile(
          "kernel '" + signatures[kernel].kernel + "' for " +
          (sizes.empty() ? "" : sizes + " and ") + "this processor"))
    return std::move(error);
  auto package = compile(kernel, code, target);
  if (package)
    stored.store(key, *package, {});
  return package;
}

cpu::Options CPUProgram::watch(cpu::Options target, size_t kernel,
                               mlir::TimingScope &timing) const {
  target.signature = &signatures[kernel];
  target.timing = &timing;
  if (options.preparePasses)
    target.preparePasses = [&](mlir::PassManager &manager,
                               mlir::ModuleOp module) {
      options.preparePasses(manager, module, "cpu");
    };
  return target;
}

llvm::Expected<std::string>
CPUProgram::assemblyChecked(size_t kernel, const DimSizes &sizes) const {
  auto code = compiler.specialize(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  if (!code)
    return code.takeError();
  compiler.setTuned(*code, signatures[kernel], sizes);
  std::string text;
  auto finish = [&](mlir::ModuleOp module,
                    mlir::TimingScope &timing) -> llvm::Error {
    mlir::TimingScope scope = timing.nest("target cpu");
    return cpu::compileToAssembly(
               module, watch(getOwnProcessor(options), kernel, scope))
        .moveInto(text);
  };
  if (auto fitting = compiler.compile(signatures[kernel], *code, finish);
      !fitting)
    return fitting.takeError();
  return text;
}

llvm::Expected<rt::Package>
CPUProgram::compile(size_t kernel, const Specialization &code,
                    cpu::Options target, bool isExact,
                    schedule::Settings *fitted) const {
  std::optional<rt::Package> result;
  auto finish = [&](mlir::ModuleOp module,
                    mlir::TimingScope &timing) -> llvm::Error {
    mlir::TimingScope scope = timing.nest("target cpu");
    return cpu::compileToPackage(module, watch(target, kernel, scope))
        .moveInto(result);
  };
  if (isExact) {
    if (llvm::Error error =
            compiler.compileExactly(signatures[kernel], code, finish))
      return std::move(error);
  } else if (auto fitting = compiler.compile(signatures[kernel], code, finish);
             !fitting) {
    return fitting.takeError();
  } else if (fitted) {
    *fitted = std::move(*fitting);
  }
  result->signature = writeSignature(signatures[kernel]);
  return std::move(*result);
}

llvm::Expected<CodeFor>
CPUProgram::compileForChecked(size_t kernel, const DimSizes &sizes,
                              llvm::StringRef schedule) const {
  auto code = compiler.specialize(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  if (!code)
    return code.takeError();
  code->tuned = schedule.str();
  cpu::Options target = getOwnProcessor(options);
  // Other kernels are compiled at the same time.
  target.threads = 1;
  auto package = compile(kernel, *code, target, /*isExact=*/true);
  if (!package)
    return package.takeError();
  return CodeFor{rt::writePackage(*package), {}};
}

llvm::Expected<CodeDetails>
CPUProgram::compileInDetailChecked(size_t kernel, const DimSizes &sizes,
                                   llvm::StringRef tuned,
                                   bool isModelled) const {
  auto code = compiler.specialize(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  if (!code)
    return code.takeError();
  code->tuned = tuned.str();
  code->isModelled = isModelled;
  CodeDetails details;
  auto package = compile(kernel, *code, getOwnProcessor(options),
                         /*isExact=*/false, &details.schedule);
  if (!package)
    return package.takeError();
  details.package = std::move(*package);
  return details;
}

llvm::Expected<std::string>
CPUProgram::getTuningKeyChecked(size_t kernel, const DimSizes &sizes) const {
  auto code = compiler.specialize(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  if (!code)
    return code.takeError();
  return compiler.getTuningKey(signatures[kernel], *code, sizes);
}

llvm::Error CPUProgram::withKernelChecked(size_t kernel, const DimSizes &sizes,
                                          KernelUser use) const {
  auto code = compiler.specialize(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  if (!code)
    return code.takeError();
  return compiler.withKernel(signatures[kernel], *code, use);
}

//===-- Packages ----------------------------------------------------------===//

/// The processors that packages are made for, the best one first: levels of
/// processors, or the requested one.
static llvm::Expected<std::vector<cpu::Options>>
listLevels(const cpu::Options &asked) {
  std::vector<cpu::Options> levels;
  for (llvm::StringRef name : cpu::getPackageLevels()) {
    cpu::Options &level = levels.emplace_back(asked);
    level.cpu = name.str();
  }
  if (asked.cpu.empty() && asked.features.empty())
    return levels;
  if (cpu::isLevel(asked))
    return std::vector<cpu::Options>{asked};
  return llvm::createStringError(
      "packages are for levels of processors, as 'x86-64-v3', found '" +
      asked.cpu + "' with '" + asked.features + "'");
}

llvm::Expected<rt::Package>
CPUProgram::packageFor(size_t kernel,
                       llvm::ArrayRef<TileCompiler::Variant> codes,
                       const cpu::Options &target) const {
  std::vector<PackageVariant> variants;
  for (const auto &[code, conditions] : codes) {
    bool isFromCache;
    auto package = findOrCompile(kernel, code, target, isFromCache);
    if (!package)
      return package.takeError();
    variants.push_back({std::move(*package), conditions});
  }
  return combineVariants(std::move(variants));
}

llvm::Expected<std::string>
CPUProgram::packageChecked(size_t kernel,
                           llvm::ArrayRef<DimSizes> sizes) const {
  std::vector<TileCompiler::Variant> codes;
  std::vector<std::vector<std::string>> known;
  for (const DimSizes &each : sizes) {
    if (llvm::Error error =
            compiler.checkComplete(kernel, each.sizes, "a package"))
      return std::move(error);
    auto found = compiler.getVariants(kernel, signatures[kernel], each,
                                      /*device=*/std::nullopt);
    if (!found)
      return found.takeError();
    if (llvm::Error error =
            checkIsNew(found->front().code.sizes, known, signatures[kernel]))
      return std::move(error);
    llvm::append_range(codes, *found);
  }
  return packageForLevels(kernel, codes);
}

llvm::Expected<std::string>
CPUProgram::packageByRuleChecked(size_t kernel, const DimSizes &sizes,
                                 const TunedRule &rule) const {
  auto codes = compiler.getVariants(kernel, signatures[kernel], sizes,
                                    /*device=*/std::nullopt, &rule);
  return codes ? packageForLevels(kernel, *codes) : codes.takeError();
}

llvm::Expected<std::string> CPUProgram::packageForLevels(
    size_t kernel, llvm::ArrayRef<TileCompiler::Variant> codes) const {
  auto levels = listLevels(getOwnProcessor(options));
  if (!levels)
    return levels.takeError();
  std::vector<rt::Package> packages;
  for (const cpu::Options &level : *levels) {
    auto package = packageFor(kernel, codes, level);
    if (!package)
      return package.takeError();
    packages.push_back(std::move(*package));
  }
  auto package = combineTargets(std::move(packages));
  if (!package)
    return package.takeError();
  return rt::writePackage(*package);
}

//===-- Running -----------------------------------------------------------===//

llvm::Error CPUProgram::runChecked(size_t kernel, const DimSizes &sizes,
                                   llvm::ArrayRef<Tensor> inputs,
                                   llvm::ArrayRef<Tensor> results,
                                   const RunOptions &options,
                                   RunStatistics &statistics) const {
  if (llvm::Error error = refuseOracleOptions(options, "target 'cpu'"))
    return error;
  if (llvm::all_of(results, hasNoElements))
    return llvm::Error::success();
  auto executable = getExecutable(kernel, sizes, statistics);
  if (!executable)
    return executable.takeError();
  return runExecutable(*executable, inputs, results, options, statistics);
}

llvm::Expected<std::unique_ptr<CompiledProgram>>
nsacc::createCPUProgram(mlir::ModuleOp module, ModuleImage image,
                        std::vector<Signature> signatures,
                        const CompileOptions &options) {
  return std::make_unique<CPUProgram>(module, std::move(image),
                                      std::move(signatures), options);
}
