//===- Files.h - Files that users name --------------------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_FILES_H
#define NSACC_SUPPORT_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace nsacc {

/// Fails if a path is a device's, as /dev/zero, which may have no end. `what`
/// is the expected kind of file, "a program".
llvm::Error refuseDevice(llvm::StringRef path, llvm::StringRef what);

/// Writes a file through a temporary one beside it, so that readers see the
/// whole file or none. llvm::sys::fs::TempFile does so, too, but changes the
/// process's signal handlers. `mode` is as in llvm::sys::fs::openFile.
llvm::Error writeWhole(llvm::StringRef path, unsigned mode,
                       llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace nsacc

#endif // NSACC_SUPPORT_FILES_H
