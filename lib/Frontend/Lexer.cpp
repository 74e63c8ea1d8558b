//===- Lexer.cpp - From text to tokens ------------------------------------===//

#include "Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"
#include <utility>

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
  // Prefixes as in Python's f"…".
  constexpr uint32_t longestPrefix = 2;
  if (at - begin <= longestPrefix && skipString())
    return finish(Kind::BadNumber, begin);
  Kind kind = StringSwitch<Kind>(text.slice(begin, at))
#define KEYWORD(NAME) .Case(#NAME, Kind::kw_##NAME)
#include "Tokens.def"
                  .Default(Kind::Identifier);
  return finish(kind, begin);
}

/// Explains how to write a number that is valid in other languages.
static std::string explainNumber(StringRef text) {
  uint64_t value;
  bool hasPrefix = text.size() > 2 && text[0] == '0' && isAlpha(text[1]);
  // getAsInteger recognizes prefixes of other bases.
  if (hasPrefix && !text.getAsInteger(0, value))
    return "numbers are decimal: write " + utostr(value);
  if (text.starts_with("."))
    return "digits stand on both sides of the point: write 0" + text.str();
  if (text.ends_with("."))
    return "digits stand on both sides of the point: write " + text.str() + "0";
  StringRef digits = text.rtrim("fFlLuU");
  bool isPlain = digits.find_first_not_of("0123456789.") == StringRef::npos &&
                 digits.count('.') < 2 && !digits.ends_with(".");
  if (isPlain && digits.size() < text.size())
    return "numbers have no suffix: write " + digits.str();
  return "numbers look like 64, 1_000, 0.5 or 1e-3; names start with a letter";
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
    StringRef number = source.getText(range);
    problems.error(range, "expected a number, found " + quote(number))
        .note(explainNumber(number));
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
  // The longest spelling is taken.
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

/// The language's spelling of a mathematical character.
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
      .Case("，", ",")
      .Case("；", ";")
      .Case("：", ":")
      .Case("（", "(")
      .Case("）", ")")
      .Case("∧", "and")
      .Case("∨", "or")
      .Case("¬", "not")
      .Case("&", "and")
      .Default("");
}

/// "00A0" of a character in UTF-8.
static std::string getCodePoint(StringRef character) {
  const auto *at = reinterpret_cast<const UTF8 *>(character.begin());
  UTF32 code = 0, *end = &code;
  ConvertUTF8toUTF32(&at, at + character.size(), &end, &code + 1,
                     strictConversion);
  return utohexstr(code, /*LowerCase=*/false, /*Width=*/4);
}

/// Returns the kind of the keyword or punctuation `spelling`; EndOfFile if it
/// is neither.
static Kind getKind(StringRef spelling) {
  return StringSwitch<Kind>(spelling)
#define KEYWORD(NAME) .Case(#NAME, Kind::kw_##NAME)
#define PUNCTUATION(NAME, SPELLING) .Case(SPELLING, Kind::NAME)
#include "Tokens.def"
      .Default(Kind::EndOfFile);
}

/// The quotes at the beginning of the text, and the quotes that end it.
static std::pair<StringRef, StringRef> getQuotes(StringRef text) {
  std::pair<StringRef, StringRef> known[] = {
      {"\"\"\"", "\"\"\""}, {"\'\'\'", "\'\'\'"}, {"\"", "\""}, {"'", "'"},
      {"“", "”"},           {"”", "”"},           {"‘", "’"},   {"’", "’"}};
  for (auto [open, close] : known)
    if (text.starts_with(open))
      return {open, close};
  return {};
}

/// Whether `character` is a non-ASCII space, as text copied from web pages may
/// have.
static bool isWideBlank(StringRef character) {
  return is_contained({"\u00a0", "\u2002", "\u2003", "\u2009", "\u200b",
                       "\u202f", "\u3000", "\ufeff"},
                      character);
}

bool Lexer::lexUnknown(Token &token) {
  uint32_t begin = at;
  if (skipString()) {
    token = finish(Kind::BadNumber, begin);
    return true;
  }
  unsigned length = getNumBytesForUTF8(static_cast<UTF8>(text[at]));
  at = std::min<size_t>(at + length, text.size());
  StringRef character = text.slice(begin, at);
  if (isWideBlank(character)) {
    // Reported once.
    if (!std::exchange(hasWideBlanks, true))
      problems
          .error({begin, at}, "unexpected character U+" +
                                  getCodePoint(character) + ", a blank")
          .note("write plain spaces, here and wherever else the text has it");
    return false;
  }
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

bool Lexer::skipString() {
  uint32_t begin = at;
  auto [open, close] = getQuotes(text.substr(at));
  if (open.empty())
    return false;
  bool isLong = open.size() == 3 && open == close && isASCII(open.front());
  size_t limit = isLong ? text.size() : findLineEnd(text, at);
  size_t end = text.find(close, at + open.size());
  at = end < limit ? end + close.size() : limit;
  StringRef content = text.slice(begin, at);
  problems.error({begin, at}, "the language has no text in quotes")
      .note(isLong                    ? "a comment stands between '/*' and '*/'"
            : content.contains("inf") ? "infinity is written 'inf'"
                                      : "write names without quotes");
  return true;
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
