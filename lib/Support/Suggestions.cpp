//===- Suggestions.cpp - What an unknown name may mean --------------------===//

#include "nsacc/Support/Suggestions.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

static bool sameLetters(StringRef a, StringRef b) {
  std::string left = a.str(), right = b.str();
  llvm::sort(left);
  llvm::sort(right);
  return left == right;
}

StringRef nsacc::findNearest(StringRef unknown, ArrayRef<StringRef> known) {
  constexpr size_t longest = 64;
  StringRef nearest;
  if (unknown.size() > longest)
    return nearest;
  unsigned near = std::max<unsigned>(1, unknown.size() / 3) + 1;
  for (StringRef candidate : known) {
    if (candidate.size() > longest)
      continue;
    unsigned distance = unknown.edit_distance(candidate, true, near + 1);
    if (candidate.equals_insensitive(unknown))
      distance = 0;
    else if (distance == 2 && sameLetters(candidate, unknown))
      distance = 1; // two letters changed places
    if (distance < near && distance < candidate.size()) {
      near = distance;
      nearest = candidate;
    }
  }
  return nearest;
}
