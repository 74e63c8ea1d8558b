//===- Architecture.h - What GPUs have --------------------------*- C++ -*-===//

#ifndef NSACC_TARGET_CUDA_ARCHITECTURE_H
#define NSACC_TARGET_CUDA_ARCHITECTURE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace nsacc::cuda {

/// Facts of an architecture. Passes ask for them and never for its name.
struct Architecture {
  llvm::StringLiteral name;
  /// Versions of PTX that LLVM's NVPTX knows, "+ptx90".
  llvm::StringLiteral features;
  /// Shared memory of a block, in bytes, where the launch asks for it.
  int64_t sharedBytes;
  /// 32-bit registers of a multiprocessor.
  int64_t registers;
  /// Copies from global to shared memory that registers don't take part in.
  bool hasAsyncCopies;
  /// Bulk copies of tensors, products of warpgroups in flight.
  bool hasBulkCopies, hasWarpgroupProducts;
  /// Kernels that start while the one before still runs, and wait for its end.
  bool hasDependentLaunches;
};

llvm::ArrayRef<Architecture> getArchitectureTable();
/// Null for a name that isn't known.
const Architecture *findArchitecture(llvm::StringRef name);

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_ARCHITECTURE_H
