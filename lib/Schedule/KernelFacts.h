//===- KernelFacts.h - What choices of tiles ask of kernels -----*- C++ -*-===//

#ifndef NSACC_LIB_SCHEDULE_KERNELFACTS_H
#define NSACC_LIB_SCHEDULE_KERNELFACTS_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/IR/NSAOps.h"

namespace nsacc::schedule {

/// The size of a tensor's dimension that the kernel was specialized for.
std::optional<int64_t> getSize(nsa::KernelOp kernel, mlir::Attribute dim);

/// Whether a row's first key moves along with it.
bool isBand(const nsa::MaskInfo &mask);

/// Scores that are nothing but products.
bool isPlain(nsa::AttendOp attend, const nsa::MaskInfo &mask);

/// The attention that goes over selected blocks; null if there is none.
nsa::AttendOp findSelecting(nsa::KernelOp kernel);

struct DenseAttention {
  nsa::AttendOp attend;
  int64_t channels = 0;
};

/// The one attention of a kernel over keys that aren't selected; none where
/// operands are no halves or can't be copied in rows.
std::optional<DenseAttention> findDenseAttention(nsa::KernelOp kernel);

/// Channels for which tiles of two or of three warpgroups may be the faster
/// ones: with fewer it's three, with more there are registers for two.
bool hasChoice(int64_t channels);

} // namespace nsacc::schedule

#endif // NSACC_LIB_SCHEDULE_KERNELFACTS_H
