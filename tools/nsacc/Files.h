//===- Files.h - Files of commands ------------------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_FILES_H
#define NSACC_TOOLS_NSACC_FILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace nsacc {

/// Reads a file, or standard input for "-". `what` is the expected content, "a
/// program".
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(llvm::StringRef path, llvm::StringRef what);

/// Reads a file of JSON.
llvm::Expected<llvm::json::Value> readJSONFile(llvm::StringRef path,
                                               llvm::StringRef what);

struct OutputFile {
  llvm::StringRef path; ///< "-": standard output
  llvm::StringRef bytes;
};

/// Fails if `path` is standard output and a terminal: binary data garbles it.
/// `flag` is the option that names a file instead.
llvm::Error refuseTerminal(llvm::StringRef path, const llvm::Twine &what,
                           llvm::StringRef flag);

/// Writes all files; if one can't be written, leaves none.
llvm::Error writeFiles(llvm::ArrayRef<OutputFile> files);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_FILES_H
