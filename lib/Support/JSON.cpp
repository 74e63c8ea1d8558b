//===- JSON.cpp - JSON of other programs ----------------------------------===//

#include "nsacc/Support/JSON.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace nsacc;
namespace json = llvm::json;

namespace {

/// Checks brackets and keys, and leaves the rest to the parser. Uses a stack on
/// the heap.
class Scanner {
public:
  explicit Scanner(llvm::StringRef text) : text(text) {}

  llvm::Error scan() {
    while (at < text.size())
      if (llvm::Error error = step())
        return error;
    return llvm::Error::success();
  }

private:
  llvm::Error step() {
    size_t begin = at++;
    switch (text[begin]) {
    case '[':
    case '{':
      levels.emplace_back();
      if (levels.size() > kMaxJSONNesting)
        return fail(begin, "it nests more than " +
                               llvm::Twine(kMaxJSONNesting) +
                               " deep, which nothing that nsacc reads does");
      break;
    case ']':
    case '}':
      if (!levels.empty())
        levels.pop_back();
      break;
    case '"':
      skipString();
      return checkKey(begin);
    default:
      break;
    }
    return llvm::Error::success();
  }

  /// Skips past the closing quote.
  void skipString() {
    while (at < text.size() && text[at] != '"')
      at += text[at] == '\\' ? 2 : 1;
    at = std::min(at + 1, text.size());
  }

  /// Strings before a colon are keys.
  llvm::Error checkKey(size_t begin) {
    llvm::StringRef spelled = text.slice(begin, at);
    if (!text.drop_front(at).ltrim(" \t\r\n").starts_with(":") ||
        levels.empty())
      return llvm::Error::success();
    std::string key = spelled.drop_front().drop_back().str();
    if (spelled.contains('\\')) {
      llvm::Expected<json::Value> read = json::parse(spelled);
      if (!read)
        return read.takeError();
      key = read->getAsString().value_or("").str();
    }
    if (levels.back().insert(key).second)
      return llvm::Error::success();
    return fail(begin,
                "key '" + makePrintable(key) +
                    "' stands twice in an object: leave out one of them");
  }

  /// Gives the place as the parser does: "[line:column, byte=offset]".
  llvm::Error fail(size_t where, const llvm::Twine &what) const {
    llvm::StringRef before = text.take_front(where);
    size_t line = before.count('\n') + 1;
    size_t column = where - (before.rfind('\n') + 1);
    return llvm::createStringError(
        "[" + llvm::Twine(line) + ":" + llvm::Twine(column) +
        ", byte=" + llvm::Twine(where) + "]: " + what);
  }

  llvm::StringRef text;
  size_t at = 0;
  std::vector<llvm::StringSet<>> levels; ///< keys of each enclosing object
};

} // namespace

llvm::Expected<json::Value> nsacc::parseJSON(llvm::StringRef text) {
  if (llvm::Error error = Scanner(text).scan())
    return std::move(error);
  return json::parse(text);
}

static bool isControl(unsigned char byte) {
  return byte < 0x20 || byte == 0x7f;
}

std::string nsacc::makePrintable(llvm::StringRef text) {
  std::string right = json::isUTF8(text) ? text.str() : json::fixUTF8(text);
  for (char &byte : right)
    if (isControl(static_cast<unsigned char>(byte)))
      byte = '?';
  return right;
}

bool nsacc::isPrintable(llvm::StringRef text) {
  return json::isUTF8(text) && llvm::none_of(text, [](char byte) {
           return isControl(static_cast<unsigned char>(byte));
         });
}
