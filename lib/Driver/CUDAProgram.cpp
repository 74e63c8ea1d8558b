//===- CUDAProgram.cpp - Kernels as code of a GPU -------------------------===//

#include "LoadedPackage.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/NSATileOps.h"
#include "NSATile/Transforms/Passes.h"
#include "PackageVariants.h"
#include "StoredCode.h"
#include "Targets.h"
#include "TileCompiler.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/Target/CUDA/Ptxas.h"
#include "nsacc/Tensor/SignatureText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;

namespace {

/// The purpose of code.
enum class Purpose {
  Runs,      ///< also kept in the cache
  OneImage,  ///< without a plan
  Measuring, ///< with exactly the given tiles, or fails
  Explaining ///< as for runs, but not kept
};

/// Kernels that are being compiled for a specialization.
struct PendingCode {
  PendingCode(Specialization code, Purpose purpose, cuda::Options target)
      : code(std::move(code)), purpose(purpose), target(std::move(target)) {}

  Specialization code;
  Purpose purpose;
  mlir::TimingScope timing;
  cuda::Options target;
  cuda::AssemblerReport report;
  /// Warnings of `report`, once the code is there.
  std::vector<std::string> losses;
  /// "file:3:7: " for the statement of each kernel.
  llvm::StringMap<std::string> names;
  /// Names of each kernel's ops; `report` has the bytes.
  llvm::StringMap<schedule::Spill> computed;

  /// The kernels that lack registers, once the code is there.
  std::vector<schedule::Spill> getSpills() const;
  int64_t getSpilledBytes() const;
  std::unique_ptr<cuda::Compilation> compilation;
  /// The schedule that had room; Purpose::Measuring: empty.
  schedule::Settings fitting;
};

class CUDAProgram : public CompiledProgram {
public:
  CUDAProgram(mlir::ModuleOp module, ModuleImage image,
              std::vector<Signature> signatures, const CompileOptions &options,
              CompilationStarter starter)
      : compiler(
            module, std::move(image), options,
            [](mlir::ModuleOp module, const Specialization &code) {
              return cuda::checkRoom(module, cuda::Options(*code.device));
            },
            [this](const Specialization &code) {
              return describeTarget(code) + "driver: " + getDriver() + "\n";
            },
            [this](size_t kernel, const Specialization &code) {
              return settle(kernel, code);
            }),
        options(options), starter(std::move(starter)), stored(options) {
    this->signatures = std::move(signatures);
  }

  Target getTarget() const override { return Target::GPU; }
  /// Code for a named device runs on the first GPU of this machine, if that GPU
  /// can run it.
  std::optional<int> getDevice() const override {
    int count = 0;
    bool hasFirst = nsacc_rt_device_count(&count) == NSACC_RT_OK && count > 0;
    return options.ordinal ? options.ordinal
           : hasFirst      ? std::optional(0)
                           : std::nullopt;
  }
  std::string getTargetName() const override {
    return options.ordinal ? "cuda" : options.device->name;
  }
  llvm::Error check(const DeviceStream &where) const override;

protected:
  llvm::Error prepareChecked(size_t kernel, const DimSizes &sizes,
                             RunStatistics &statistics) const override {
    return getModule(kernel, sizes, getOrdinal({}), statistics).takeError();
  }

  llvm::Error runChecked(size_t kernel, const DimSizes &sizes,
                         llvm::ArrayRef<Tensor> inputs,
                         llvm::ArrayRef<Tensor> results,
                         const RunOptions &options,
                         RunStatistics &statistics) const override;

  llvm::Expected<schedule::Settings>
  fitScheduleOf(size_t kernel,
                const llvm::StringMap<int64_t> &sizes) const override {
    return compiler.fit(kernel, signatures[kernel], sizes, options.device);
  }

  llvm::Expected<std::string>
  printTilesOf(size_t kernel,
               const llvm::StringMap<int64_t> &sizes) const override {
    return compiler.print(kernel, signatures[kernel], sizes, options.device);
  }

  llvm::Expected<std::string>
  printScheduleOf(size_t kernel,
                  const llvm::StringMap<int64_t> &sizes) const override {
    return compiler.printSchedule(kernel, signatures[kernel], sizes,
                                  options.device);
  }

  llvm::Expected<std::string>
  packageChecked(size_t kernel, llvm::ArrayRef<DimSizes> sizes) const override;
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
  llvm::Expected<rt::Image> imageChecked(size_t kernel,
                                         const DimSizes &sizes) const override;

private:
  /// The device of this machine for a run with these options.
  int getOrdinal(const RunOptions &run) const {
    return run.device ? run.device->device : options.ordinal.value_or(0);
  }
  llvm::Expected<gpu::Device> getDevice(int ordinal) const;
  llvm::Expected<const std::string &>
  getPackage(size_t kernel, const Specialization &code,
             RunStatistics &statistics) const;
  cuda::Options getTargetOptions(size_t kernel,
                                 const gpu::Device &device) const;
  llvm::Expected<std::unique_ptr<PendingCode>>
  start(size_t kernel, const Specialization &code, CompilerThreads &threads,
        Purpose purpose = Purpose::Runs,
        const TileCompiler::Settled &settled = std::nullopt) const;
  llvm::Expected<rt::Package>
  finish(size_t kernel, std::unique_ptr<PendingCode> &pending) const;
  llvm::Expected<rt::Package> finishCode(size_t kernel,
                                         PendingCode &pending) const;
  void relieve(size_t kernel, std::unique_ptr<PendingCode> &pending,
               rt::Package &package) const;
  TileCompiler::Settled settle(size_t kernel, const Specialization &code) const;
  std::string getKey(size_t kernel, const Specialization &code) const;
  std::string describeTarget(const Specialization &code) const;
  std::string getDriver() const;
  std::string describe(size_t kernel, const Specialization &code) const;
  llvm::Expected<rt::Package> compile(size_t kernel, const Specialization &code,
                                      Purpose purpose = Purpose::Runs) const;
  llvm::Expected<std::vector<TileCompiler::Variant>>
  listVariants(size_t kernel, llvm::ArrayRef<DimSizes> sizes) const;
  llvm::Expected<std::string>
  combine(size_t kernel, llvm::ArrayRef<TileCompiler::Variant> wanted) const;
  llvm::Error compileTogether(size_t kernel,
                              llvm::ArrayRef<TileCompiler::Variant> variants,
                              std::vector<PackageVariant> &done) const;
  llvm::Expected<nsacc_rt_module *> getModule(size_t kernel,
                                              const DimSizes &sizes,
                                              int ordinal,
                                              RunStatistics &statistics) const;

  llvm::Expected<nsacc_rt_module *> findModule(size_t kernel,
                                               const DimSizes &sizes,
                                               int ordinal,
                                               RunStatistics &statistics) const;

  TileCompiler compiler;
  CompileOptions options;
  CompilationStarter starter;
  StoredCode stored;
  mutable CodeCache<TileCompiler::Settled> settled;
  mutable CodeCache<std::string> packages;
  mutable CodeCache<LoadedPackage> modules;
  mutable LastCall<nsacc_rt_module> last;
};

} // namespace

//===-- Compiling ---------------------------------------------------------===//

/// The device that code for one of this machine's devices is made for.
llvm::Expected<gpu::Device> CUDAProgram::getDevice(int ordinal) const {
  // For a named device, loading the package decides whether its code runs here.
  if (!options.ordinal || options.ordinal == ordinal)
    return *options.device;
  return queryDevice(ordinal);
}

llvm::Expected<const std::string &>
CUDAProgram::getPackage(size_t kernel, const Specialization &code,
                        RunStatistics &statistics) const {
  std::string key = std::to_string(kernel) + ":" + code.spell();
  auto make = [&]() -> llvm::Expected<std::unique_ptr<std::string>> {
    auto start = std::chrono::steady_clock::now();
    std::optional<std::string> bytes = stored.find(getKey(kernel, code));
    statistics.isFromCache = bytes.has_value();
    if (bytes) {
      compiler.warnOfUnread(signatures[kernel], code);
    } else {
      auto compiled = compile(kernel, code);
      if (!compiled)
        return compiled.takeError();
      bytes = rt::writePackage(*compiled);
    }
    statistics.compileSeconds = getSecondsSince(start);
    return std::make_unique<std::string>(std::move(*bytes));
  };
  return packages.get(key, make);
}

std::string CUDAProgram::getKey(size_t kernel,
                                const Specialization &code) const {
  return compiler.getKey(signatures[kernel], code) + describeTarget(code);
}

std::string CUDAProgram::describeTarget(const Specialization &code) const {
  return "target: " + code.device->code.architecture.str() +
         "\nptxas: " + cuda::identifyPtxas(options.ptxas) + "\n";
}

/// The version of this machine's driver; "any" for code of a named device,
/// which runs elsewhere.
std::string CUDAProgram::getDriver() const {
  nsacc_rt_device_info info;
  if (!options.ordinal ||
      nsacc_rt_device(*options.ordinal, &info) != NSACC_RT_OK)
    return "any";
  return std::to_string(info.driver_version);
}

/// "kernel 'flash' for HQ=8,H=8 and sm_90a"
std::string CUDAProgram::describe(size_t kernel,
                                  const Specialization &code) const {
  std::string sizes = llvm::join(code.sizes, ",");
  return "kernel '" + signatures[kernel].kernel + "' for " +
         (sizes.empty() ? "" : sizes + " and ") + code.device->name;
}

/// " for sm_90a, HQ=8,H=8 and few queries": names one of several in a package.
static std::string describeSpecialization(const Specialization &code) {
  std::string text = " for " + code.device->name;
  if (!code.sizes.empty())
    text += ", " + llvm::join(code.sizes, ",");
  if (code.queries != Queries::Any)
    text += " and " + describeQueries(code.queries);
  return text;
}

/// "flash.nsa:6:7: the code of 'a' for sm_90a, HQ=8"
static std::string describe(nsatile::ProgramOp program, bool isExact,
                            const std::string &specialization) {
  std::vector<std::string> ops;
  if (auto names =
          program->getAttrOfType<mlir::ArrayAttr>(nsatile::kOpsAttrName))
    for (auto name : names.getAsRange<mlir::StringAttr>())
      ops.push_back(("'" + name.getValue() + "'").str());
  std::string text;
  if (auto place = program.getLoc()->findInstanceOf<mlir::FileLineColLoc>())
    text = llvm::formatv("{0}:{1}:{2}: ", place.getFilename().getValue(),
                         place.getLine(), place.getColumn());
  text += ops.empty() ? "this code" : "the code of " + llvm::join(ops, ", ");
  return text + specialization +
         (isExact ? ", which runs only where a result isn't finite," : "");
}

/// Names of the ops of a module's kernels, and their places for messages.
static void describePrograms(mlir::ModuleOp module, PendingCode &pending) {
  llvm::StringSet<> exact;
  for (auto program : module.getOps<nsatile::ProgramOp>())
    if (auto other = program->getAttrOfType<mlir::FlatSymbolRefAttr>(
            nsatile::kExactProgramAttrName))
      exact.insert(other.getValue());
  pending.names.clear();
  pending.computed.clear();
  for (auto program : module.getOps<nsatile::ProgramOp>()) {
    bool isExact = exact.contains(program.getSymName());
    pending.names[program.getSymName()] =
        describe(program, isExact, describeSpecialization(pending.code));
    schedule::Spill &computed = pending.computed[program.getSymName()];
    computed.isExact = isExact;
    if (auto ops =
            program->getAttrOfType<mlir::ArrayAttr>(nsatile::kOpsAttrName))
      for (auto name : ops.getAsRange<mlir::StringAttr>())
        computed.ops.push_back(name.str());
  }
}

std::vector<schedule::Spill> PendingCode::getSpills() const {
  std::vector<schedule::Spill> spills;
  for (const cuda::KernelReport &kernel : report.kernels)
    if (unsigned bytes = kernel.getSpilledBytes()) {
      spills.push_back(computed.lookup(kernel.kernel));
      spills.back().bytes = bytes;
    }
  return spills;
}

int64_t PendingCode::getSpilledBytes() const {
  int64_t sum = 0;
  for (const schedule::Spill &spill : getSpills())
    sum += spill.bytes;
  return sum;
}

cuda::Options CUDAProgram::getTargetOptions(size_t kernel,
                                            const gpu::Device &device) const {
  cuda::Options target(device);
  target.signature = &signatures[kernel];
  target.ptxas = options.ptxas;
  if (options.preparePasses)
    target.preparePasses = [this, name = device.code.architecture.str()](
                               mlir::PassManager &manager,
                               mlir::ModuleOp module) {
      options.preparePasses(manager, module, name);
    };
  return target;
}

/// Lowers a kernel, and starts to compile its code on the threads.
llvm::Expected<std::unique_ptr<PendingCode>>
CUDAProgram::start(size_t kernel, const Specialization &code,
                   CompilerThreads &threads, Purpose purpose,
                   const TileCompiler::Settled &settled) const {
  if (purpose == Purpose::Runs)
    if (llvm::Error error =
            stored.checkMayCompile(describe(kernel, code), " and its ptxas"))
      return std::move(error);
  // Fatal errors of LLVM jump out of `lower`, so it must own nothing.
  auto pending = std::make_unique<PendingCode>(
      code, purpose, getTargetOptions(kernel, *code.device));
  pending->target.isOneImage = purpose == Purpose::OneImage;
  pending->target.mayLackMachineCode = purpose == Purpose::Explaining;
  pending->target.report = &pending->report;
  pending->target.timing = &pending->timing;
  auto lower = [&](mlir::ModuleOp module,
                   mlir::TimingScope &timing) -> llvm::Error {
    // An earlier attempt had larger tiles, or tried sizes for advice.
    pending->compilation.reset();
    pending->timing = timing.nest("target gpu");
    describePrograms(module, *pending);
    auto started = starter(module, pending->target, threads);
    if (!started)
      return started.takeError();
    pending->compilation = std::move(*started);
    return llvm::Error::success();
  };
  if (purpose == Purpose::Measuring) {
    if (llvm::Error error =
            compiler.compileExactly(signatures[kernel], code, lower))
      return std::move(error);
  } else if (auto fitting =
                 compiler.compile(signatures[kernel], code, lower, settled);
             !fitting) {
    return fitting.takeError();
  } else {
    pending->fitting = std::move(*fitting);
  }
  return pending;
}

llvm::Expected<rt::Package>
CUDAProgram::finishCode(size_t kernel, PendingCode &pending) const {
  auto package = pending.compilation->finish();
  // Its threads may end before it does.
  pending.compilation.reset();
  pending.timing.stop();
  if (!package)
    return compiler.explainLate(package.takeError(), signatures[kernel],
                                pending.code);
  package->signature = writeSignature(signatures[kernel]);
  return package;
}

/// Replaces code that spills registers by code with smaller tiles, as long as
/// each of a few trials spills less.
void CUDAProgram::relieve(size_t kernel, std::unique_ptr<PendingCode> &pending,
                          rt::Package &package) const {
  constexpr int most = 3;
  CompilerThreads threads(options.threads);
  for (int trials = 0; trials < most; ++trials) {
    std::vector<schedule::Spill> spills = pending->getSpills();
    if (spills.empty())
      return;
    auto smaller = compiler.relieve(signatures[kernel], pending->code,
                                    pending->fitting, spills);
    if (!smaller)
      return;
    auto other =
        start(kernel, pending->code, threads, pending->purpose, smaller);
    if (!other)
      return llvm::consumeError(other.takeError());
    auto otherPackage = finishCode(kernel, **other);
    if (!otherPackage)
      return llvm::consumeError(otherPackage.takeError());
    if ((*other)->getSpilledBytes() >= pending->getSpilledBytes())
      return;
    pending = std::move(*other);
    package = std::move(*otherPackage);
  }
}

llvm::Expected<rt::Package>
CUDAProgram::finish(size_t kernel,
                    std::unique_ptr<PendingCode> &pending) const {
  auto package = finishCode(kernel, *pending);
  if (!package)
    return package;
  if (pending->purpose != Purpose::Measuring)
    relieve(kernel, pending, *package);
  pending->losses = pending->report.getLosses(pending->names);
  if (options.warn && pending->purpose < Purpose::Measuring)
    for (const std::string &loss : pending->losses)
      options.warn(loss);
  if (pending->purpose == Purpose::Runs)
    stored.store(getKey(kernel, pending->code), *package, pending->losses);
  return package;
}

/// The final schedule of a kernel's code, for the phases before; none if the
/// kernel can't be compiled, because those phases report better errors.
TileCompiler::Settled CUDAProgram::settle(size_t kernel,
                                          const Specialization &code) const {
  auto make = [&]() -> llvm::Expected<std::unique_ptr<TileCompiler::Settled>> {
    CompilerThreads threads(options.threads);
    auto pending = start(kernel, code, threads, Purpose::Explaining);
    if (!pending)
      return pending.takeError();
    if (auto package = finish(kernel, *pending); !package)
      return package.takeError();
    return std::make_unique<TileCompiler::Settled>(
        std::move((*pending)->fitting));
  };
  auto found = settled.get(std::to_string(kernel) + ":" + code.spell(), make);
  if (found)
    return *found;
  llvm::consumeError(found.takeError());
  return std::nullopt;
}

llvm::Expected<rt::Package> CUDAProgram::compile(size_t kernel,
                                                 const Specialization &code,
                                                 Purpose purpose) const {
  CompilerThreads threads(options.threads);
  auto pending = start(kernel, code, threads, purpose);
  if (!pending)
    return pending.takeError();
  return finish(kernel, *pending);
}

llvm::Expected<rt::Image>
CUDAProgram::imageChecked(size_t kernel, const DimSizes &sizes) const {
  auto code =
      compiler.specialize(kernel, signatures[kernel], sizes, options.device);
  if (!code)
    return code.takeError();
  auto package = compile(kernel, *code, Purpose::OneImage);
  if (!package)
    return package.takeError();
  return std::move(package->images.front());
}

//===-- Packages ----------------------------------------------------------===//

llvm::Expected<CodeFor>
CUDAProgram::compileForChecked(size_t kernel, const DimSizes &sizes,
                               llvm::StringRef schedule) const {
  auto code =
      compiler.specialize(kernel, signatures[kernel], sizes, options.device);
  if (!code)
    return code.takeError();
  code->tuned = schedule.str();
  // Other kernels are compiled at the same time.
  CompilerThreads threads(1);
  auto pending = start(kernel, *code, threads, Purpose::Measuring);
  if (!pending)
    return pending.takeError();
  auto package = finish(kernel, *pending);
  if (!package)
    return package.takeError();
  return CodeFor{rt::writePackage(*package), std::move((*pending)->losses)};
}

llvm::Expected<CodeDetails>
CUDAProgram::compileInDetailChecked(size_t kernel, const DimSizes &sizes,
                                    llvm::StringRef tuned,
                                    bool isModelled) const {
  auto code =
      compiler.specialize(kernel, signatures[kernel], sizes, options.device);
  if (!code)
    return code.takeError();
  code->tuned = tuned.str();
  code->isModelled = isModelled;
  CompilerThreads threads(options.threads);
  auto pending = start(kernel, *code, threads, Purpose::Explaining);
  if (!pending)
    return pending.takeError();
  auto package = finish(kernel, *pending);
  if (!package)
    return package.takeError();
  return CodeDetails{std::move(*package), std::move((*pending)->fitting),
                     std::move((*pending)->losses),
                     std::move((*pending)->report.kernels),
                     std::move((*pending)->report.notAsked)};
}

llvm::Expected<std::string>
CUDAProgram::getTuningKeyChecked(size_t kernel, const DimSizes &sizes) const {
  auto code =
      compiler.specialize(kernel, signatures[kernel], sizes, options.device);
  if (!code)
    return code.takeError();
  return compiler.getTuningKey(signatures[kernel], *code, sizes);
}

llvm::Error CUDAProgram::withKernelChecked(size_t kernel, const DimSizes &sizes,
                                           KernelUser use) const {
  auto code =
      compiler.specialize(kernel, signatures[kernel], sizes, options.device);
  if (!code)
    return code.takeError();
  return compiler.withKernel(signatures[kernel], *code, use);
}

/// The code for calls with all of these sizes, without duplicates.
llvm::Expected<std::vector<TileCompiler::Variant>>
CUDAProgram::listVariants(size_t kernel, llvm::ArrayRef<DimSizes> sizes) const {
  std::vector<TileCompiler::Variant> variants;
  std::vector<std::vector<std::string>> known;
  for (const DimSizes &each : sizes) {
    if (llvm::Error error =
            compiler.checkComplete(kernel, each.sizes, "a package"))
      return std::move(error);
    auto found =
        compiler.getVariants(kernel, signatures[kernel], each, options.device);
    if (!found)
      return found.takeError();
    if (llvm::Error error =
            checkIsNew(found->front().code.sizes, known, signatures[kernel]))
      return std::move(error);
    llvm::append_range(variants, *found);
  }
  TileCompiler::relate(variants);
  return variants;
}

/// Lowers one variant while the kernels of others are compiled. Errors of
/// earlier variants are reported first.
llvm::Error
CUDAProgram::compileTogether(size_t kernel,
                             llvm::ArrayRef<TileCompiler::Variant> variants,
                             std::vector<PackageVariant> &done) const {
  CompilerThreads threads(options.threads);
  struct Code {
    std::optional<rt::Package> found;
    std::unique_ptr<PendingCode> pending;
  };
  std::vector<Code> codes;
  llvm::Error problem = llvm::Error::success();
  for (const TileCompiler::Variant &variant : variants) {
    Code code = {stored.findPackage(getKey(kernel, variant.code)), nullptr};
    if (code.found) {
      compiler.warnOfUnread(signatures[kernel], variant.code);
    } else {
      auto started = start(kernel, variant.code, threads);
      if (!started) {
        problem = started.takeError();
        break;
      }
      code.pending = std::move(*started);
    }
    codes.push_back(std::move(code));
  }
  for (auto [code, variant] : llvm::zip(codes, variants)) {
    if (!code.found) {
      auto package = finish(kernel, code.pending);
      if (!package) {
        llvm::consumeError(std::move(problem));
        return package.takeError();
      }
      code.found = std::move(*package);
    }
    done.push_back({std::move(*code.found), variant.conditions});
  }
  return problem;
}

llvm::Expected<std::string>
CUDAProgram::combine(size_t kernel,
                     llvm::ArrayRef<TileCompiler::Variant> wanted) const {
  // Overlapping times would count twice.
  bool isTimed = options.timing && *options.timing;
  size_t together = isTimed ? 1 : wanted.size();
  std::vector<PackageVariant> done;
  for (llvm::ArrayRef<TileCompiler::Variant> left = wanted; !left.empty();
       left = left.drop_front(together))
    if (llvm::Error error =
            compileTogether(kernel, left.take_front(together), done))
      return std::move(error);
  auto package = combineVariants(std::move(done));
  if (!package)
    return package.takeError();
  return rt::writePackage(*package);
}

llvm::Expected<std::string>
CUDAProgram::packageChecked(size_t kernel,
                            llvm::ArrayRef<DimSizes> sizes) const {
  auto wanted = listVariants(kernel, sizes);
  return wanted ? combine(kernel, *wanted) : wanted.takeError();
}

llvm::Expected<std::string>
CUDAProgram::packageByRuleChecked(size_t kernel, const DimSizes &sizes,
                                  const TunedRule &rule) const {
  auto wanted = compiler.getVariants(kernel, signatures[kernel], sizes,
                                     options.device, &rule);
  if (!wanted)
    return wanted.takeError();
  TileCompiler::relate(*wanted);
  return combine(kernel, *wanted);
}

//===-- Loading -----------------------------------------------------------===//

llvm::Expected<nsacc_rt_module *>
CUDAProgram::getModule(size_t kernel, const DimSizes &sizes, int ordinal,
                       RunStatistics &statistics) const {
  if (nsacc_rt_module *module = last.find(kernel, ordinal, sizes))
    return module;
  auto module = findModule(kernel, sizes, ordinal, statistics);
  if (module)
    last.set(kernel, ordinal, sizes, **module);
  return module;
}

llvm::Expected<nsacc_rt_module *>
CUDAProgram::findModule(size_t kernel, const DimSizes &sizes, int ordinal,
                        RunStatistics &statistics) const {
  auto code = compiler.specialize(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  if (!code)
    return code.takeError();
  if (options.tuning.mode != TuneMode::Off) {
    auto device = getDevice(ordinal);
    if (!device)
      return device.takeError();
    TileCompiler::setDevice(*code, std::move(*device));
    compiler.setTuned(*code, signatures[kernel], sizes);
  }
  // The ordinal identifies the device.
  std::string key = std::to_string(ordinal) + ":" + std::to_string(kernel) +
                    ":" + code->spell();
  auto load = [&]() -> llvm::Expected<std::unique_ptr<LoadedPackage>> {
    if (!code->device) {
      auto device = getDevice(ordinal);
      if (!device)
        return device.takeError();
      TileCompiler::setDevice(*code, std::move(*device));
    }
    auto package = getPackage(kernel, *code, statistics);
    if (!package)
      return package.takeError();
    return LoadedPackage::load(*package, ordinal);
  };
  auto loaded = modules.get(key, load);
  if (!loaded)
    return loaded.takeError();
  return loaded->get();
}

//===-- Running -----------------------------------------------------------===//

llvm::Error CUDAProgram::runChecked(size_t kernel, const DimSizes &sizes,
                                    llvm::ArrayRef<Tensor> inputs,
                                    llvm::ArrayRef<Tensor> results,
                                    const RunOptions &options,
                                    RunStatistics &statistics) const {
  if (llvm::Error error =
          refuseOracleOptions(options, "target '" + getTargetName() + "'"))
    return error;
  if (llvm::all_of(results, hasNoElements))
    return llvm::Error::success();
  auto module = getModule(kernel, sizes, getOrdinal(options), statistics);
  if (!module)
    return module.takeError();
  return runModule(*module, inputs, results, options, statistics);
}

llvm::Error CUDAProgram::check(const DeviceStream &where) const {
  llvm::Error first = llvm::Error::success();
  modules.forEach([&](LoadedPackage &loaded) {
    if (first || nsacc_rt_module_device(loaded.get()) != where.device)
      return;
    first = toError(nsacc_rt_check(loaded.get(), where.stream));
  });
  return first;
}

llvm::Expected<std::unique_ptr<CompiledProgram>> nsacc::createCUDAProgram(
    mlir::ModuleOp module, ModuleImage image, std::vector<Signature> signatures,
    const CompileOptions &options, CompilationStarter starter) {
  return std::make_unique<CUDAProgram>(module, std::move(image),
                                       std::move(signatures), options,
                                       std::move(starter));
}
