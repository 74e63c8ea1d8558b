//===- PackageVariants.h - Packages for several sizes -----------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_PACKAGEVARIANTS_H
#define NSACC_LIB_DRIVER_PACKAGEVARIANTS_H

#include "nsacc/RT/Package.h"
#include "nsacc/Schedule/QueryCount.h"
#include "llvm/Support/Error.h"

namespace nsacc {

/// What one compilation made: a package of one variant without guards, whose
/// parameters have the sizes that it is for.
struct PackageVariant {
  rt::Package package;
  /// What has to hold of other sizes.
  std::vector<SizeCondition> conditions;
};

/// One package of a kernel with all of its variants, in their order. Sizes that
/// differ are guards, as are conditions; those that all share stay with the
/// parameters. Equal images stand in it once, and a variant whose code is that
/// of the next one, which is for the same sizes and more, is left out.
llvm::Expected<rt::Package>
combineVariants(std::vector<PackageVariant> variants);

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_PACKAGEVARIANTS_H
