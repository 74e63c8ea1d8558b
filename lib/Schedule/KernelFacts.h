//===- KernelFacts.h - Facts that choices of tiles need ---------*- C++ -*-===//

#ifndef NSACC_LIB_SCHEDULE_KERNELFACTS_H
#define NSACC_LIB_SCHEDULE_KERNELFACTS_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/IR/NSAOps.h"

namespace nsacc::schedule {

/// Attentions and importances for which tiles are chosen together.
struct Scope {
  nsa::KernelOp kernel;
  llvm::SmallVector<nsa::ScoringOpInterface> ops;
  /// Query heads per key head.
  int64_t group = 1;

  /// The first attention that goes over selected blocks; null if there is none.
  nsa::ScoringOpInterface findSelecting() const;
  /// All attentions that go over selected blocks.
  llvm::SmallVector<nsa::ScoringOpInterface> findAllSelecting() const;
  /// All attentions: ops that sum values.
  llvm::SmallVector<nsa::ScoringOpInterface> findAttends() const;
  /// Greatest known number of channels of the attentions' keys and values; 0 if
  /// none is known.
  int64_t getChannels() const;
};

/// Whether a tensor's elements, or those of an attention's keys and values,
/// have 16 bits.
bool hasHalves(mlir::Value tensor);
bool hasHalves(nsa::ScoringOpInterface attend);

/// A tensor's last dimension, if its size is known.
std::optional<int64_t> getChannels(nsa::KernelOp kernel, mlir::Value tensor);

/// Whether a row's first key moves along with the row.
bool isBand(const nsa::MaskInfo &mask);

/// Least number of keys that a row sees in front of its own place, if the mask
/// has a constant for it; otherwise 0.
int64_t getReach(const nsa::MaskInfo &mask);

/// Whether scores are plain products: no code for scores or weights, and a mask
/// of key ranges alone.
bool isPlain(nsa::ScoringOpInterface attend, const nsa::MaskInfo &mask);

struct DenseAttention {
  nsa::ScoringOpInterface attend;
  int64_t channels = 0;
};

/// The only op of a scope, if it is an attention over keys that aren't
/// selected. None where operands aren't 16 bits wide or can't be copied in
/// rows.
std::optional<DenseAttention> findDenseAttention(const Scope &scope);

/// The only attention of a kernel, if it goes over a selection of long blocks.
/// Null where there are others, where keys and values aren't 16 bits wide, or
/// where rows are ragged. A sequence has few such blocks, so neighbouring
/// tokens together select most of them. The cost of a row's partial sums is
/// small beside a block's length.
nsa::ScoringOpInterface findLongBlocks(nsa::KernelOp kernel);

/// The first attention to pooled keys with log-sum-exps for an importance and a
/// result for other ops; null where there is none.
nsa::ScoringOpInterface findRanking(nsa::KernelOp kernel);
/// Whether a call can be cut so that few of the ranking attention's results
/// stand in memory at a time, if the compiler chooses all orders.
bool canCutRanking(nsa::KernelOp kernel, nsa::ScoringOpInterface ranking);
/// The first pooled dimension of an attention's keys; null where there is none.
nsa::PooledDimAttr getPooledKeys(nsa::ScoringOpInterface attend);

/// Whether tiles of either two or three warpgroups may be the faster ones.
/// Fewer channels take three. With more, registers suffice for two only.
bool hasChoice(int64_t channels);

} // namespace nsacc::schedule

#endif // NSACC_LIB_SCHEDULE_KERNELFACTS_H
