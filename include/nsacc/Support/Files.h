//===- Files.h - Files that others name -------------------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_FILES_H
#define NSACC_SUPPORT_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace nsacc {

/// Fails where a path is a device's, as /dev/zero is, which may have no end.
/// `what` is what the file should be, "a program".
llvm::Error refuseDevice(llvm::StringRef path, llvm::StringRef what);

/// Writes a file through a temporary one beside it, so that readers see all or
/// nothing. llvm::sys::fs::TempFile does, too, and takes handlers of signals
/// from the process. `mode` is what llvm::sys::fs::openFile takes.
llvm::Error writeWhole(llvm::StringRef path, unsigned mode,
                       llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace nsacc

#endif // NSACC_SUPPORT_FILES_H
