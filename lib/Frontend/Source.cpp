//===- Source.cpp - Program text and places in it -------------------------===//

#include "Source.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>

using namespace llvm;
using namespace nsacc::frontend;

Source::Source(MemoryBufferRef buffer)
    : text(buffer.getBuffer()), name(buffer.getBufferIdentifier()) {
  lineStarts.push_back(0);
  for (size_t end = findLineEnd(text, 0); end < text.size();
       end = findLineEnd(text, lineStarts.back()))
    lineStarts.push_back(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
}

size_t nsacc::frontend::findLineEnd(StringRef text, size_t from) {
  return std::min(text.find_first_of("\r\n", from), text.size());
}

Position Source::getPosition(uint32_t offset) const {
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  unsigned line = next - lineStarts.begin();
  return {line, offset - lineStarts[line - 1] + 1};
}

std::string Source::findFreeName(StringRef taken) const {
  auto isOfName = [](char c) { return isAlnum(c) || c == '_'; };
  StringSet<> words;
  for (unsigned line = 1; line <= lineStarts.size(); ++line) {
    StringRef rest = getLine(line).split("//").first;
    while (!rest.empty()) {
      rest = rest.drop_until(isOfName);
      StringRef word = rest.take_while(isOfName);
      words.insert(word);
      rest = rest.drop_front(word.size());
    }
  }
  if (taken.size() == 1 && !words.contains(taken.upper()))
    return taken.upper();
  std::string name = taken.str();
  do
    name += "_";
  while (words.contains(name));
  return name;
}

StringRef Source::getLine(unsigned line) const {
  if (line == 0 || line > lineStarts.size())
    return {};
  uint32_t begin = lineStarts[line - 1];
  return text.slice(begin, findLineEnd(text, begin));
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
