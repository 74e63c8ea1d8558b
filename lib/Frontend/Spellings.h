//===- Spellings.h - Spellings of other languages ---------------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_SPELLINGS_H
#define NSACC_LIB_FRONTEND_SPELLINGS_H

#include "Lexer.h"

namespace nsacc::frontend {

// Words of users who are used to another language, and their equivalents here;
// empty for words without a message.

/// A word in the place of a clause of attend.
llvm::StringRef explainClause(llvm::StringRef word);
/// A function of tensors or of numbers.
llvm::StringRef explainFunction(llvm::StringRef name);
/// An element type.
llvm::StringRef explainType(llvm::StringRef name);
/// The name after the point after a value.
llvm::StringRef explainMember(llvm::StringRef name);
/// The name of a value.
llvm::StringRef explainName(llvm::StringRef name);
/// The first word of a statement, before the name that gets a value.
llvm::StringRef explainStatement(llvm::StringRef word);
/// The first word of a block of statements, or of one that names files.
llvm::StringRef explainBlock(llvm::StringRef word);
/// A word that begins a line that names other files.
llvm::StringRef explainImport(llvm::StringRef word);
/// An operator after an operand.
llvm::StringRef explainOperator(Token::Kind kind);

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_SPELLINGS_H
