//===- Outline.h - The names of a program, and the language's own -*- C++ -*-=//

#ifndef NSACC_FRONTEND_OUTLINE_H
#define NSACC_FRONTEND_OUTLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace nsacc::frontend {

/// A name and the place where a program gives it, in bytes of its text.
struct Definition {
  std::string name;
  /// The source of what it stands for: "q: [B, T, HQ, D]".
  std::string text;
  size_t begin = 0, end = 0;
  /// The kernel that knows the name.
  size_t kernelBegin = 0, kernelEnd = 0;
};

/// All names of a program, in the order of its text: parameters, inputs,
/// dimensions and statements. Of one with errors, those that can be read.
std::vector<Definition> listDefinitions(llvm::StringRef text);

/// A function or a clause, how it is written, and what it means.
struct Word {
  llvm::StringLiteral name, form, meaning;
};
llvm::ArrayRef<Word> getWords();

/// The keywords, but for those that are reserved.
llvm::ArrayRef<llvm::StringLiteral> getKeywords();

} // namespace nsacc::frontend

#endif // NSACC_FRONTEND_OUTLINE_H
