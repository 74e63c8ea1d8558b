//===- WriteObject.h - Bytes as an object file ------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_WRITEOBJECT_H
#define NSACC_TOOLS_NSACC_WRITEOBJECT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace nsacc {

/// The architecture of this process, by the names that writeObject takes; empty
/// if it isn't one of them.
llvm::StringRef getHostArchitecture();

/// A relocatable ELF object whose read-only data is `bytes`, with `symbol` at
/// its beginning and `symbol`_end after it. `architecture` is "x86-64" or
/// "aarch64", or another name for one of these; any other is an error.
llvm::Expected<std::string> writeObject(llvm::StringRef bytes,
                                        llvm::StringRef symbol,
                                        llvm::StringRef architecture);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_WRITEOBJECT_H
