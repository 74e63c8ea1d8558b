//===- Check.cpp - Check of a candidate's results -------------------------===//

#include "Check.h"
#include "Job.h"
#include "NSA/IR/NSAOps.h"
#include "ScratchFolder.h"
#include "nsacc/Interpreter/Accuracy.h"
#include "nsacc/Tensor/Memory.h"
#include "nsacc/Tensor/Npy.h"
#include "nsacc/Tensor/RandomInputs.h"
#include "nsacc/Tensor/SignatureText.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"

using namespace nsacc;
using namespace nsacc::tuning;

std::optional<DimSizes>
tuning::shortenSizes(const Signature &signature, const DimSizes &sizes,
                     llvm::ArrayRef<std::string> specialized) {
  constexpr int64_t most = 197, rows = 3, batches = 2;
  llvm::StringSet<> batch;
  for (const Argument &input : signature.inputs)
    for (const AttentionDims &attention : signature.attentions)
      if (input.dims.size() > 2 && input.dims[1].name == attention.queries &&
          input.dims[0].kind == Dim::Kind::Named)
        batch.insert(input.dims[0].name);
  DimSizes known;
  for (const auto &[name, size] : sizes.sizes) {
    bool isFixed = llvm::is_contained(specialized, name);
    known.sizes[name] =
        isFixed ? size : std::min(size, batch.contains(name) ? batches : most);
  }
  for (const auto &[name, offsets] : sizes.offsets) {
    // Rows have about equal lengths.
    int64_t total = known.sizes.lookup(name);
    auto count = std::min<int64_t>(offsets.size() - 1, rows);
    std::vector<int64_t> &own = known.offsets[name];
    for (int64_t row = 0; row <= count; ++row)
      own.push_back(row == count ? total : total * row / count);
    known.batchRows = count;
  }
  for (const TokenGroups &groups : signature.tokenGroups)
    if (auto of = known.sizes.find(groups.of.name);
        of != known.sizes.end() && known.sizes.contains(groups.groups.name))
      known.sizes[groups.groups.name] =
          (of->second + groups.tokens - 1) / groups.tokens +
          (groups.areOffsets ? 1 : 0);
  llvm::SmallVector<const Tensor *> none(signature.inputs.size(), nullptr);
  auto bound = bindKnownDimensions(signature, none, std::move(known));
  if (bound)
    return std::move(*bound);
  llvm::consumeError(bound.takeError());
  return std::nullopt;
}

/// The largest error of the results in a folder, relative to its bound.
static llvm::Expected<double> judge(nsa::KernelOp kernel,
                                    const Signature &signature,
                                    llvm::ArrayRef<Tensor> inputs,
                                    llvm::StringRef folder, unsigned threads) {
  std::vector<Tensor> results;
  for (const Argument &result : signature.results) {
    auto tensor = readNpy(getTensorPath(folder, result.name));
    if (!tensor)
      return tensor.takeError();
    results.push_back(Tensor::borrow(tensor->getData(), result.dtype,
                                     tensor->getShape(), tensor->getStrides(),
                                     std::make_shared<Tensor>(*tensor)));
  }
  auto checker = interpreter::AccuracyChecker::create(kernel, inputs, threads);
  if (!checker)
    return checker.takeError();
  double worst = 0;
  for (const interpreter::Accuracy &accuracy : checker->check(results)) {
    if (!accuracy.isWithin || accuracy.isIllConditioned())
      return llvm::createStringError("wrong results: '" + accuracy.name + "' " +
                                     (accuracy.message.empty()
                                          ? "is beyond its bound"
                                          : accuracy.message));
    if (accuracy.eagerError > 0)
      worst = std::max(worst, accuracy.error / (2 * accuracy.eagerError));
  }
  return worst;
}

llvm::Expected<double> tuning::checkPackage(const CompiledProgram &program,
                                            const Signature &signature,
                                            const DimSizes &sizes,
                                            const std::string &packagePath,
                                            const TuneOptions &options) {
  auto scratch = ScratchFolder::create();
  if (!scratch)
    return scratch.takeError();
  const std::string &folder = scratch->getPath();
  Job job;
  job.packages = {packagePath};
  job.signature = writeSignature(signature);
  job.sizes = sizes;
  job.device = *program.getDevice();
  job.threads = options.threads;
  job.inputFolder = folder;
  std::vector<Tensor> inputs;
  for (const Argument &input : signature.inputs) {
    auto tensor = makeRandomInput(input, sizes, options.seed);
    if (!tensor)
      return tensor.takeError();
    if (llvm::Error error =
            writeNpy(getTensorPath(folder, input.name), *tensor))
      return std::move(error);
    inputs.push_back(std::move(*tensor));
  }
  if (auto found = runJob(job, options.worker); !found)
    return found.takeError();
  llvm::Expected<double> worst = 0;
  auto use = [&](nsa::KernelOp kernel, const schedule::Goal &,
                 const schedule::Settings &) -> llvm::Error {
    worst = judge(kernel, signature, inputs, folder, options.threads);
    return llvm::Error::success();
  };
  if (llvm::Error error = program.withKernel(signature.kernel, sizes, use)) {
    llvm::consumeError(worst.takeError());
    return std::move(error);
  }
  return worst;
}

std::optional<double> tuning::findChecked(const TuneOptions &options,
                                          llvm::StringRef hash,
                                          const DimSizes &sizes) {
  if (!options.checked)
    return std::nullopt;
  for (const CheckedCode &each : *options.checked) {
    bool isAsLarge = llvm::all_of(sizes.sizes, [&](const auto &size) {
      return each.sizes.sizes.lookup(size.first()) >= size.second;
    });
    if (each.hash == hash && isAsLarge &&
        each.sizes.batchRows >= sizes.batchRows)
      return each.error;
  }
  return std::nullopt;
}

llvm::Error tuning::checkMeasurable(const CompiledProgram &program,
                                    const Signature &signature,
                                    const DimSizes &sizes,
                                    const TuneOptions &options) {
  if (!program.getDevice())
    return llvm::createStringError(
        "target '" + program.getTargetName() +
        "' isn't measured here: tune for 'cpu', or for 'cuda' on a machine "
        "with a GPU");
  if (program.getTarget() == Target::CPU &&
      (options.policy.isGraph || options.policy.isCold))
    return llvm::createStringError("CUDA graphs and cold caches are of GPUs, "
                                   "found target 'cpu'");
  bool hasElements = false;
  for (const Argument &result : signature.results) {
    auto shape = getShape(result, sizes);
    if (!shape)
      return shape.takeError();
    hasElements |= !llvm::is_contained(*shape, 0);
  }
  if (!hasElements)
    return llvm::createStringError(
        "there is nothing to measure: with these sizes no result of kernel '" +
        signature.kernel + "' has an element");
  return checkMemory(signature, sizes);
}
