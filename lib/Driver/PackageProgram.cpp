//===- PackageProgram.cpp - Kernels of packages ---------------------------===//

#include "LoadedPackage.h"
#include "PackageVariants.h"
#include "Targets.h"
#include "TileCompiler.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Driver/PackageSignature.h"
#include "nsacc/Target/CPU/CPU.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;

namespace {

class PackageProgram : public CompiledProgram {
public:
  PackageProgram(llvm::StringRef bytes, const rt::Package &package,
                 Signature signature)
      : architectures(rt::listArchitectures(package)),
        hasGPU(hasGPUCode(package)) {
    if (hasGPU)
      this->bytes = bytes.str();
    signatures.push_back(std::move(signature));
  }

  /// Fails if no code of the package runs on this processor.
  llvm::Error loadOnHost(rt::Package package) {
    return cpu::load(std::move(package)).moveInto(executable);
  }

  static bool hasGPUCode(const rt::Package &package) {
    return llvm::any_of(package.variants, [](const rt::Variant &variant) {
      return !llvm::all_of(variant.targets, rt::isForHost);
    });
  }

  Target getTarget() const override {
    return hasGPU ? Target::GPU : Target::CPU;
  }
  std::string getTargetName() const override { return architectures; }

  llvm::Error check(const DeviceStream &where) const override {
    llvm::Error first = llvm::Error::success();
    modules.forEach([&](LoadedPackage &loaded) {
      if (!first && nsacc_rt_module_device(loaded.get()) == where.device)
        first = toError(nsacc_rt_check(loaded.get(), where.stream));
    });
    return first;
  }

protected:
  llvm::Error prepareChecked(size_t, const DimSizes &,
                             RunStatistics &statistics) const override {
    return executable ? llvm::Error::success()
                      : getModule(0, statistics).takeError();
  }

  llvm::Error runChecked(size_t, const DimSizes &,
                         llvm::ArrayRef<Tensor> inputs,
                         llvm::ArrayRef<Tensor> results,
                         const RunOptions &options,
                         RunStatistics &statistics) const override;

  llvm::Expected<schedule::Settings>
  fitScheduleOf(size_t, const llvm::StringMap<int64_t> &) const override {
    return rejectSource("schedule");
  }
  llvm::Expected<std::string>
  printTilesOf(size_t, const llvm::StringMap<int64_t> &) const override {
    return rejectSource("IR");
  }
  llvm::Expected<std::string>
  printScheduleOf(size_t, const llvm::StringMap<int64_t> &) const override {
    return rejectSource("schedule");
  }

private:
  static llvm::Error rejectSource(llvm::StringRef what) {
    return llvm::createStringError("a package has no " + what +
                                   ": it is of the program that it was "
                                   "compiled from");
  }

  llvm::Expected<nsacc_rt_module *> getModule(int device,
                                              RunStatistics &statistics) const {
    auto load = [&] {
      auto start = std::chrono::steady_clock::now();
      auto loaded = LoadedPackage::load(bytes, device);
      statistics.compileSeconds = getSecondsSince(start);
      return loaded;
    };
    auto loaded = modules.get(std::to_string(device), load);
    if (!loaded)
      return loaded.takeError();
    return loaded->get();
  }

  /// The package's bytes; a call loads the GPU's code from them. Empty if there
  /// is none.
  std::string bytes;
  std::string architectures;
  bool hasGPU;
  /// Null if this processor runs none of the package's code.
  std::unique_ptr<cpu::Executable> executable;
  mutable CodeCache<LoadedPackage> modules;
};

} // namespace

llvm::Error PackageProgram::runChecked(size_t, const DimSizes &,
                                       llvm::ArrayRef<Tensor> inputs,
                                       llvm::ArrayRef<Tensor> results,
                                       const RunOptions &options,
                                       RunStatistics &statistics) const {
  if (llvm::Error error = refuseOracleOptions(options, "a package"))
    return error;
  if (llvm::all_of(results, hasNoElements))
    return llvm::Error::success();
  if (!options.device && executable)
    return runExecutable(*executable, inputs, results, options, statistics);
  auto module =
      getModule(options.device ? options.device->device : 0, statistics);
  if (!module && !options.device)
    return llvm::createStringError("the package has code for " + architectures +
                                   " alone, none for this processor: " +
                                   llvm::toString(module.takeError()));
  if (!module)
    return module.takeError();
  return runModule(*module, inputs, results, options, statistics);
}

llvm::Expected<std::unique_ptr<CompiledProgram>>
CompiledProgram::load(llvm::StringRef bytes) {
  auto package = readPackage(bytes, rt::CodeFor::Host);
  if (!package)
    return package.takeError();
  auto signature = readSignature(*package);
  if (!signature)
    return signature.takeError();
  if (rt::isForThisProcessor(*package))
    return llvm::createStringError(
        "the package is for the processor that compiled it alone");
  auto program =
      std::make_unique<PackageProgram>(bytes, *package, std::move(*signature));
  bool hasGPU = PackageProgram::hasGPUCode(*package);
  if (llvm::Error error = program->loadOnHost(std::move(*package))) {
    if (!hasGPU)
      return std::move(error);
    llvm::consumeError(std::move(error));
  }
  return program;
}
