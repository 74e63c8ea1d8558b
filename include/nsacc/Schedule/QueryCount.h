//===- QueryCount.h - Kernels whose tiles depend on rows --------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_QUERYCOUNT_H
#define NSACC_SCHEDULE_QUERYCOUNT_H

#include "NSA/IR/NSAOps.h"
#include "llvm/ADT/StringMap.h"

namespace nsacc {

/// The queries of a kernel whose tiles on a GPU depend on how many there are.
class QueryCount {
public:
  /// None for kernels with the same tiles for any number.
  static std::optional<QueryCount> get(nsa::KernelOp kernel);

  /// True for long batch rows, and enough of them for tiles of many queries to
  /// keep a GPU's multiprocessors busy, of channels for which that decides on
  /// tiles. Batches and heads without a size count as enough.
  bool isLarge(const llvm::StringMap<int64_t> &sizes) const;

private:
  /// A dimension's name, or its size.
  struct Dim {
    std::string name;
    int64_t size;
  };
  Dim batch, tokens, heads, keyChannels, valueChannels;
};

} // namespace nsacc

#endif // NSACC_SCHEDULE_QUERYCOUNT_H
