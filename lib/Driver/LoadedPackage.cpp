//===- LoadedPackage.cpp - Loaded code and its runs -----------------------===//

#include "LoadedPackage.h"
#include "Targets.h"
#include "nsacc/Driver/CompileError.h"

using namespace nsacc;

static llvm::Error launch(nsacc_rt_module *module,
                          llvm::ArrayRef<Tensor> tensors,
                          nsacc_rt_stream stream) {
  llvm::SmallVector<nsacc_rt_tensor, 16> arguments;
  for (const Tensor &tensor : tensors)
    arguments.push_back(toRuntime(tensor));
  return toError(
      nsacc_rt_launch(module, arguments.data(), arguments.size(), stream));
}

static llvm::Error runOnCopies(nsacc_rt_module *module,
                               llvm::ArrayRef<Tensor> inputs,
                               llvm::ArrayRef<Tensor> results,
                               RunStatistics &statistics) {
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

llvm::Error nsacc::runModule(nsacc_rt_module *module,
                             llvm::ArrayRef<Tensor> inputs,
                             llvm::ArrayRef<Tensor> results,
                             const RunOptions &options,
                             RunStatistics &statistics) {
  if (options.device) {
    std::vector<Tensor> tensors(inputs);
    llvm::append_range(tensors, results);
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error error = launch(module, tensors, options.device->stream))
      return error;
    statistics.runSeconds = getSecondsSince(start);
  } else if (llvm::Error error =
                 runOnCopies(module, inputs, results, statistics)) {
    return error;
  }
  statistics.workspaceBytes = nsacc_rt_workspace_bytes(module);
  statistics.launches = nsacc_rt_launch_count(module);
  return llvm::Error::success();
}

llvm::Error nsacc::runExecutable(const cpu::Executable &executable,
                                 llvm::ArrayRef<Tensor> inputs,
                                 llvm::ArrayRef<Tensor> results,
                                 const RunOptions &options,
                                 RunStatistics &statistics) {
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
  if (llvm::Error error = executable.run(tensors, own, &usage)) {
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
