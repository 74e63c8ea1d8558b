//===- PackageVariants.h - Packages for several sizes -----------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_PACKAGEVARIANTS_H
#define NSACC_LIB_DRIVER_PACKAGEVARIANTS_H

#include "nsacc/RT/Package.h"
#include "nsacc/Schedule/QueryCount.h"
#include "nsacc/Tensor/Signature.h"
#include "llvm/Support/Error.h"

namespace nsacc {

/// The result of one compilation: a package of one variant without guards,
/// whose parameters have the sizes that it is for.
struct PackageVariant {
  rt::Package package;
  /// Conditions on other sizes.
  std::vector<SizeCondition> conditions;
};

/// Calls rt::readPackage and turns its exception into an error.
llvm::Expected<rt::Package> readPackage(llvm::StringRef bytes,
                                        rt::CodeFor wanted = rt::CodeFor::All);

/// Combines all variants of a kernel into one package, in their order. Sizes
/// that differ become guards, and so do conditions; sizes that all variants
/// share stay with the parameters. Equal images are stored once. A variant is
/// left out if the next one has the same code for the same sizes and more.
llvm::Expected<rt::Package>
combineVariants(std::vector<PackageVariant> variants);

/// Combines packages of a kernel for several targets into one. Devices run the
/// code for the newest target that they can.
llvm::Expected<rt::Package> combineTargets(std::vector<rt::Package> packages);

/// Fails if sizes of a package's variants are known, and adds them.
llvm::Error checkIsNew(const std::vector<std::string> &sizes,
                       std::vector<std::vector<std::string>> &known,
                       const Signature &signature);

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_PACKAGEVARIANTS_H
