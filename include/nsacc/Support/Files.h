//===- Files.h - Files that others name -------------------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_FILES_H
#define NSACC_SUPPORT_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace nsacc {

/// Fails where a path is a device's, as /dev/zero is, which may have no end.
/// `what` is what the file should be, "a program".
llvm::Error refuseDevice(llvm::StringRef path, llvm::StringRef what);

} // namespace nsacc

#endif // NSACC_SUPPORT_FILES_H
