//===- Lexer.h - From text to tokens ----------------------------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_LEXER_H
#define NSACC_LIB_FRONTEND_LEXER_H

#include "Problems.h"
#include "Source.h"

namespace nsacc::frontend {

struct Token {
  enum class Kind : uint8_t {
    EndOfFile,
    Identifier,
    Integer,
    Real,
    /// Text instead of a number; it was reported.
    BadNumber,
#define KEYWORD(NAME) kw_##NAME,
#define PUNCTUATION(NAME, SPELLING) NAME,
#include "Tokens.def"
  };

  bool is(Kind other) const { return kind == other; }
  template <typename... Kinds> bool isAny(Kinds... kinds) const {
    return ((kind == kinds) || ...);
  }

  Kind kind = Kind::EndOfFile;
  Range range;
};

/// `'where'`, `a name`, … for "expected …" messages.
llvm::StringRef describe(Token::Kind kind);
/// Whether the word may come before `=` in a call, as names and keywords may.
bool isWord(Token::Kind kind);

class Lexer {
public:
  Lexer(const Source &source, Problems &problems)
      : source(source), text(source.getText()), problems(problems),
        at(text.starts_with("\xEF\xBB\xBF") ? 3 : 0) {} // a byte order mark

  /// The next token. Text that isn't a token is reported and skipped.
  Token next();
  /// Continues at `offset`.
  void restart(uint32_t offset) { at = offset; }

private:
  void skipBlanks();
  void skipBlockComment();
  Token lexWord();
  Token lexNumber();
  bool lexPunctuation(Token &token);
  /// Reports text that isn't a token. False if it is to be skipped, true if
  /// `token` replaces it.
  bool lexUnknown(Token &token);
  /// Reports text in quotes. False if there is none.
  bool skipString();
  Token finish(Token::Kind kind, uint32_t begin) { return {kind, {begin, at}}; }
  char peek(uint32_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }

  const Source &source;
  llvm::StringRef text;
  Problems &problems;
  uint32_t at;
  bool hasWideBlanks = false;
};

/// Reports text that isn't UTF-8, is too large or has no content. False if
/// lexing it makes no sense.
bool checkText(const Source &source, Problems &problems);

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_LEXER_H
