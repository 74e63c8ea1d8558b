//===- NeededEntries.h - Which pooled keys an importance is asked of -*- C++ -//

#ifndef NSA_ANALYSIS_NEEDEDENTRIES_H
#define NSA_ANALYSIS_NEEDEDENTRIES_H

#include "NSA/IR/NSAOps.h"

namespace nsacc::nsa {

/// Declared pooled keys of an importance that blocks and selections alone ask
/// for: those that share a token with a block of one of the sizes `blocks`
/// (docs/spec.md, [R20]).
struct NeededEntries {
  PooledDimAttr dim;
  llvm::SmallVector<int64_t, 2> blocks;

  /// Nothing where all entries are needed.
  static std::optional<NeededEntries> find(ImportanceOp op);

  /// The first of them; memory tokens, and what ends in front of token 0, are
  /// before it.
  int64_t getFirst() const;
  /// Behind the last of them over `tokens` tokens, if there are so many.
  int64_t getEnd(int64_t tokens) const;
};

} // namespace nsacc::nsa

#endif // NSA_ANALYSIS_NEEDEDENTRIES_H
