//===- KernelFacts.h - What choices of tiles ask of kernels -----*- C++ -*-===//

#ifndef NSACC_LIB_SCHEDULE_KERNELFACTS_H
#define NSACC_LIB_SCHEDULE_KERNELFACTS_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/IR/NSAOps.h"

namespace nsacc::schedule {

/// What a choice of tiles looks at: the attentions and importances that are
/// chosen for together.
struct Scope {
  nsa::KernelOp kernel;
  llvm::SmallVector<nsa::ScoringOpInterface> ops;
  /// Query heads of a key head.
  int64_t group = 1;

  /// The first attention that goes over selected blocks; null if there is none.
  nsa::AttendOp findSelecting() const;
  /// All of them.
  llvm::SmallVector<nsa::AttendOp> findAllSelecting() const;
  /// The widest head dimension of keys and values of all attentions, as far as
  /// it's known; 0: none is.
  int64_t getChannels() const;
};

/// Whether a row's first key moves along with it.
bool isBand(const nsa::MaskInfo &mask);

/// How many keys in front of its own place a row sees at least, as far as the
/// mask says so with a number; 0: it doesn't.
int64_t getReach(const nsa::MaskInfo &mask);

/// Scores that are nothing but products.
bool isPlain(nsa::AttendOp attend, const nsa::MaskInfo &mask);

struct DenseAttention {
  nsa::AttendOp attend;
  int64_t channels = 0;
};

/// The one attention of a scope over keys that aren't selected; none where
/// operands are no halves or can't be copied in rows.
std::optional<DenseAttention> findDenseAttention(const Scope &scope);

/// The one attention of a kernel, over a selection of long blocks; null where
/// there are others, or keys and values are no halves. A sequence has few such
/// blocks, so that tokens together select most of them, and each is long enough
/// for what its part of a row's sum costs beside it.
nsa::AttendOp findLongBlocks(nsa::KernelOp kernel);

/// The first attention to pooled keys whose log-sum-exps an importance reads,
/// and whose result others do; null where there is none.
nsa::AttendOp findRanking(nsa::KernelOp kernel);
/// Whether a call can be cut so that few of the ranking attention's results
/// stand in memory at a time, where all orders are the compiler's choice.
bool canCutRanking(nsa::KernelOp kernel, nsa::AttendOp ranking);
/// The first pooled dimension of an attention's keys; null where there is none.
nsa::PooledDimAttr getPooledKeys(nsa::AttendOp attend);

/// Channels for which tiles of two or of three warpgroups may be the faster
/// ones: with fewer it's three, with more there are registers for two.
bool hasChoice(int64_t channels);

} // namespace nsacc::schedule

#endif // NSACC_LIB_SCHEDULE_KERNELFACTS_H
