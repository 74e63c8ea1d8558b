//===- Messages.h - Errors of the command line ------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_MESSAGES_H
#define NSACC_TOOLS_NSACC_MESSAGES_H

#include "nsacc/Support/ExitCode.h"
#include "nsacc/Support/Suggestions.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace nsacc {

/// An error and how to fix it, in two lines.
llvm::Error makeError(const llvm::Twine &message, const llvm::Twine &note = "");

/// Prints "nsacc: error: message" and the note; returns `status`.
ExitCode reportError(llvm::Error error, ExitCode status = ExitCode::UserError);

/// Prints "nsacc: warning: message".
void printWarning(llvm::StringRef message);

/// Text for JSON, which can't contain every file name.
std::string toUTF8(llvm::StringRef text);

/// "did you mean 'top'?", or `otherwise` if no name is near.
std::string suggest(llvm::StringRef name, llvm::ArrayRef<std::string> names,
                    const llvm::Twine &otherwise);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_MESSAGES_H
