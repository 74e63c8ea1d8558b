//===- NSAToNSATile.h - From whole tensors to tiles -------------*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
#define NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H

#include "NSATile/IR/NSATileDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "nsacc/GPU/DeviceOption.h"
#include "nsacc/Schedule/QueryCount.h"
#include "nsacc/Schedule/Settings.h"

namespace mlir::affine {
class AffineDialect;
} // namespace mlir::affine

namespace nsacc {

/// How passes' options spell them.
inline auto getQueriesValues() {
  return llvm::cl::values(
      clEnumValN(Queries::Any, "any", "any number"),
      clEnumValN(Queries::Few, "few",
                 "too few for a GPU, over many keys: the keys are split"),
      clEnumValN(Queries::Many, "many", "many long batch rows"));
}

#define GEN_PASS_DECL
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

#define GEN_PASS_REGISTRATION
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
