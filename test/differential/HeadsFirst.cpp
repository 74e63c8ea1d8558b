//===- HeadsFirst.cpp - Tensors with heads before tokens ------------------===//
//
// docs/spec.md, 1.4: such a program has the same meaning. Only types change: no
// table of the generator has dimensions of tokens and then of heads.
//
//===----------------------------------------------------------------------===//

#include "ProgramText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace nsacc::differential;

namespace {
/// The parts of "f32[B, T, HQ]".
struct TypeText {
  explicit TypeText(llvm::StringRef type);
  Text join() const;

  llvm::StringRef dtype;
  std::vector<Text> dims;
  bool isScalar = false;
};
} // namespace

TypeText::TypeText(llvm::StringRef type) {
  isScalar = !type.contains('[');
  auto [front, rest] = type.split('[');
  dtype = front;
  llvm::SmallVector<llvm::StringRef> words;
  rest.drop_back(isScalar ? 0 : 1).split(words, ", ", -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words)
    dims.push_back(word.str());
}

Text TypeText::join() const {
  if (isScalar)
    return dtype.str();
  return dtype.str() + "[" + llvm::join(dims, ", ") + "]";
}

static bool isHeads(llvm::StringRef dim) {
  dim.consume_front("heads ");
  return dim == "H" || dim == "HQ";
}

void nsacc::differential::putHeadsFirst(ProgramText &program) {
  Choices &c = program.choices;
  Choices::Together together(c);
  if (!c.chance(15))
    return;
  // All tensors, or some of them: users write both.
  uint32_t percent = c.pick({100, 100, 60});
  std::vector<llvm::StringRef> marked;
  auto change = [&](Text &text) {
    TypeText type(text);
    for (size_t n = 1; n < type.dims.size(); ++n) {
      // Heads come after tokens, or there are no tokens.
      llvm::StringRef before = type.dims[n - 1];
      bool areTokens = before != "B" && !isHeads(before);
      if (isHeads(type.dims[n]) && areTokens && c.chance(percent))
        std::swap(type.dims[n - 1], type.dims[n]);
    }
    for (Text &dim : type.dims)
      for (llvm::StringRef name : {"H", "HQ"})
        if (dim == name && !llvm::is_contained(marked, name)) {
          marked.push_back(name);
          dim = "heads " + dim;
        }
    text = type.join();
  };
  for (auto &input : program.inputs)
    change(input.second);
  for (auto &result : program.results)
    change(result.second);
}
