//===- NSAToNSATile.h - From whole tensors to tiles -------------*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
#define NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H

#include "NSATile/IR/NSATileDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "nsacc/GPU/DeviceOption.h"
#include "nsacc/Schedule/QueryCount.h"
#include "nsacc/Schedule/Settings.h"
#include <utility>

namespace mlir::affine {
class AffineDialect;
} // namespace mlir::affine

namespace nsacc {

/// Spellings of `Queries` in options of passes.
inline auto getQueriesValues() {
  return []<size_t... I>(std::index_sequence<I...>) {
    return llvm::cl::values(llvm::cl::OptionEnumValue{
        kQueries[I].name, static_cast<int>(kQueries[I].queries),
        kQueries[I].description}...);
  }(std::make_index_sequence<std::size(kQueries)>());
}

/// Attribute of ops that weren't converted because a block has no room for
/// their tiles: smaller tiles may fit. Its text is the name of the program, and
/// empty for the main one.
inline constexpr llvm::StringLiteral kTooLargeAttrName = "nsacc.too_large";

#define GEN_PASS_DECL
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

#define GEN_PASS_REGISTRATION
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATONSATILE_NSATONSATILE_H
