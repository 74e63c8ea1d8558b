//===- Lines.h - Places as editors count them -------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_LSP_SERVER_LINES_H
#define NSACC_TOOLS_LSP_SERVER_LINES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/LSP/Protocol.h"
#include <algorithm>

namespace nsacc {

/// The lines of a document, to count columns as editors do: in UTF-16 units.
class Lines {
public:
  explicit Lines(llvm::StringRef text) : text(text) { text.split(lines, '\n'); }

  /// The position of a line and a byte column, both counted from 1.
  llvm::lsp::Position getPosition(unsigned line, unsigned column) const {
    if (line == 0)
      return llvm::lsp::Position(0, 0);
    llvm::StringRef before =
        line <= lines.size() ? lines[line - 1].take_front(column - 1) : "";
    return llvm::lsp::Position(line - 1, countUTF16(before));
  }

  /// The range of bytes [begin, end) of the text.
  llvm::lsp::Range getRange(size_t begin, size_t end) const {
    return llvm::lsp::Range(getPosition(begin), getPosition(end));
  }

  /// The byte at a position; the end of its line if the line is shorter.
  size_t getOffset(llvm::lsp::Position place) const {
    if (place.line < 0 || static_cast<size_t>(place.line) >= lines.size())
      return text.size();
    llvm::StringRef line = lines[place.line];
    size_t column = 0;
    while (column < line.size() &&
           countUTF16(line.take_front(column)) <
               static_cast<unsigned>(std::max(place.character, 0)))
      ++column;
    // Any byte of a character maps to its first byte.
    while (column < line.size() && isContinuation(line[column]))
      ++column;
    return static_cast<size_t>(line.data() - text.data()) + column;
  }

private:
  llvm::lsp::Position getPosition(size_t offset) const {
    llvm::StringRef before = text.take_front(offset);
    size_t line = before.count('\n');
    return getPosition(
        static_cast<unsigned>(line + 1),
        static_cast<unsigned>(offset - (before.rfind('\n') + 1) + 1));
  }

  static bool isContinuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
  }
  /// Continuation bytes add nothing, four-byte sequences are two units.
  static unsigned countUTF16(llvm::StringRef text) {
    unsigned units = 0;
    for (char byte : text)
      units += isContinuation(byte)                       ? 0
               : static_cast<unsigned char>(byte) >= 0xF0 ? 2
                                                          : 1;
    return units;
  }

  llvm::StringRef text;
  llvm::SmallVector<llvm::StringRef> lines;
};

} // namespace nsacc

#endif // NSACC_TOOLS_LSP_SERVER_LINES_H
