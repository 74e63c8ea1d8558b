//===- Source.cpp - Program text and places in it -------------------------===//

#include "Source.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;
using namespace nsacc::frontend;

Source::Source(MemoryBufferRef buffer)
    : text(buffer.getBuffer()), name(buffer.getBufferIdentifier()) {
  lineStarts.push_back(0);
  for (size_t at = text.find('\n'); at != StringRef::npos;
       at = text.find('\n', at + 1))
    lineStarts.push_back(at + 1);
}

Position Source::getPosition(uint32_t offset) const {
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  unsigned line = next - lineStarts.begin();
  return {line, offset - lineStarts[line - 1] + 1};
}

std::string nsacc::frontend::quote(StringRef text) {
  constexpr size_t longest = 40;
  std::string quoted = "'";
  for (unsigned char c : text.take_front(longest)) {
    if (isPrint(c)) {
      quoted += c;
      continue;
    }
    quoted += "\\x";
    quoted += utohexstr(c, /*LowerCase=*/false, /*Width=*/2);
  }
  return quoted + (text.size() > longest ? "…'" : "'");
}
