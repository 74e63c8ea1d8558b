//===- JSON.h - JSON of other programs --------------------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_JSON_H
#define NSACC_SUPPORT_JSON_H

#include "llvm/Support/JSON.h"

namespace nsacc {

/// The deepest nesting of JSON: llvm::json::parse recurses for each level, so
/// that a text could end the process. JSON that nsacc writes needs 12 levels.
inline constexpr size_t kMaxJSONNesting = 64;

/// Reads text as llvm::json::parse does, which trusts its input. Too deep
/// nesting is an error, and so is a key that an object has twice: the parser
/// would silently keep the last one.
llvm::Expected<llvm::json::Value> parseJSON(llvm::StringRef text);

/// Reads JSON into a type that has `fromJSON`.
template <typename Result>
llvm::Expected<Result> parseJSON(llvm::StringRef text,
                                 llvm::StringLiteral what) {
  llvm::Expected<llvm::json::Value> value = parseJSON(text);
  if (!value)
    return value.takeError();
  llvm::json::Path::Root root(what);
  Result result;
  if (fromJSON(*value, result, root))
    return std::move(result);
  return root.getError();
}

/// The text for a terminal: control characters, and bytes that aren't UTF-8,
/// become question marks.
std::string makePrintable(llvm::StringRef text);
/// Whether makePrintable changes nothing.
bool isPrintable(llvm::StringRef text);

} // namespace nsacc

#endif // NSACC_SUPPORT_JSON_H
