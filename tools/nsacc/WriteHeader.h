//===- WriteHeader.h - A package's functions in C ---------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_WRITEHEADER_H
#define NSACC_TOOLS_NSACC_WRITEHEADER_H

#include "nsacc/RT/Package.h"
#include "llvm/ADT/StringRef.h"

namespace nsacc {

struct HeaderOptions {
  /// What names begin with.
  std::string prefix;
  /// Size of the package where an object has it, as PREFIX_package; else 0.
  size_t embeddedBytes = 0;
};

/// A header of C and C++ with functions that load the package and launch its
/// kernel. The package has parameters.
std::string writeHeader(const rt::Package &package,
                        const HeaderOptions &options);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_WRITEHEADER_H
