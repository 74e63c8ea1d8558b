//===- Spellings.h - How other languages say it -----------------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_SPELLINGS_H
#define NSACC_LIB_FRONTEND_SPELLINGS_H

#include "Lexer.h"

namespace nsacc::frontend {

// What users write who think in another language, and how it's said here; empty
// for words that no message is known for.

/// A word where a clause of attend could stand.
llvm::StringRef explainClause(llvm::StringRef word);
/// A function of tensors or of numbers.
llvm::StringRef explainFunction(llvm::StringRef name);
/// An element type.
llvm::StringRef explainType(llvm::StringRef name);
/// What follows the point behind a value.
llvm::StringRef explainMember(llvm::StringRef name);
/// The name of a value.
llvm::StringRef explainName(llvm::StringRef name);
/// The first word of a statement, in front of the name that it gives a value.
llvm::StringRef explainStatement(llvm::StringRef word);
/// The first word of a statement with others in it, or of one that names files.
llvm::StringRef explainBlock(llvm::StringRef word);
/// A word that begins a line which names other files.
llvm::StringRef explainImport(llvm::StringRef word);
/// An operator behind an operand.
llvm::StringRef explainOperator(Token::Kind kind);

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_SPELLINGS_H
