//===- Architecture.cpp - What GPUs have ----------------------------------===//

#include "nsacc/Target/CUDA/Architecture.h"

using namespace nsacc::cuda;

// Compute capabilities' table of the CUDA programming guide.
constexpr Architecture kTable[] = {
    {.name = "sm_90a",
     .features = "+ptx90",
     .sharedBytes = 227 << 10,
     .registers = 64 << 10,
     .hasAsyncCopies = true,
     .hasBulkCopies = true,
     .hasWarpgroupProducts = true,
     .hasDependentLaunches = true},
    {.name = "sm_89",
     .features = "+ptx78",
     .sharedBytes = 99 << 10,
     .registers = 64 << 10,
     .hasAsyncCopies = true,
     .hasBulkCopies = false,
     .hasWarpgroupProducts = false,
     .hasDependentLaunches = false},
    {.name = "sm_86",
     .features = "+ptx78",
     .sharedBytes = 99 << 10,
     .registers = 64 << 10,
     .hasAsyncCopies = true,
     .hasBulkCopies = false,
     .hasWarpgroupProducts = false,
     .hasDependentLaunches = false},
    {.name = "sm_80",
     .features = "+ptx78",
     .sharedBytes = 163 << 10,
     .registers = 64 << 10,
     .hasAsyncCopies = true,
     .hasBulkCopies = false,
     .hasWarpgroupProducts = false,
     .hasDependentLaunches = false},
};

llvm::ArrayRef<Architecture> nsacc::cuda::getArchitectureTable() {
  return kTable;
}

const Architecture *nsacc::cuda::findArchitecture(llvm::StringRef name) {
  for (const Architecture &architecture : kTable)
    if (architecture.name == name)
      return &architecture;
  return nullptr;
}
