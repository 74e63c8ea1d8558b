//===- Executable.cpp - Compiled plans, loaded ----------------------------===//

#include "nsacc/Target/CPU/CPU.h"
#include <stdexcept>

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;

Expected<std::unique_ptr<Executable>> nsacc::cpu::load(rt::Package package) {
  try {
    return std::unique_ptr<Executable>(new Executable(std::move(package)));
  } catch (const std::runtime_error &failure) {
    return createStringError(failure.what());
  }
}

Error Executable::run(ArrayRef<Tensor> tensors, const RunOptions &options,
                      Usage *usage) const {
  std::vector<nsacc_rt_tensor> arguments;
  for (const Tensor &tensor : tensors)
    arguments.push_back({tensor.getData(), toNumber(tensor.getDType()),
                         static_cast<int32_t>(tensor.getShape().size()),
                         tensor.getShape().data(), tensor.getStrides().data()});
  try {
    module.run(arguments.data(), arguments.size(), options, usage);
    return Error::success();
  } catch (const std::runtime_error &failure) {
    return createStringError(failure.what());
  }
}
