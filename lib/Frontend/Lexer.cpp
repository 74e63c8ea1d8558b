//===- Lexer.cpp - From text to tokens ------------------------------------===//

#include "Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;
using namespace nsacc::frontend;
using Kind = Token::Kind;

StringRef nsacc::frontend::describe(Kind kind) {
  switch (kind) {
  case Kind::EndOfFile:
    return "the end of the file";
  case Kind::Identifier:
    return "a name";
  case Kind::Integer:
  case Kind::Real:
  case Kind::BadNumber:
    return "a number";
#define KEYWORD(NAME)                                                          \
  case Kind::kw_##NAME:                                                        \
    return "'" #NAME "'";
#define PUNCTUATION(NAME, SPELLING)                                            \
  case Kind::NAME:                                                             \
    return "'" SPELLING "'";
#include "Tokens.def"
  }
  llvm_unreachable("unknown token");
}

bool nsacc::frontend::isWord(Kind kind) {
  switch (kind) {
  case Kind::Identifier:
#define KEYWORD(NAME) case Kind::kw_##NAME:
#include "Tokens.def"
    return true;
  default:
    return false;
  }
}

static bool isWordStart(char c) { return isAlpha(c) || c == '_'; }
static bool isWordPart(char c) { return isAlnum(c) || c == '_'; }

Token Lexer::next() {
  while (true) {
    skipBlanks();
    if (at == text.size())
      return {Kind::EndOfFile, {at, at}};
    char c = text[at];
    if (isWordStart(c))
      return lexWord();
    if (isDigit(c) || (c == '.' && isDigit(peek(1))))
      return lexNumber();
    Token token;
    if (lexPunctuation(token))
      return token;
    if (problems.full()) {
      at = text.size();
      continue;
    }
    if (lexUnknown(token))
      return token;
  }
}

void Lexer::skipBlanks() {
  while (at < text.size()) {
    if (isSpace(text[at])) {
      ++at;
    } else if (text.substr(at).starts_with("//")) {
      at = findLineEnd(text, at);
    } else if (text.substr(at).starts_with("/*")) {
      skipBlockComment();
    } else {
      return;
    }
  }
}

void Lexer::skipBlockComment() {
  uint32_t begin = at;
  size_t end = text.find("*/", at + 2);
  if (end != StringRef::npos) {
    at = end + 2;
    return;
  }
  at = text.size();
  problems.error({begin, begin + 2}, "this comment has no end")
      .note("close it with '*/', or use '//' for the rest of a line");
}

Token Lexer::lexWord() {
  uint32_t begin = at;
  while (at < text.size() && isWordPart(text[at]))
    ++at;
  Kind kind = StringSwitch<Kind>(text.slice(begin, at))
#define KEYWORD(NAME) .Case(#NAME, Kind::kw_##NAME)
#include "Tokens.def"
                  .Default(Kind::Identifier);
  return finish(kind, begin);
}

Token Lexer::lexNumber() {
  uint32_t begin = at;
  auto skipDigits = [&] {
    uint32_t first = at;
    while (isDigit(peek()) || (peek() == '_' && at > first && isDigit(peek(1))))
      ++at;
    return at > first;
  };
  bool real = false, valid = skipDigits();
  if (peek() == '.') {
    ++at;
    real = true;
    valid = skipDigits() && valid;
  }
  if (valid && (peek() == 'e' || peek() == 'E')) {
    ++at;
    real = true;
    if (peek() == '+' || peek() == '-')
      ++at;
    valid = skipDigits();
  }
  if (isWordPart(peek())) {
    valid = false;
    while (isWordPart(peek()))
      ++at;
  }

  constexpr unsigned longest = 100;
  Range range{begin, at};
  if (!valid) {
    problems
        .error(range,
               "expected a number, found " + quote(source.getText(range)))
        .note("numbers look like 64, 1_000, 0.5 or 1e-3; names start with a "
              "letter");
    return {Kind::BadNumber, range};
  }
  if (at - begin > longest) {
    problems.error(range, "this number is too long")
        .note("write it with at most " + Twine(longest) + " characters");
    return {Kind::BadNumber, range};
  }
  return {real ? Kind::Real : Kind::Integer, range};
}

bool Lexer::lexPunctuation(Token &token) {
  StringRef rest = text.substr(at, 2);
  // The longest spelling wins.
  for (unsigned length : {2u, 1u}) {
    if (rest.size() < length)
      continue;
    Kind kind = StringSwitch<Kind>(rest.take_front(length))
#define PUNCTUATION(NAME, SPELLING) .Case(SPELLING, Kind::NAME)
#include "Tokens.def"
                    .Default(Kind::EndOfFile);
    if (kind == Kind::EndOfFile)
      continue;
    uint32_t begin = at;
    at += length;
    token = finish(kind, begin);
    return true;
  }
  return false;
}

/// How the language spells what mathematicians write.
static StringRef getPlainSpelling(StringRef character) {
  return StringSwitch<StringRef>(character)
      .Case("≤", "<=")
      .Case("≥", ">=")
      .Case("≠", "!=")
      .Cases({"×", "·", "⋅"}, "*")
      .Cases({"−", "–"}, "-")
      .Case("÷", "/")
      .Case("∞", "inf")
      .Case("→", "->")
      .Case("∧", "and")
      .Case("∨", "or")
      .Case("¬", "not")
      .Case("&", "and")
      .Default("");
}

/// The token that a spelling stands for; EndOfFile for none.
static Kind getKind(StringRef spelling) {
  return StringSwitch<Kind>(spelling)
#define KEYWORD(NAME) .Case(#NAME, Kind::kw_##NAME)
#define PUNCTUATION(NAME, SPELLING) .Case(SPELLING, Kind::NAME)
#include "Tokens.def"
      .Default(Kind::EndOfFile);
}

bool Lexer::lexUnknown(Token &token) {
  uint32_t begin = at;
  if (text[at] == '"' || text[at] == '\'') {
    skipString();
    token = finish(Kind::BadNumber, begin);
    return true;
  }
  unsigned length = getNumBytesForUTF8(static_cast<UTF8>(text[at]));
  at = std::min<size_t>(at + length, text.size());
  StringRef character = text.slice(begin, at);
  Problem &problem =
      problems.error({begin, at}, "unexpected character " +
                                      (length > 1 ? "'" + character.str() + "'"
                                                  : quote(character)));
  StringRef plain = getPlainSpelling(character);
  if (character == "#") {
    problem.note("a comment starts with '//'");
    at = findLineEnd(text, at);
    return false;
  }
  if (plain.empty()) {
    problem.note("programs are made of names, numbers, operators and brackets; "
                 "everything else belongs in a comment ('//')");
    return false;
  }
  problem.note("write " + quote(plain));
  token = finish(getKind(plain), begin);
  return true;
}

void Lexer::skipString() {
  uint32_t begin = at;
  size_t lineEnd = findLineEnd(text, at);
  size_t end = text.find(text[at], at + 1);
  at = end < lineEnd ? end + 1 : lineEnd;
  problems.error({begin, at}, "the language has no text in quotes")
      .note("write names without quotes");
}

bool nsacc::frontend::checkText(const Source &source, Problems &problems) {
  StringRef text = source.getText();
  if (text.size() > std::numeric_limits<int32_t>::max()) {
    problems
        .error({0, 0},
               "this file is too large: " + Twine(text.size()) + " bytes")
        .note("programs have at most 2^31 - 1 bytes");
    return false;
  }
  const auto *begin = reinterpret_cast<const UTF8 *>(text.data());
  const auto *at = begin, *end = begin + text.size();
  if (!isLegalUTF8String(&at, end)) {
    uint32_t offset = at - begin;
    problems
        .error(
            {offset, offset + 1},
            "this file is not UTF-8: byte " + Twine(offset) + " is 0x" +
                utohexstr(static_cast<unsigned char>(text[offset]), false, 2))
        .note("save the file as UTF-8, which every editor can do");
    return false;
  }
  return true;
}
