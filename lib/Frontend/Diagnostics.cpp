//===- Diagnostics.cpp - Diagnostics as data and as text ------------------===//

#include "nsacc/Frontend/Diagnostics.h"
#include "Source.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace nsacc::frontend;
using Severity = DiagnosticData::Severity;

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

StringRef nsacc::frontend::getName(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  case Severity::Note:
    return "note";
  }
  llvm_unreachable("unknown severity");
}

static Severity toData(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Error:
    return Severity::Error;
  case mlir::DiagnosticSeverity::Warning:
    return Severity::Warning;
  case mlir::DiagnosticSeverity::Remark:
    return Severity::Remark;
  case mlir::DiagnosticSeverity::Note:
    return Severity::Note;
  }
  llvm_unreachable("unknown severity");
}

DiagnosticData nsacc::frontend::toData(mlir::Diagnostic &diagnostic) {
  DiagnosticData data;
  data.severity = ::toData(diagnostic.getSeverity());
  data.message = diagnostic.str();
  if (auto range =
          diagnostic.getLocation()->findInstanceOf<mlir::FileLineColRange>()) {
    data.file = range.getFilename().str();
    data.line = range.getStartLine();
    data.column = range.getStartColumn();
    data.endLine = range.getEndLine();
    data.endColumn = range.getEndColumn();
  }
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    data.notes.push_back(toData(note));
  return data;
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext &context)
    : handler(&context, [this](mlir::Diagnostic &diagnostic) {
        diagnostics.push_back(toData(diagnostic));
      }) {}

DiagnosticPrinter::DiagnosticPrinter(SourceMgr &sources,
                                     mlir::MLIRContext &context,
                                     raw_ostream &os)
    : handler(&context, [this, &sources, &os](mlir::Diagnostic &diagnostic) {
        DiagnosticData data = toData(diagnostic);
        errors += data.severity == Severity::Error;
        warnings += data.severity == Severity::Warning;
        print(data, sources, os);
      }) {}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
/// The part of a source line that is shown.
struct Excerpt {
  StringRef text;
  size_t column; ///< of the caret, from 0
  bool cutFront, cutBack;
};
} // namespace

static bool isContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

static std::optional<StringRef> findLine(const DiagnosticData &place,
                                         SourceMgr &sources) {
  for (unsigned id = 1; id <= sources.getNumBuffers(); ++id) {
    const MemoryBuffer *buffer = sources.getMemoryBuffer(id);
    if (buffer->getBufferIdentifier() != place.file)
      continue;
    return Source(*buffer).getLine(place.line);
  }
  return std::nullopt;
}

/// Cuts a line, which may be as long as the file, around the caret.
static Excerpt cut(StringRef line, size_t column) {
  constexpr size_t widest = 100, before = 60;
  column = std::min(column, line.size());
  size_t begin =
      line.size() <= widest || column <= before ? 0 : column - before;
  size_t end = std::min(line.size(), begin + widest);
  while (begin > 0 && isContinuation(line[begin]))
    --begin;
  while (end < line.size() && isContinuation(line[end]))
    ++end;
  return {line.slice(begin, end), column - begin, begin > 0, end < line.size()};
}

/// Writes text whose width in the terminal equals its number of columns, for
/// any bytes in the file. Returns the number of columns.
static size_t writePrintable(StringRef text, raw_ostream &os) {
  size_t columns = 0;
  while (!text.empty()) {
    const auto *bytes = reinterpret_cast<const UTF8 *>(text.data());
    size_t length = std::min<size_t>(getNumBytesForUTF8(*bytes), text.size());
    StringRef character = text.take_front(length);
    int width = isLegalUTF8Sequence(bytes, bytes + length)
                    ? sys::unicode::columnWidthUTF8(character)
                    : -1;
    if (width >= 0) {
      os << character;
      columns += width;
    } else {
      length = 1;
      os << (text.front() == '\t' ? ' ' : '?');
      ++columns;
    }
    text = text.drop_front(length);
  }
  return columns;
}

static void printExcerpt(const DiagnosticData &place, StringRef line,
                         raw_ostream &os) {
  Excerpt excerpt = cut(line, place.column - 1);
  size_t length = excerpt.text.size() - excerpt.column;
  if (place.endLine == place.line)
    length = std::min<size_t>(length, place.endColumn > place.column
                                          ? place.endColumn - place.column
                                          : 0);
  os << "  " << (excerpt.cutFront ? "…" : "");
  size_t indent = 2 + excerpt.cutFront +
                  writePrintable(excerpt.text.take_front(excerpt.column), os);
  size_t width =
      writePrintable(excerpt.text.substr(excerpt.column, length), os);
  writePrintable(excerpt.text.drop_front(excerpt.column + length), os);
  os << (excerpt.cutBack ? "…" : "") << "\n";
  os.indent(indent) << "^" << std::string(width > 1 ? width - 1 : 0, '~')
                    << "\n";
}

static void printOne(const DiagnosticData &diagnostic, bool showLine,
                     SourceMgr &sources, raw_ostream &os) {
  if (diagnostic.hasPlace())
    os << diagnostic.file << ":" << diagnostic.line << ":" << diagnostic.column
       << ": ";
  os << getName(diagnostic.severity) << ": " << diagnostic.message << "\n";
  if (!showLine || !diagnostic.hasPlace())
    return;
  if (std::optional<StringRef> line = findLine(diagnostic, sources))
    printExcerpt(diagnostic, *line, os);
}

void nsacc::frontend::print(const DiagnosticData &diagnostic,
                            SourceMgr &sources, raw_ostream &os) {
  printOne(diagnostic, /*showLine=*/true, sources, os);
  for (const DiagnosticData &note : diagnostic.notes) {
    bool samePlace = note.file == diagnostic.file &&
                     note.line == diagnostic.line &&
                     note.column == diagnostic.column;
    printOne(note, /*showLine=*/!samePlace, sources, os);
  }
}
