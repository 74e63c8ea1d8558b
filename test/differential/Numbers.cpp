//===- Numbers.cpp - Dimensions written as numbers ------------------------===//
//
// "q: [B, T, 4, 16]" has the same meaning as "q: [B, T, HQ, D]" with these
// sizes. Names that formulas read are kept.
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <set>
#include <vector>

using namespace nsacc::differential;

static bool isWordLetter(char letter) {
  return llvm::isAlnum(letter) || letter == '_';
}

/// Positions at which `name` is a whole word.
static std::vector<size_t> findWords(llvm::StringRef text,
                                     llvm::StringRef name) {
  std::vector<size_t> places;
  for (size_t at = text.find(name); at != llvm::StringRef::npos;
       at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    bool isWord = (at == 0 || !isWordLetter(text[at - 1])) &&
                  (end == text.size() || !isWordLetter(text[end]));
    if (isWord)
      places.push_back(at);
  }
  return places;
}

void nsacc::differential::writeNumbers(Choices &choices, Case &testCase) {
  Choices::Together together(choices);
  if (!choices.chance(20))
    return;
  // All of them, or some.
  uint32_t percent = choices.pick({100, 60});
  auto sizes = testCase.sizes;
  // Equal numbers would be ambiguous in other tensors.
  std::set<int64_t> written;
  for (const auto &[name, size] : sizes) {
    size_t body = testCase.program.find("\n{");
    llvm::StringRef types = llvm::StringRef(testCase.program).take_front(body);
    llvm::StringRef formulas =
        llvm::StringRef(testCase.program).drop_front(body);
    // 'heads' marks a name.
    if (types.contains("heads " + name) || !findWords(formulas, name).empty() ||
        !choices.chance(percent) || !written.insert(size).second)
      continue;
    std::vector<size_t> places = findWords(types, name);
    for (size_t at : llvm::reverse(places))
      testCase.program.replace(at, name.size(), std::to_string(size));
    testCase.sizes.erase(name);
  }
}
