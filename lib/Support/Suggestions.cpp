//===- Suggestions.cpp - Suggestions for unknown names --------------------===//

#include "nsacc/Support/Suggestions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

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
      distance = 1; // two letters are swapped
    if (distance < near && distance < candidate.size()) {
      near = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string nsacc::quoteList(ArrayRef<std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0)
      text += i + 1 == names.size() ? " and " : ", ";
    text += "'" + names[i] + "'";
  }
  return text;
}

StringRef nsacc::findStorageType(StringRef name) {
  // Drops a module's name.
  name = name.substr(name.rfind('.') + 1);
  return StringSwitch<StringRef>(name)
      .CasesLower({"bf16", "bfloat16", "bfloat"}, "bf16")
      .CasesLower({"f16", "fp16", "float16", "half"}, "f16")
      .CasesLower({"f32", "fp32", "float32", "float", "single"}, "f32")
      .Default("");
}

std::string nsacc::explainStorageType(StringRef name) {
  StringRef meant = findStorageType(name);
  return "expected 'bf16', 'f16' or 'f32'" +
         (meant.empty() ? std::string() : "; use '" + meant.str() + "'");
}
