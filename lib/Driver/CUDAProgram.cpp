//===- CUDAProgram.cpp - Kernels as code of a GPU -------------------------===//

#include "DeviceTensors.h"
#include "NSATile/IR/NSATileOps.h"
#include "Targets.h"
#include "TileCompiler.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Driver/Devices.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;

namespace {

/// A package's module on one device.
class LoadedPackage {
public:
  static llvm::Expected<std::unique_ptr<LoadedPackage>>
  load(llvm::StringRef bytes, int device) {
    auto loaded = std::make_unique<LoadedPackage>();
    if (llvm::Error error = toError(
            nsacc_rt_load(bytes.data(), bytes.size(), device, &loaded->module)))
      return std::move(error);
    return loaded;
  }

  LoadedPackage() = default;
  ~LoadedPackage() { nsacc_rt_unload(module); }
  LoadedPackage(const LoadedPackage &) = delete;
  LoadedPackage &operator=(const LoadedPackage &) = delete;
  nsacc_rt_module *get() const { return module; }

private:
  nsacc_rt_module *module = nullptr;
};

class CUDAProgram : public CompiledProgram {
public:
  CUDAProgram(mlir::ModuleOp module, ModuleImage image,
              std::vector<Signature> signatures, const CompileOptions &options,
              PackageCompiler compilePackage)
      : compiler(module, std::move(image), options), options(options),
        compilePackage(std::move(compilePackage)) {
    this->signatures = std::move(signatures);
  }

  Target getTarget() const override { return Target::GPU; }
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
  packageChecked(size_t kernel, const DimSizes &sizes) const override;

private:
  /// The device of this machine that runs with these options.
  int getOrdinal(const RunOptions &run) const {
    return run.device ? run.device->device : options.ordinal.value_or(0);
  }
  llvm::Expected<gpu::Device> getDevice(int ordinal) const;
  llvm::Expected<const std::string &>
  getPackage(size_t kernel, const Specialization &code,
             RunStatistics &statistics) const;
  llvm::Expected<std::unique_ptr<std::string>>
  compile(size_t kernel, const Specialization &code) const;
  llvm::Expected<nsacc_rt_module *> getModule(size_t kernel,
                                              const DimSizes &sizes,
                                              int ordinal,
                                              RunStatistics &statistics) const;
  llvm::Error runOnHost(nsacc_rt_module *module, llvm::ArrayRef<Tensor> inputs,
                        llvm::ArrayRef<Tensor> results,
                        RunStatistics &statistics) const;

  TileCompiler compiler;
  CompileOptions options;
  PackageCompiler compilePackage;
  mutable CodeCache<std::string> packages;
  mutable CodeCache<LoadedPackage> modules;
};

} // namespace

//===-- Compiling ---------------------------------------------------------===//

/// What code is made for that runs on a device of this machine.
llvm::Expected<gpu::Device> CUDAProgram::getDevice(int ordinal) const {
  // Whether code for a named device runs on this one, its package tells.
  if (!options.ordinal || options.ordinal == ordinal)
    return *options.device;
  return queryDevice(ordinal);
}

llvm::Expected<const std::string &>
CUDAProgram::getPackage(size_t kernel, const Specialization &code,
                        RunStatistics &statistics) const {
  std::string key = std::to_string(kernel) + ":" + code.spell();
  return packages.get(key, [&] {
    auto start = std::chrono::steady_clock::now();
    auto compiled = compile(kernel, code);
    statistics.compileSeconds = getSecondsSince(start);
    return compiled;
  });
}

/// "file:3:7: " for the statement of each kernel.
static llvm::StringMap<std::string> getPlaces(mlir::ModuleOp module) {
  llvm::StringMap<std::string> places;
  for (auto program : module.getOps<nsatile::ProgramOp>())
    if (auto place = program.getLoc()->findInstanceOf<mlir::FileLineColLoc>())
      places[program.getSymName()] =
          llvm::formatv("{0}:{1}:{2}: ", place.getFilename().getValue(),
                        place.getLine(), place.getColumn());
  return places;
}

llvm::Expected<std::unique_ptr<std::string>>
CUDAProgram::compile(size_t kernel, const Specialization &code) const {
  auto bytes = std::make_unique<std::string>();
  auto finish = [&](mlir::ModuleOp module,
                    mlir::TimingScope &timing) -> llvm::Error {
    mlir::TimingScope scope = timing.nest("target gpu");
    cuda::Options target(*code.device);
    target.signature = &signatures[kernel];
    target.ptxas = options.ptxas;
    target.timing = &scope;
    if (options.preparePasses)
      target.preparePasses = [&](mlir::PassManager &manager,
                                 mlir::ModuleOp module) {
        options.preparePasses(manager, module, code.device->code.architecture);
      };
    cuda::AssemblerReport report;
    target.report = &report;
    llvm::StringMap<std::string> places = getPlaces(module);
    auto package = compilePackage(module, target);
    if (!package)
      return package.takeError();
    if (options.warn)
      for (const std::string &loss : report.getLosses(
               places, "\nnote: smaller tiles or more warps may be faster, "
                       "such as --schedule keys=32 or --schedule warps=8"))
        options.warn(loss);
    *bytes = rt::writePackage(*package);
    return llvm::Error::success();
  };
  if (llvm::Error error = compiler.compile(signatures[kernel], code, finish))
    return std::move(error);
  return bytes;
}

llvm::Expected<std::string>
CUDAProgram::packageChecked(size_t kernel, const DimSizes &sizes) const {
  auto code =
      compiler.specialize(kernel, signatures[kernel], sizes, options.device);
  if (!code)
    return code.takeError();
  RunStatistics unwanted;
  auto package = getPackage(kernel, *code, unwanted);
  if (!package)
    return package.takeError();
  return *package;
}

llvm::Expected<nsacc_rt_module *>
CUDAProgram::getModule(size_t kernel, const DimSizes &sizes, int ordinal,
                       RunStatistics &statistics) const {
  auto code = compiler.specialize(kernel, signatures[kernel], sizes,
                                  /*device=*/std::nullopt);
  if (!code)
    return code.takeError();
  // Calls come by here often; the number says which device it is.
  std::string key = std::to_string(ordinal) + ":" + std::to_string(kernel) +
                    ":" + code->spell();
  auto load = [&]() -> llvm::Expected<std::unique_ptr<LoadedPackage>> {
    auto device = getDevice(ordinal);
    if (!device)
      return device.takeError();
    code->device = std::move(*device);
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

static llvm::Error launch(nsacc_rt_module *module,
                          llvm::ArrayRef<Tensor> tensors,
                          nsacc_rt_stream stream) {
  llvm::SmallVector<nsacc_rt_tensor, 16> arguments;
  for (const Tensor &tensor : tensors)
    arguments.push_back(toRuntime(tensor));
  return toError(
      nsacc_rt_launch(module, arguments.data(), arguments.size(), stream));
}

llvm::Error CUDAProgram::runOnHost(nsacc_rt_module *module,
                                   llvm::ArrayRef<Tensor> inputs,
                                   llvm::ArrayRef<Tensor> results,
                                   RunStatistics &statistics) const {
  int device = nsacc_rt_module_device(module);
  DeviceTensors tensors(device);
  for (const Tensor &input : inputs)
    if (llvm::Error error = tensors.upload(input))
      return error;
  for (const Tensor &result : results)
    if (llvm::Error error = tensors.allocate(result))
      return error;
  auto start = std::chrono::steady_clock::now();
  if (llvm::Error error = launch(module, tensors.getTensors(), nullptr))
    return error;
  if (llvm::Error error = toError(nsacc_rt_synchronize(device, nullptr)))
    return error;
  statistics.runSeconds = getSecondsSince(start);
  if (llvm::Error error = toError(nsacc_rt_check(module, nullptr)))
    return error;
  for (auto [index, result] : llvm::enumerate(results))
    if (llvm::Error error = tensors.download(inputs.size() + index, result))
      return error;
  return llvm::Error::success();
}

llvm::Error CUDAProgram::runChecked(size_t kernel, const DimSizes &sizes,
                                    llvm::ArrayRef<Tensor> inputs,
                                    llvm::ArrayRef<Tensor> results,
                                    const RunOptions &options,
                                    RunStatistics &statistics) const {
  if (options.keepF64 || options.roundStorage)
    return llvm::createStringError(
        "target '" + getTargetName() +
        "' has no results in f64 and no choice of rounding: both are of "
        "target 'oracle'");
  if (llvm::all_of(results, hasNoElements))
    return llvm::Error::success();
  auto module = getModule(kernel, sizes, getOrdinal(options), statistics);
  if (!module)
    return module.takeError();
  if (options.device) {
    std::vector<Tensor> tensors(inputs);
    llvm::append_range(tensors, results);
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error error = launch(*module, tensors, options.device->stream))
      return error;
    statistics.runSeconds = getSecondsSince(start);
  } else if (llvm::Error error =
                 runOnHost(*module, inputs, results, statistics)) {
    return error;
  }
  statistics.workspaceBytes = nsacc_rt_workspace_bytes(*module);
  statistics.launches = nsacc_rt_launch_count(*module);
  return llvm::Error::success();
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
    const CompileOptions &options, PackageCompiler compiler) {
  if (!compiler)
    compiler = cuda::compile;
  return std::make_unique<CUDAProgram>(module, std::move(image),
                                       std::move(signatures), options,
                                       std::move(compiler));
}
