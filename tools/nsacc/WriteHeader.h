//===- WriteHeader.h - A package's functions in C ---------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_WRITEHEADER_H
#define NSACC_TOOLS_NSACC_WRITEHEADER_H

#include "nsacc/RT/Package.h"
#include "llvm/ADT/StringRef.h"

namespace nsacc {

struct HeaderOptions {
  /// Prefix of the names.
  std::string prefix;
  /// Whether an object file contains the package, from PREFIX_package to
  /// PREFIX_package_end.
  bool isEmbedded = false;
};

/// A header of C and C++ with functions that load the package and launch its
/// kernel. The package must have parameters.
std::string writeHeader(const rt::Package &package,
                        const HeaderOptions &options);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_WRITEHEADER_H
