//===- QueryCount.h - Kernels whose tiles depend on rows --------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_QUERYCOUNT_H
#define NSACC_SCHEDULE_QUERYCOUNT_H

#include "NSA/IR/NSAOps.h"
#include "nsacc/GPU/Device.h"
#include "llvm/ADT/StringMap.h"

namespace nsacc {

/// A product of sizes, those of named dimensions and `factor`, that has to be
/// at least so large.
struct LeastProduct {
  std::vector<std::string> dims;
  int64_t factor = 1;
  int64_t least = 0;

  /// Sizes that aren't known count as enough, but for the first one.
  bool holds(const llvm::StringMap<int64_t> &sizes) const;
};

/// The queries of a kernel whose tiles on a GPU depend on how many there are.
class QueryCount {
public:
  /// None for kernels with the same tiles for any number.
  static std::optional<QueryCount> get(nsa::KernelOp kernel);

  /// Whether tiles depend on it on this device.
  static bool matters(const gpu::Device &device) {
    return device.code.hasWarpgroupProducts;
  }
  /// Whether tiles depend on it for so many channels, which `sizes` has.
  bool matters(const llvm::StringMap<int64_t> &sizes) const;
  /// What holds, all of it, where queries are many: long batch rows, and enough
  /// of them for tiles of many queries to keep a GPU's multiprocessors busy.
  llvm::ArrayRef<LeastProduct> getConditions() const { return conditions; }
  /// Whether there are many, and it matters.
  bool isLarge(const llvm::StringMap<int64_t> &sizes) const;

private:
  /// A dimension's name, or its size.
  struct Dim {
    std::string name;
    int64_t size;
  };

  static LeastProduct multiply(llvm::ArrayRef<Dim> dims, int64_t least);

  Dim keyChannels, valueChannels;
  std::vector<LeastProduct> conditions;
};

} // namespace nsacc

#endif // NSACC_SCHEDULE_QUERYCOUNT_H
