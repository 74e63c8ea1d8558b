//===- Render.cpp - Diagnostics as people read them -----------------------===//

#include "Render.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc::capi;

/// Bytes of a source line that are shown, and of those before the caret.
static constexpr size_t shownBytes = 120, shownBefore = 80;

static llvm::StringRef getName(nsacc_severity severity) {
  switch (severity) {
  case NSACC_SEVERITY_ERROR:
    return "error";
  case NSACC_SEVERITY_WARNING:
    return "warning";
  case NSACC_SEVERITY_REMARK:
    return "remark";
  case NSACC_SEVERITY_NOTE:
    return "note";
  }
  return "error";
}

namespace {
class Renderer {
public:
  Renderer(llvm::MemoryBufferRef source) : source(source) {
    source.getBuffer().split(lines, '\n');
  }

  void print(const nsacc_diagnostic &diagnostic,
             const nsacc_diagnostic *parent = nullptr);
  std::string take() { return std::move(text); }

private:
  void printLine(const nsacc_diagnostic &diagnostic);

  llvm::MemoryBufferRef source;
  llvm::SmallVector<llvm::StringRef> lines;
  std::string text;
  llvm::raw_string_ostream os{text};
};
} // namespace

static bool isSamePlace(const nsacc_diagnostic &a, const nsacc_diagnostic &b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

void Renderer::print(const nsacc_diagnostic &diagnostic,
                     const nsacc_diagnostic *parent) {
  if (!diagnostic.file.empty())
    os << diagnostic.file << ':' << diagnostic.line << ':' << diagnostic.column
       << ": ";
  os << getName(diagnostic.severity) << ": " << diagnostic.message << '\n';
  // A note on the line that was just shown needs no second picture.
  if (!parent || !isSamePlace(diagnostic, *parent))
    printLine(diagnostic);
  for (const nsacc_diagnostic &note : diagnostic.notes)
    print(note, &diagnostic);
}

/// Blanks as wide as `prefix`; its tabs stay tabs.
static void indent(llvm::StringRef prefix, llvm::raw_ostream &os) {
  while (!prefix.empty()) {
    size_t tab = prefix.find('\t');
    llvm::StringRef part = prefix.take_front(tab);
    int width = llvm::sys::unicode::columnWidthUTF8(part);
    os.indent(width < 0 ? part.size() : width);
    if (tab == llvm::StringRef::npos)
      return;
    os << '\t';
    prefix = prefix.drop_front(tab + 1);
  }
}

void Renderer::printLine(const nsacc_diagnostic &diagnostic) {
  if (diagnostic.line == 0 || diagnostic.column == 0 ||
      diagnostic.line > lines.size() ||
      diagnostic.file != source.getBufferIdentifier())
    return;
  llvm::StringRef line = lines[diagnostic.line - 1].rtrim('\r');
  size_t column = std::min<size_t>(diagnostic.column - 1, line.size());
  size_t end = diagnostic.endLine > diagnostic.line
                   ? line.size()
                   : std::max<size_t>(diagnostic.endColumn, 1) - 1;
  size_t cut = column > shownBefore ? column - shownBefore : 0;
  // Not within a character of several bytes.
  while (cut > 0 && (line[cut] & 0xC0) == 0x80)
    --cut;
  line = line.substr(cut, shownBytes);
  column -= cut;
  end = std::min(end > cut ? end - cut : 0, line.size());

  os << "  " << line << "\n  ";
  indent(line.take_front(column), os);
  os << '^';
  if (end > column + 1)
    os << std::string(end - column - 1, '~');
  os << '\n';
}

std::string nsacc::capi::render(llvm::ArrayRef<nsacc_diagnostic> diagnostics,
                                llvm::MemoryBufferRef source) {
  Renderer renderer(source);
  for (const nsacc_diagnostic &diagnostic : diagnostics)
    renderer.print(diagnostic);
  return renderer.take();
}
