//===- JSON.h - JSON that others wrote --------------------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_JSON_H
#define NSACC_SUPPORT_JSON_H

#include "llvm/Support/JSON.h"

namespace nsacc {

/// What JSON nests at most: llvm::json::parse calls itself for each level, so
/// that text alone could end the process. What nsacc writes needs 12.
inline constexpr size_t kMaxJSONNesting = 64;

/// Reads text as llvm::json::parse does, which is only for text that the same
/// process wrote. Too deep nesting is an error, and so is a key that an object
/// has twice, of which the last one would win in silence.
llvm::Expected<llvm::json::Value> parseJSON(llvm::StringRef text);

/// The same for what `fromJSON` reads.
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

/// The text without what a terminal would act on: control characters, and what
/// isn't UTF-8, become question marks.
std::string makePrintable(llvm::StringRef text);
/// Whether that changes nothing.
bool isPrintable(llvm::StringRef text);

} // namespace nsacc

#endif // NSACC_SUPPORT_JSON_H
