//===- ProgramNames.h - Names of a program for editors ----------*- C++ -*-===//

#ifndef NSACC_TOOLS_LSP_SERVER_PROGRAMNAMES_H
#define NSACC_TOOLS_LSP_SERVER_PROGRAMNAMES_H

#include "llvm/Support/LSP/Protocol.h"
#include <optional>

namespace nsacc {

/// Describes the word at a position: a name of the program with its type, or a
/// word of the language.
std::optional<llvm::lsp::Hover> findHover(llvm::StringRef text,
                                          llvm::lsp::Position place);
/// The place in the program that defines the name at a position.
std::optional<llvm::lsp::Location>
findDefinition(const llvm::lsp::URIForFile &uri, llvm::StringRef text,
               llvm::lsp::Position place);
/// All places of the program's own name at a place, also that which gives it
/// where `withDefinition` says so.
std::vector<llvm::lsp::Location>
listReferences(const llvm::lsp::URIForFile &uri, llvm::StringRef text,
               llvm::lsp::Position place, bool withDefinition);
/// Names that may stand at a place.
llvm::lsp::CompletionList listCompletions(llvm::StringRef text,
                                          llvm::lsp::Position place);

} // namespace nsacc

#endif // NSACC_TOOLS_LSP_SERVER_PROGRAMNAMES_H
