//===- ProgramNames.h - What an editor asks about names ---------*- C++ -*-===//

#ifndef NSACC_TOOLS_LSP_SERVER_PROGRAMNAMES_H
#define NSACC_TOOLS_LSP_SERVER_PROGRAMNAMES_H

#include "llvm/Support/LSP/Protocol.h"
#include <optional>

namespace nsacc {

/// Tells of the word at a place: the program's own name with its type, or one
/// of the language.
std::optional<llvm::lsp::Hover> findHover(llvm::StringRef text,
                                          llvm::lsp::Position place);
/// The place in the program that gives the name at a place.
std::optional<llvm::lsp::Location>
findDefinition(const llvm::lsp::URIForFile &uri, llvm::StringRef text,
               llvm::lsp::Position place);
/// Names that may stand at a place.
llvm::lsp::CompletionList listCompletions(llvm::StringRef text,
                                          llvm::lsp::Position place);

} // namespace nsacc

#endif // NSACC_TOOLS_LSP_SERVER_PROGRAMNAMES_H
