//===- Outline.h - The names of a program, and the language's own -*- C++ -*-=//

#ifndef NSACC_FRONTEND_OUTLINE_H
#define NSACC_FRONTEND_OUTLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>
#include <vector>

namespace nsacc::frontend {

/// A name and the place where a program gives it, in bytes of its text.
struct Definition {
  std::string name;
  /// The source text of the definition: "q: [B, T, HQ, D]".
  std::string text;
  size_t begin = 0, end = 0;
  /// Byte range of the kernel in which the name is visible.
  size_t kernelBegin = 0, kernelEnd = 0;
};

/// All names of a program, in the order of its text: parameters, inputs,
/// dimensions and statements. If the program has errors, the names that can be
/// read.
std::vector<Definition> listDefinitions(llvm::StringRef text);

/// The places of a name in its kernel, its definition's among them, in bytes.
std::vector<std::pair<size_t, size_t>> listUses(llvm::StringRef text,
                                                const Definition &definition);

/// A function, a clause or a name within clauses, how it is written, and what
/// it means.
struct Word {
  llvm::StringLiteral name, form, meaning;
};
llvm::ArrayRef<Word> getWords();

/// The keywords, except the reserved ones.
llvm::ArrayRef<llvm::StringLiteral> getKeywords();

} // namespace nsacc::frontend

#endif // NSACC_FRONTEND_OUTLINE_H
