//===- NSAToNSATile.h - From whole tensors to tiles -------------*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
#define NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H

#include "NSATile/IR/NSATileDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::affine {
class AffineDialect;
} // namespace mlir::affine

namespace nsacc {

namespace nsa {
class KernelOp;
} // namespace nsa

/// From so many query tokens on, batch rows count as long.
constexpr int64_t kLongRow = 16384;

/// The dimension of query tokens, for kernels whose tiles on a GPU depend on
/// whether it is long.
std::optional<llvm::StringRef> getLengthDim(nsa::KernelOp kernel);

#define GEN_PASS_DECL
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

#define GEN_PASS_REGISTRATION
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
