//===- Parser.h - From tokens to syntax -------------------------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_PARSER_H
#define NSACC_LIB_FRONTEND_PARSER_H

#include "AST.h"
#include "Lexer.h"
#include "llvm/ADT/StringSet.h"

namespace nsacc::frontend {

/// A recursive-descent parser. After an error it goes on at the next clause,
/// statement or kernel, so that one run reports several.
class Parser {
public:
  /// How deep expressions may nest; what walks them recurses as deep.
  static constexpr unsigned maxHeight = 256;

  Parser(const Source &source, Problems &problems, ast::File &file)
      : source(source), problems(problems), file(file), lexer(source, problems),
        token(lexer.next()), ahead(lexer.next()) {}

  void parseFile();
  /// One expression that takes the whole text, as a parameter's value does.
  ast::Expr *parseWholeExpr();

private:
  using Kind = Token::Kind;

  // ParserKernel.cpp
  void parseKernel();
  /// Goes on at the next line that begins a kernel.
  void skipToKernel();
  bool parseHeader(ast::Kernel &kernel);
  /// Reports what other languages write behind the type of an input.
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
  /// Reports a statement that only other languages have, and skips it with all
  /// that it holds. False for others.
  bool parseForeignStatement(ast::Kernel &kernel);
  void skipForeignStatement(ast::Kernel &kernel);
  void skipBraces(ast::Kernel &kernel);
  void skipIndented(ast::Kernel &kernel, unsigned column);
  /// Takes a token of what is skipped. Names that it assigns exist.
  void skip(ast::Kernel &kernel);
  /// Whether the kernel at the token stands within the one before it.
  bool isNestedKernel(const ast::Kernel &outer) const;
  /// Whether the name at the token gets a value.
  bool isAssigned() const;
  /// Whether 'return' is at the token. A misspelt one is reported.
  bool atReturn();
  bool parseTargets(llvm::SmallVectorImpl<ast::Name> &names);
  void finishStatement(ast::Kernel &kernel);

  // ParserExpr.cpp
  /// Null after an error, which has been reported.
  ast::Expr *parseExpr() { return parseBinary(0); }
  /// Without comparisons: within `<…>` these would end the list.
  ast::Expr *parseSum();
  ast::Expr *parseBinary(unsigned minPrecedence);
  /// Takes an operator; one of another language is an error that says what to
  /// write instead.
  Token takeOperator(llvm::StringRef instead);
  /// Operators of other languages that are two tokens here.
  bool takeJoinedOperator(ast::Operator &op);
  ast::Expr *parseComparison(ast::Expr *first, unsigned precedence);
  ast::Expr *parseUnary();
  ast::Expr *parsePostfix();
  ast::Expr *parsePrimary();
  ast::Expr *parseNumber();
  ast::Expr *parseParenthesized();
  ast::Expr *parseBars();
  ast::Expr *parseIndex(ast::Expr *base);
  /// Another language's expression that begins with a word. False for others.
  bool reportForeignExpr();
  /// A function's name that its arguments follow without a bracket. False for
  /// others.
  bool reportNoBracket(ast::Name callee);
  ast::Expr *reportNoExpr();
  /// A keyword with arguments, which are read past.
  ast::Expr *reportKeywordCall();
  /// Checks how deep `expr` nests now that it has `children`.
  ast::Expr *nest(ast::Expr *expr, llvm::ArrayRef<ast::Expr *> children);

  // ParserCall.cpp
  ast::Expr *parseCall(ast::Name callee);
  bool parseArguments(ast::Name callee,
                      llvm::SmallVectorImpl<ast::Argument> &arguments);
  bool parseArgument(llvm::SmallVectorImpl<ast::Argument> &arguments);
  void parseClauses(ast::Name call,
                    llvm::SmallVectorImpl<ast::Clause> &clauses);
  /// The clause at the token may be meant for `callee` or, around it, `outer`.
  void reportAmbiguous(ast::Name callee, llvm::StringRef outer);
  bool parseClause(ast::Clause &clause);
  bool parseForced(ast::Clause &clause);
  /// The number behind the words of a clause, which an end or another clause
  /// isn't.
  ast::Expr *parseCount(const llvm::Twine &what, llvm::StringRef words);
  bool parseShare(ast::Clause &clause);
  bool atClause() const;
  /// Whether a clause stands within the brackets of `callee`.
  bool atClauseInside(llvm::StringRef callee) const;
  void reportClauseInside(ast::Name callee);
  /// Reports what stands where a clause of `callee` or an end could. False if
  /// it did.
  bool checkClauseEnd(llvm::StringRef callee);
  /// Whether a statement begins behind one of `callee` without an end, in the
  /// same line.
  bool isJoinedStatement(llvm::StringRef callee) const;
  void skipToClause();

  // Tokens
  bool at(Kind kind) const { return token.is(kind); }
  Token take();
  bool takeIf(Kind kind);
  /// Takes `kind`, or reports that it is missing `where` ("after the …").
  bool expect(Kind kind, const llvm::Twine &where);
  bool expectName(ast::Name &name, const llvm::Twine &what);
  /// Whether a keyword stands where a name is meant.
  bool atKeywordAsName() const;
  /// Takes the word at the token. A keyword is reported, and from then on reads
  /// as a name: what uses it is no mistake of its own.
  ast::Name takeNewName();
  ast::Name getName(Token word) const { return getName(word.range); }
  ast::Name getName(Range word) const { return {source.getText(word), word}; }
  std::string describeFound() const;
  bool onNewLine() const;
  /// Whether a statement without an end lies behind: `name =` on a new line.
  bool startsStatement() const;
  /// Reports a comment behind an operand that is meant as a division of
  /// integers, and reads on as if it were one.
  void checkComment();
  bool isParam(llvm::StringRef comment) const;
  /// Where something is missing: in front of the token, or behind the line
  /// before it.
  Range getGap() const;
  /// Reports a word that is kept for a feature to come. False for others.
  bool reportReserved();

  const Source &source;
  Problems &problems;
  ast::File &file;
  Lexer lexer;
  Token token, ahead;
  /// End of the token before `token`.
  uint32_t lastEnd = 0;
  unsigned depth = 0;
  /// The calls whose clauses are being parsed, with no bracket in between: a
  /// clause that comes next could belong to any of them.
  llvm::SmallVector<llvm::StringRef, 4> openCalls;
  /// What the kernel names, and which of these are keywords.
  llvm::StringSet<> knownNames, keywordNames;
};

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_PARSER_H
