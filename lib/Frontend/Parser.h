//===- Parser.h - From tokens to syntax -------------------------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_PARSER_H
#define NSACC_LIB_FRONTEND_PARSER_H

#include "AST.h"
#include "Lexer.h"
#include "llvm/ADT/StringSet.h"

namespace nsacc::frontend {

/// A recursive-descent parser. After an error it continues at the next clause,
/// statement or kernel, so that one run reports several errors.
class Parser {
public:
  /// The deepest nesting of expressions; code that walks them recurses as deep.
  static constexpr unsigned maxHeight = 256;

  Parser(const Source &source, Problems &problems, ast::File &file)
      : source(source), problems(problems), file(file), lexer(source, problems),
        token(lexer.next()), ahead(lexer.next()) {}

  void parseFile();
  /// Parses one expression that takes the whole text, as a parameter's value
  /// does.
  ast::Expr *parseWholeExpr();

private:
  using Kind = Token::Kind;

  // ParserKernel.cpp
  void parseKernel();
  /// Skips to the next line that begins a kernel.
  void skipToKernel();
  bool parseHeader(ast::Kernel &kernel);
  /// Reports syntax of other languages after the type of an input.
  bool checkInputEnd(const ast::Kernel &kernel);
  bool parseParams(ast::Kernel &kernel);
  bool parseParam(ast::Kernel &kernel);
  bool parseInputs(ast::Kernel &kernel);
  bool parseInputGroup(ast::Kernel &kernel);
  bool parseResults(ast::Kernel &kernel);
  bool parseResult(ast::Kernel &kernel);
  bool parseType(ast::Type &type);
  bool parseDim(llvm::SmallVectorImpl<ast::Dim> &dims);

  // ParserStatement.cpp
  void parseBody(ast::Kernel &kernel);
  void parseStatement(ast::Kernel &kernel);
  /// Reports a statement of another language, and skips it with its content.
  /// False for other statements.
  bool parseForeignStatement(ast::Kernel &kernel);
  void skipForeignStatement(ast::Kernel &kernel);
  void skipBraces(ast::Kernel &kernel);
  void skipIndented(ast::Kernel &kernel, unsigned column);
  /// Skips a token. Names that it assigns are declared.
  void skip(ast::Kernel &kernel);
  /// Whether the kernel at the token is inside of the one before it.
  bool isNestedKernel(const ast::Kernel &outer) const;
  /// Whether the name at the token gets a value.
  bool isAssigned() const;
  /// Whether 'return' is at the token. A misspelling is reported.
  bool atReturn();
  bool parseTargets(llvm::SmallVectorImpl<ast::Name> &names);
  void finishStatement(ast::Kernel &kernel);

  // ParserExpr.cpp
  /// Null after an error, which has been reported.
  ast::Expr *parseExpr() { return parseBinary(0); }
  /// Parses without comparisons: within `<…>` they would end the list.
  ast::Expr *parseSum();
  ast::Expr *parseBinary(unsigned minPrecedence);
  /// Takes an operator. An operator of another language is an error that says
  /// what to write instead.
  Token takeOperator(llvm::StringRef instead);
  /// Takes operators of other languages that are two tokens here.
  bool takeJoinedOperator(ast::Operator &op);
  ast::Expr *parseComparison(ast::Expr *first, unsigned precedence);
  ast::Expr *parseUnary();
  ast::Expr *parsePostfix();
  ast::Expr *parsePrimary();
  ast::Expr *parseNumber();
  ast::Expr *parseParenthesized();
  ast::Expr *parseBars();
  ast::Expr *parseIndex(ast::Expr *base);
  /// Reports an expression of another language that begins with a word. False
  /// for others.
  bool reportForeignExpr();
  /// Reports a function's name whose arguments have no bracket. False for
  /// others.
  bool reportNoBracket(ast::Name callee);
  ast::Expr *reportNoExpr();
  /// Reports a keyword with arguments, and skips these.
  ast::Expr *reportKeywordCall();
  /// Checks the nesting of `expr` now that it has `children`.
  ast::Expr *nest(ast::Expr *expr, llvm::ArrayRef<ast::Expr *> children);

  // ParserCall.cpp
  ast::Expr *parseCall(ast::Name callee);
  bool parseArguments(ast::Name callee,
                      llvm::SmallVectorImpl<ast::Argument> &arguments);
  bool parseArgument(llvm::SmallVectorImpl<ast::Argument> &arguments);
  void parseClauses(ast::Name call,
                    llvm::SmallVectorImpl<ast::Clause> &clauses);
  /// Reports a clause at the token that may belong to `callee` or to the
  /// enclosing `outer`.
  void reportAmbiguous(ast::Name callee, llvm::StringRef outer);
  bool parseClause(ast::Clause &clause);
  bool parseForced(ast::Clause &clause);
  /// The number after the words of a clause; null if the clause ends there, or
  /// another one begins.
  ast::Expr *parseCount(const llvm::Twine &what, llvm::StringRef words);
  bool parseShare(ast::Clause &clause);
  bool atClause() const;
  /// Whether the token is a clause inside the brackets of `callee`.
  bool atClauseInside(llvm::StringRef callee) const;
  void reportClauseInside(ast::Name callee);
  /// Reports a token that is neither a clause of `callee` nor an end. False if
  /// it reported one.
  bool checkClauseEnd(llvm::StringRef callee);
  /// Whether a new statement begins in the same line after one of `callee`
  /// without a separator.
  bool isJoinedStatement(llvm::StringRef callee) const;
  void skipToClause();

  // Tokens
  bool at(Kind kind) const { return token.is(kind); }
  Token take();
  bool takeIf(Kind kind);
  /// Takes `kind`, or reports that it is missing `where` ("after the …").
  bool expect(Kind kind, const llvm::Twine &where);
  bool expectName(ast::Name &name, const llvm::Twine &what);
  /// Whether a keyword is used as a name.
  bool atKeywordAsName() const;
  /// Takes the word at the token. A keyword is reported, and is a name from
  /// then on, so that its uses cause no further errors.
  ast::Name takeNewName();
  ast::Name getName(Token word) const { return getName(word.range); }
  ast::Name getName(Range word) const { return {source.getText(word), word}; }
  std::string describeFound() const;
  bool onNewLine() const;
  /// Whether the token begins a statement after one that isn't complete: `name
  /// =` on a new line.
  bool startsStatement() const;
  /// Reports a comment after an operand that is meant as a division of
  /// integers, and continues as if it were one.
  void checkComment();
  bool isParam(llvm::StringRef comment) const;
  /// The place where something is missing: before the token, or after the line
  /// before it.
  Range getGap() const;
  /// Reports a word that is reserved for a future feature. False for others.
  bool reportReserved();

  const Source &source;
  Problems &problems;
  ast::File &file;
  Lexer lexer;
  Token token, ahead;
  /// End of the token before `token`.
  uint32_t lastEnd = 0;
  unsigned depth = 0;
  /// The calls whose clauses are being parsed, with no bracket in between: the
  /// next clause could belong to any of them.
  llvm::SmallVector<llvm::StringRef, 4> openCalls;
  /// Names that the kernel defines, and the keywords among them.
  llvm::StringSet<> knownNames, keywordNames;
};

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_PARSER_H
