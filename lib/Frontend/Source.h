//===- Source.h - Program text and places in it -----------------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_SOURCE_H
#define NSACC_LIB_FRONTEND_SOURCE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace nsacc::frontend {

/// Bytes [begin, end) of the program text.
struct Range {
  uint32_t begin = 0, end = 0;

  bool operator==(const Range &other) const {
    return begin == other.begin && end == other.end;
  }
};

/// The range from the start of `first` to the end of `last`.
inline Range join(Range first, Range last) { return {first.begin, last.end}; }

/// A place in lines and columns: both count from 1, columns in bytes.
struct Position {
  unsigned line = 1, column = 1;
};

/// The end of the line that contains `from`, before its line feed, carriage
/// return, or both.
size_t findLineEnd(llvm::StringRef text, size_t from);

/// Program text and the starts of its lines.
class Source {
public:
  explicit Source(llvm::MemoryBufferRef buffer);

  llvm::StringRef getText() const { return text; }
  llvm::StringRef getText(Range range) const {
    return text.slice(range.begin, range.end);
  }
  llvm::StringRef getName() const { return name; }
  Position getPosition(uint32_t offset) const;
  /// The inverse of `getPosition`.
  uint32_t getOffset(Position position) const {
    return lineStarts[position.line - 1] + position.column - 1;
  }
  /// A name like `taken` that doesn't occur in the program.
  std::string findFreeName(llvm::StringRef taken) const;
  /// The line without its end. Empty past the last line.
  llvm::StringRef getLine(unsigned line) const;

private:
  llvm::StringRef text, name;
  std::vector<uint32_t> lineStarts;
};

/// `'text'` for messages: cut if long, with bytes that aren't printable ASCII
/// as code points or hexadecimal.
std::string quote(llvm::StringRef text);

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_SOURCE_H
