//===- Messages.cpp - Errors of the command line --------------------------===//

#include "Messages.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

llvm::Error nsacc::makeError(const llvm::Twine &message,
                             const llvm::Twine &note) {
  std::string text = message.str(), more = note.str();
  if (!more.empty())
    text += "\nnote: " + more;
  return llvm::createStringError(text);
}

ExitCode nsacc::reportError(llvm::Error error, ExitCode status) {
  llvm::outs().flush();
  llvm::errs() << "nsacc: error: " << llvm::toString(std::move(error)) << '\n';
  return status;
}

void nsacc::printWarning(llvm::StringRef message) {
  llvm::errs() << "nsacc: warning: " << message << '\n';
}

std::string nsacc::toUTF8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

std::string nsacc::suggest(llvm::StringRef name,
                           llvm::ArrayRef<std::string> names,
                           const llvm::Twine &otherwise) {
  // A single letter would be near to any other letter.
  unsigned least =
      name.size() < 2 ? 1 : std::max<size_t>(name.size() / 3, 1) + 1;
  llvm::StringRef nearest;
  for (llvm::StringRef candidate : names) {
    unsigned distance = name.edit_distance_insensitive(candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  if (nearest.empty())
    return otherwise.str();
  return ("did you mean '" + nearest + "'?").str();
}
