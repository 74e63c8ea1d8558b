//===- ProgramDiagnostics.h - Diagnostics for editors -----------*- C++ -*-===//

#ifndef NSACC_TOOLS_LSP_SERVER_PROGRAMDIAGNOSTICS_H
#define NSACC_TOOLS_LSP_SERVER_PROGRAMDIAGNOSTICS_H

#include "llvm/Support/LSP/Protocol.h"

namespace nsacc {

/// Runs the front end over a program. Notes become related information; ranges
/// count UTF-16 units, as the protocol wants.
std::vector<llvm::lsp::Diagnostic>
getProgramDiagnostics(const llvm::lsp::URIForFile &uri, llvm::StringRef text);

} // namespace nsacc

#endif // NSACC_TOOLS_LSP_SERVER_PROGRAMDIAGNOSTICS_H
