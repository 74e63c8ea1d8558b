//===- CNames.cpp - Names in C and C++ for names of programs --------------===//

#include "CNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;

/// Keywords of C up to C23 and of C++ up to C++26, if they can be a program's
/// names.
static constexpr llvm::StringLiteral kKeywords[] = {"alignas",
                                                    "alignof",
                                                    "and",
                                                    "and_eq",
                                                    "asm",
                                                    "auto",
                                                    "bitand",
                                                    "bitor",
                                                    "bool",
                                                    "break",
                                                    "case",
                                                    "catch",
                                                    "char",
                                                    "char16_t",
                                                    "char32_t",
                                                    "char8_t",
                                                    "class",
                                                    "co_await",
                                                    "co_return",
                                                    "co_yield",
                                                    "compl",
                                                    "concept",
                                                    "const",
                                                    "const_cast",
                                                    "consteval",
                                                    "constexpr",
                                                    "constinit",
                                                    "continue",
                                                    "contract_assert",
                                                    "decltype",
                                                    "default",
                                                    "delete",
                                                    "do",
                                                    "double",
                                                    "dynamic_cast",
                                                    "else",
                                                    "enum",
                                                    "explicit",
                                                    "export",
                                                    "extern",
                                                    "false",
                                                    "float",
                                                    "for",
                                                    "friend",
                                                    "goto",
                                                    "if",
                                                    "inline",
                                                    "int",
                                                    "long",
                                                    "mutable",
                                                    "namespace",
                                                    "new",
                                                    "noexcept",
                                                    "not",
                                                    "not_eq",
                                                    "nullptr",
                                                    "operator",
                                                    "or",
                                                    "or_eq",
                                                    "private",
                                                    "protected",
                                                    "public",
                                                    "register",
                                                    "reinterpret_cast",
                                                    "requires",
                                                    "restrict",
                                                    "return",
                                                    "short",
                                                    "signed",
                                                    "sizeof",
                                                    "static",
                                                    "static_assert",
                                                    "static_cast",
                                                    "struct",
                                                    "switch",
                                                    "template",
                                                    "this",
                                                    "thread_local",
                                                    "throw",
                                                    "true",
                                                    "try",
                                                    "typedef",
                                                    "typeid",
                                                    "typename",
                                                    "typeof",
                                                    "typeof_unqual",
                                                    "union",
                                                    "unsigned",
                                                    "using",
                                                    "virtual",
                                                    "void",
                                                    "volatile",
                                                    "wchar_t",
                                                    "while",
                                                    "xor",
                                                    "xor_eq"};

/// Macros without arguments that compilers, or headers of the standard
/// libraries and of POSIX, define.
static constexpr llvm::StringLiteral kMacros[] = {
    "BUFSIZ",   "CHAR_BIT", "EOF",   "HUGE_VAL", "I",         "INFINITY",
    "M_E",      "M_PI",     "NAN",   "NDEBUG",   "NULL",      "SEEK_SET",
    "asm",      "complex",  "errno", "i386",     "imaginary", "linux",
    "noreturn", "stderr",   "stdin", "stdout",   "unix"};

/// Types of members in a header's structs: C++ doesn't allow a member with the
/// name of one.
static constexpr llvm::StringLiteral kTypes[] = {"int32_t", "int64_t", "size_t",
                                                 "uint8_t"};

/// Whether C or C++ gives the name another meaning: <stdint.h> alone defines a
/// hundred macros such as SIZE_MAX and INT_FAST8_WIDTH.
static bool isTaken(llvm::StringRef name) {
  return llvm::is_contained(kKeywords, name) ||
         llvm::is_contained(kMacros, name) ||
         llvm::is_contained(kTypes, name) || name.starts_with("NSACC_") ||
         name.ends_with("_MAX") || name.ends_with("_MIN") ||
         name.ends_with("_WIDTH");
}

/// Letters, digits and single underscores. Characters before the first letter
/// are dropped. C and C++ reserve other names with underscores.
static std::string toIdentifier(llvm::StringRef name,
                                llvm::StringRef otherwise) {
  std::string identifier;
  for (char c : name) {
    bool isFirst = identifier.empty();
    if (llvm::isAlpha(c) || (llvm::isDigit(c) && !isFirst))
      identifier += c;
    else if (llvm::isDigit(c))
      identifier += otherwise.str() + c;
    else if (!isFirst && identifier.back() != '_')
      identifier += '_';
  }
  return identifier.empty() ? otherwise.str() : identifier;
}

std::string nsacc::toPrefix(llvm::StringRef name) {
  // A function's name is appended after another underscore.
  std::string prefix =
      llvm::StringRef(toIdentifier(name, "kernel")).rtrim('_').str();
  if (llvm::StringRef(prefix).starts_with("nsacc"))
    return "kernel_" + prefix;
  return prefix;
}

std::string MemberNames::add(llvm::StringRef name) {
  std::string identifier = toIdentifier(name, "unnamed");
  if (isTaken(identifier))
    identifier += '_';
  std::string unique = identifier;
  for (unsigned next = 2; !taken.insert(unique).second; ++next)
    unique = identifier + "_" + std::to_string(next);
  return unique;
}

std::string nsacc::toComment(llvm::StringRef text) {
  std::string comment;
  for (char c : text) {
    bool isEnd = !comment.empty() && ((comment.back() == '*' && c == '/') ||
                                      (comment.back() == '/' && c == '*'));
    if (isEnd)
      comment += ' ';
    comment += llvm::isPrint(c) && c != '\\' ? c : '?';
  }
  return comment;
}

std::string nsacc::toLiteral(llvm::StringRef text) {
  std::string literal = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    // Two question marks can begin a trigraph.
    if (c == '"' || c == '\\' || c == '?')
      (literal += '\\') += c;
    else if (llvm::isPrint(c))
      literal += c;
    else
      for (unsigned shift : {6u, 3u, 0u})
        (shift == 6 ? literal += '\\' : literal) +=
            static_cast<char>('0' + (byte >> shift & 7));
  }
  return literal + "\"";
}
