//===- ShippedSeeds.h - Schedules that were fast elsewhere ------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_SHIPPEDSEEDS_H
#define NSACC_LIB_DRIVER_SHIPPEDSEEDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace nsacc {

/// A schedule that was the fastest on an H200 for some sizes of a kernel. For
/// other sizes it is an ordinary candidate.
struct ShippedSeed {
  /// Lines of a key.
  llvm::StringLiteral kernel, queries, target;
  llvm::StringLiteral schedule;
};

llvm::ArrayRef<ShippedSeed> getShippedSeeds();

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_SHIPPEDSEEDS_H
