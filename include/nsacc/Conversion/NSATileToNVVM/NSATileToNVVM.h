//===- NSATileToNVVM.h - Tile programs as GPU kernels -----------*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATILETONVVM_H
#define NSACC_CONVERSION_NSATILETONVVM_H

#include "mlir/Pass/Pass.h"

namespace nsacc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h.inc"

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATILETONVVM_H
