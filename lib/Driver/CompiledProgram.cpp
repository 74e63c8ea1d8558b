//===- CompiledProgram.cpp - Programs that run on a target ----------------===//

#include "nsacc/Driver/CompiledProgram.h"
#include "NSA/IR/NSAOps.h"
#include "Targets.h"
#include "nsacc/Schedule/Choose.h"
#include "nsacc/Signature/Signature.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>
#include <new>

using namespace nsacc;

llvm::Error nsacc::refuseOracleOptions(const RunOptions &options,
                                       const llvm::Twine &what) {
  if (!options.keepF64 && !options.roundStorage)
    return llvm::Error::success();
  return llvm::createStringError(
      what + " has no results in f64 and no choice of rounding: both are of "
             "target 'oracle'");
}

static llvm::Error checkSchedule(mlir::ModuleOp module,
                                 const CompileOptions &options) {
  auto settings = schedule::Settings::parse(options.schedule);
  if (!settings)
    return settings.takeError();
  if (llvm::Error error = schedule::check(module, {options.device}, *settings))
    return error;
  schedule::warnOfUnread(module, {options.device}, *settings);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<CompiledProgram>>
CompiledProgram::create(mlir::ModuleOp module, const CompileOptions &options) {
  if (options.target == Target::GPU && !options.device)
    return llvm::createStringError(
        "a GPU's program needs the device to compile for");
  // The oracle reports that it has no device.
  if (options.target != Target::Oracle)
    if (llvm::Error error = checkSchedule(module, options))
      return std::move(error);
  std::vector<Signature> signatures;
  for (auto kernel : module.getOps<nsa::KernelOp>())
    signatures.push_back(nsacc::getSignature(kernel));
  llvm::Expected<ModuleImage> image = ModuleImage::create(module);
  if (!image)
    return image.takeError();
  switch (options.target) {
  case Target::CPU:
    return createCPUProgram(module, std::move(*image), std::move(signatures),
                            options);
  case Target::Oracle:
    return createOracleProgram(*image, std::move(signatures), options);
  case Target::GPU:
    return createCUDAProgram(module, std::move(*image), std::move(signatures),
                             options);
  }
  llvm_unreachable("unknown target");
}

//===-- Kernels -----------------------------------------------------------===//

static llvm::Expected<size_t> findKernel(llvm::ArrayRef<Signature> signatures,
                                         llvm::StringRef kernel) {
  if (kernel.empty() && signatures.size() == 1)
    return 0;
  std::vector<std::string> names;
  for (auto [index, signature] : llvm::enumerate(signatures)) {
    if (signature.kernel == kernel)
      return index;
    names.push_back("'" + signature.kernel + "'");
  }
  std::string known = names.empty() ? "none" : llvm::join(names, ", ");
  if (kernel.empty())
    return llvm::createStringError("the program has " +
                                   llvm::Twine(names.size()) +
                                   " kernels: name one of " + known);
  return llvm::createStringError("the program has no kernel '" + kernel +
                                 "': it has " + known);
}

llvm::Expected<const Signature &>
CompiledProgram::getSignature(llvm::StringRef kernel) const {
  llvm::Expected<size_t> index = findKernel(signatures, kernel);
  if (!index)
    return index.takeError();
  return signatures[*index];
}

//===-- Running -----------------------------------------------------------===//

static DType getResultType(const Argument &result, const RunOptions &options) {
  return options.keepF64 && isReal(result.dtype) ? DType::F64 : result.dtype;
}

static std::string describe(DType dtype, llvm::ArrayRef<int64_t> shape) {
  auto sizes =
      llvm::map_range(shape, [](int64_t size) { return std::to_string(size); });
  return (getName(dtype) + "[" + llvm::join(sizes, ", ") + "]").str();
}

static llvm::Error checkResults(const Signature &signature,
                                const DimSizes &sizes,
                                llvm::ArrayRef<Tensor> results,
                                const RunOptions &options) {
  if (results.size() != signature.results.size())
    return llvm::createStringError("kernel '" + signature.kernel + "' has " +
                                   llvm::Twine(signature.results.size()) +
                                   " results, found " +
                                   llvm::Twine(results.size()));
  for (auto [argument, result] : llvm::zip(signature.results, results)) {
    auto shape = getShape(argument, sizes);
    if (!shape)
      return shape.takeError();
    DType dtype = getResultType(argument, options);
    if (result.getDType() != dtype ||
        result.getShape() != llvm::ArrayRef(*shape))
      return llvm::createStringError(
          "result '" + argument.name + "' is " +
          describe(result.getDType(), result.getShape()) + ", expected " +
          describe(dtype, *shape));
  }
  return llvm::Error::success();
}

static llvm::Expected<std::vector<Tensor>>
allocateResults(const Signature &signature, const DimSizes &sizes,
                const RunOptions &options) {
  std::vector<Tensor> results;
  for (const Argument &argument : signature.results) {
    auto shape = getShape(argument, sizes);
    if (!shape)
      return shape.takeError();
    try {
      results.push_back(
          Tensor::zeros(getResultType(argument, options), *shape));
    } catch (const std::bad_alloc &) {
      return llvm::createStringError("not enough memory for result '" +
                                     toString(argument) + "'");
    }
  }
  return results;
}

llvm::Expected<std::vector<Tensor>>
CompiledProgram::run(llvm::StringRef kernel, llvm::ArrayRef<Tensor> inputs,
                     const RunOptions &options,
                     RunStatistics *statistics) const {
  llvm::Expected<size_t> index = findKernel(signatures, kernel);
  if (!index)
    return index.takeError();
  const Signature &signature = signatures[*index];
  if (options.device)
    return llvm::createStringError(
        "results on a device have to be given: use runInto");
  llvm::Expected<DimSizes> sizes = bindDimensions(signature, inputs);
  if (!sizes)
    return sizes.takeError();
  auto results = allocateResults(signature, *sizes, options);
  if (!results)
    return results.takeError();
  RunStatistics unwanted;
  if (llvm::Error error = runChecked(*index, *sizes, inputs, *results, options,
                                     statistics ? *statistics : unwanted))
    return std::move(error);
  return results;
}

static llvm::Error checkPlace(const CompiledProgram &program,
                              const RunOptions &options) {
  if (!options.device || program.getTarget() == Target::GPU)
    return llvm::Error::success();
  return llvm::createStringError("target '" + program.getTargetName() +
                                 "' runs on the host, not on a device");
}

llvm::Error CompiledProgram::runInto(llvm::StringRef kernel,
                                     llvm::ArrayRef<Tensor> inputs,
                                     llvm::ArrayRef<Tensor> results,
                                     const RunOptions &options,
                                     RunStatistics *statistics) const {
  llvm::Expected<const Signature &> signature = getSignature(kernel);
  if (!signature)
    return signature.takeError();
  if (llvm::Error error = checkPlace(*this, options))
    return error;
  llvm::Expected<DimSizes> sizes =
      bindRunDimensions(*signature, inputs, options);
  if (!sizes)
    return sizes.takeError();
  return runInto(kernel, *sizes, inputs, results, options, statistics);
}

llvm::Error CompiledProgram::runInto(llvm::StringRef kernel,
                                     const DimSizes &sizes,
                                     llvm::ArrayRef<Tensor> inputs,
                                     llvm::ArrayRef<Tensor> results,
                                     const RunOptions &options,
                                     RunStatistics *statistics) const {
  llvm::Expected<size_t> index = findKernel(signatures, kernel);
  if (!index)
    return index.takeError();
  if (llvm::Error error = checkPlace(*this, options))
    return error;
  if (llvm::Error error =
          checkResults(signatures[*index], sizes, results, options))
    return error;
  RunStatistics unwanted;
  return runChecked(*index, sizes, inputs, results, options,
                    statistics ? *statistics : unwanted);
}

/// The kernel's index. Fails if names of sizes aren't dimensions of its inputs.
static llvm::Expected<size_t>
findKernelOf(llvm::ArrayRef<Signature> signatures, llvm::StringRef kernel,
             const llvm::StringMap<int64_t> &sizes) {
  llvm::Expected<size_t> index = findKernel(signatures, kernel);
  if (!index)
    return index;
  llvm::SetVector<llvm::StringRef> known;
  for (const Argument &input : signatures[*index].inputs)
    for (const Dim &dim : input.dims)
      if (dim.kind == Dim::Kind::Named || dim.kind == Dim::Kind::Ragged)
        known.insert(dim.name);
  for (llvm::StringRef name : sizes.keys())
    if (!known.contains(name))
      return llvm::createStringError("kernel '" + signatures[*index].kernel +
                                     "' has no dimension '" + name +
                                     "': it has " + llvm::join(known, ", "));
  return index;
}

llvm::Expected<schedule::Settings>
CompiledProgram::fitSchedule(llvm::StringRef kernel,
                             const llvm::StringMap<int64_t> &sizes) const {
  llvm::Expected<size_t> index = findKernelOf(signatures, kernel, sizes);
  return index ? fitScheduleOf(*index, sizes) : index.takeError();
}

llvm::Expected<std::string>
CompiledProgram::printTiles(llvm::StringRef kernel,
                            const llvm::StringMap<int64_t> &sizes) const {
  llvm::Expected<size_t> index = findKernelOf(signatures, kernel, sizes);
  return index ? printTilesOf(*index, sizes) : index.takeError();
}

llvm::Expected<std::string>
CompiledProgram::printSchedule(llvm::StringRef kernel,
                               const llvm::StringMap<int64_t> &sizes) const {
  llvm::Expected<size_t> index = findKernelOf(signatures, kernel, sizes);
  return index ? printScheduleOf(*index, sizes) : index.takeError();
}

llvm::Error CompiledProgram::prepare(llvm::StringRef kernel,
                                     llvm::ArrayRef<Tensor> inputs,
                                     RunStatistics *statistics) const {
  llvm::Expected<size_t> index = findKernel(signatures, kernel);
  if (!index)
    return index.takeError();
  llvm::Expected<DimSizes> sizes = bindDimensions(signatures[*index], inputs);
  if (!sizes)
    return sizes.takeError();
  RunStatistics unwanted;
  return prepareChecked(*index, *sizes, statistics ? *statistics : unwanted);
}

//===-- Packages ----------------------------------------------------------===//

llvm::Expected<std::string>
CompiledProgram::package(llvm::StringRef kernel,
                         llvm::ArrayRef<DimSizes> sizes) const {
  llvm::Expected<size_t> index = findKernel(signatures, kernel);
  if (!index)
    return index.takeError();
  for (const DimSizes &each : sizes)
    if (auto known = findKernelOf(signatures, kernel, each.sizes); !known)
      return known.takeError();
  return packageChecked(*index, sizes);
}

llvm::Expected<rt::Image> CompiledProgram::image(llvm::StringRef kernel,
                                                 const DimSizes &sizes) const {
  llvm::Expected<size_t> index = findKernel(signatures, kernel);
  if (!index)
    return index.takeError();
  return imageChecked(*index, sizes);
}

llvm::Expected<std::string>
CompiledProgram::assembly(llvm::StringRef kernel, const DimSizes &sizes) const {
  llvm::Expected<size_t> index = findKernel(signatures, kernel);
  if (!index)
    return index.takeError();
  return assemblyChecked(*index, sizes);
}

llvm::Expected<CodeFor>
CompiledProgram::compileFor(llvm::StringRef kernel, const DimSizes &sizes,
                            llvm::StringRef schedule) const {
  llvm::Expected<size_t> index = findKernelOf(signatures, kernel, sizes.sizes);
  if (!index)
    return index.takeError();
  if (auto read = schedule::Settings::parse(schedule); !read)
    return read.takeError();
  return compileForChecked(*index, sizes, schedule);
}

llvm::Expected<CodeDetails>
CompiledProgram::compileInDetail(llvm::StringRef kernel, const DimSizes &sizes,
                                 llvm::StringRef tuned, bool isModelled) const {
  llvm::Expected<size_t> index = findKernelOf(signatures, kernel, sizes.sizes);
  if (!index)
    return index.takeError();
  if (auto read = schedule::Settings::parse(tuned); !read)
    return read.takeError();
  return compileInDetailChecked(*index, sizes, tuned, isModelled);
}

llvm::Expected<std::string>
CompiledProgram::getTuningKey(llvm::StringRef kernel,
                              const DimSizes &sizes) const {
  llvm::Expected<size_t> index = findKernelOf(signatures, kernel, sizes.sizes);
  if (!index)
    return index.takeError();
  return getTuningKeyChecked(*index, sizes);
}

llvm::Error CompiledProgram::withKernel(llvm::StringRef kernel,
                                        const DimSizes &sizes,
                                        KernelUser use) const {
  llvm::Expected<size_t> index = findKernelOf(signatures, kernel, sizes.sizes);
  if (!index)
    return index.takeError();
  return withKernelChecked(*index, sizes, use);
}

llvm::Expected<std::string>
CompiledProgram::packageByRule(llvm::StringRef kernel, const DimSizes &sizes,
                               const TunedRule &rule) const {
  llvm::Expected<size_t> index = findKernelOf(signatures, kernel, sizes.sizes);
  if (!index)
    return index.takeError();
  for (const TunedRule::Case &each : rule.cases)
    if (auto read = schedule::Settings::parse(each.schedule); !read)
      return read.takeError();
  return packageByRuleChecked(*index, sizes, rule);
}

static llvm::Error rejectTuning(const CompiledProgram &program) {
  return llvm::createStringError("target '" + program.getTargetName() +
                                 "' has no schedules to tune or to explain");
}

llvm::Expected<std::string>
CompiledProgram::packageByRuleChecked(size_t kernel, const DimSizes &sizes,
                                      const TunedRule &rule) const {
  return rejectTuning(*this);
}

llvm::Expected<CodeFor>
CompiledProgram::compileForChecked(size_t kernel, const DimSizes &sizes,
                                   llvm::StringRef schedule) const {
  return rejectTuning(*this);
}

llvm::Expected<CodeDetails>
CompiledProgram::compileInDetailChecked(size_t kernel, const DimSizes &sizes,
                                        llvm::StringRef tuned,
                                        bool isModelled) const {
  return rejectTuning(*this);
}

llvm::Expected<std::string>
CompiledProgram::getTuningKeyChecked(size_t kernel,
                                     const DimSizes &sizes) const {
  return rejectTuning(*this);
}

llvm::Error CompiledProgram::withKernelChecked(size_t kernel,
                                               const DimSizes &sizes,
                                               KernelUser use) const {
  return rejectTuning(*this);
}

static llvm::Error rejectPackages(const CompiledProgram &program,
                                  llvm::StringRef what) {
  return llvm::createStringError(
      what + " are of compiled targets, found target '" +
      program.getTargetName() +
      "': compile for 'cpu', or for a GPU as 'sm_90a'");
}

llvm::Expected<std::string>
CompiledProgram::packageChecked(size_t kernel,
                                llvm::ArrayRef<DimSizes> sizes) const {
  return rejectPackages(*this, "packages");
}

llvm::Expected<std::string>
CompiledProgram::assemblyChecked(size_t kernel, const DimSizes &sizes) const {
  return llvm::createStringError("assembly is of target 'cpu', found target '" +
                                 getTargetName() + "'");
}

llvm::Expected<rt::Image>
CompiledProgram::imageChecked(size_t kernel, const DimSizes &sizes) const {
  return rejectPackages(*this, "images");
}
