//===- NSAToNSATile.h - From whole tensors to tiles -------------*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
#define NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H

#include "NSATile/IR/NSATileDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "nsacc/GPU/DeviceOption.h"
#include "nsacc/Schedule/Settings.h"

namespace mlir::affine {
class AffineDialect;
} // namespace mlir::affine

namespace nsacc {

#define GEN_PASS_DECL
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

#define GEN_PASS_REGISTRATION
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
