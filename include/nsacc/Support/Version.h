//===- Version.h - Versions of nsacc and of LLVM ----------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_VERSION_H
#define NSACC_SUPPORT_VERSION_H

#include "llvm/ADT/StringRef.h"

namespace nsacc {

/// "0.1.0"
llvm::StringRef getVersion();
/// The version of LLVM and MLIR that nsacc was built with.
llvm::StringRef getLLVMVersion();
/// Identifies this compiler's code: a hash of the sources that it was built
/// from, and of LLVM's version.
llvm::StringRef getSourceHash();

} // namespace nsacc

#endif // NSACC_SUPPORT_VERSION_H
