//===- PackageVariants.h - Packages for several sizes -----------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_PACKAGEVARIANTS_H
#define NSACC_LIB_DRIVER_PACKAGEVARIANTS_H

#include "nsacc/RT/Package.h"
#include "nsacc/Schedule/QueryCount.h"
#include "nsacc/Tensor/Signature.h"
#include "llvm/Support/Error.h"

namespace nsacc {

/// What one compilation made: a package of one variant without guards, whose
/// parameters have the sizes that it is for.
struct PackageVariant {
  rt::Package package;
  /// What has to hold of other sizes.
  std::vector<SizeCondition> conditions;
};

/// rt::readPackage, whose exception is an error.
llvm::Expected<rt::Package> readPackage(llvm::StringRef bytes,
                                        rt::CodeFor wanted = rt::CodeFor::All);

/// One package of a kernel with all of its variants, in their order. Sizes that
/// differ are guards, as are conditions; those that all share stay with the
/// parameters. Equal images stand in it once, and a variant whose code is that
/// of the next one, which is for the same sizes and more, is left out.
llvm::Expected<rt::Package>
combineVariants(std::vector<PackageVariant> variants);

/// One package of packages of a kernel for several targets. What runs on a
/// device runs the code for the newest one that it can.
llvm::Expected<rt::Package> combineTargets(std::vector<rt::Package> packages);

/// Fails where sizes of a package's variants are known, and adds them.
llvm::Error checkIsNew(const std::vector<std::string> &sizes,
                       std::vector<std::vector<std::string>> &known,
                       const Signature &signature);

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_PACKAGEVARIANTS_H
