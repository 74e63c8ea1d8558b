//===- NSAToNSATile.h - From whole tensors to tiles -------------*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
#define NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H

#include "NSATile/IR/NSATileDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "nsacc/GPU/DeviceOption.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace mlir::affine {
class AffineDialect;
} // namespace mlir::affine

namespace nsacc {

namespace nsa {
class KernelOp;
} // namespace nsa

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

/// Says what is wrong with a schedule for any kernel, such as a name that none
/// has. "" is right.
llvm::Error checkSchedule(llvm::StringRef schedule);

#define GEN_PASS_DECL
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

#define GEN_PASS_REGISTRATION
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
