//===- PackageFile.h - Packages as files ------------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_PACKAGEFILE_H
#define NSACC_TOOLS_NSACC_PACKAGEFILE_H

#include "nsacc/RT/Package.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace nsacc {

/// A package, and the bytes that it was read from.
struct PackageFile {
  std::unique_ptr<llvm::MemoryBuffer> bytes;
  rt::Package package;
};

/// Reads and checks a package. The error names the file.
llvm::Expected<PackageFile> readPackageFile(llvm::StringRef path);

/// "q: bf16[B, T, 16, 64]"
std::string toString(const rt::Parameter &parameter);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_PACKAGEFILE_H
