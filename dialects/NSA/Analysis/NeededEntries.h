//===- NeededEntries.h - Pooled keys whose importance is read ---*- C++ -*-===//

#ifndef NSA_ANALYSIS_NEEDEDENTRIES_H
#define NSA_ANALYSIS_NEEDEDENTRIES_H

#include "NSA/IR/NSAOps.h"

namespace nsacc::nsa {

/// Declared pooled keys of an importance that only blocks and selections read:
/// the ones that share a token with a block of one of the sizes `blocks`
/// (docs/spec.md, [R20]).
struct NeededEntries {
  PooledDimAttr dim;
  llvm::SmallVector<int64_t, 2> blocks;

  /// None if all entries are needed.
  static std::optional<NeededEntries> find(ImportanceOp op);

  /// The first needed entry; memory tokens, and windows that end before token
  /// 0, come before it.
  int64_t getFirst() const;
  /// One past the last needed entry over `tokens` tokens, if there are so many.
  int64_t getEnd(int64_t tokens) const;
};

} // namespace nsacc::nsa

#endif // NSA_ANALYSIS_NEEDEDENTRIES_H
