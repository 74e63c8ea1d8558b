//===- Page.cpp - An explanation as one page of HTML ----------------------===//

#include "Report.h"
#include "nsacc/Support/Version.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;
using namespace nsacc::explain;
namespace json = llvm::json;

/// The page without its data, Page.html.
static constexpr llvm::StringLiteral kPage =
#include "Page.html.inc"
    ;

/// Prints the page with its data as JSON. No "<" is left in it, so that no text
/// ends its element.
static void printWith(json::Value data, llvm::raw_ostream &os) {
  static constexpr llvm::StringLiteral slot = ">null</script>";
  auto [head, tail] = kPage.split(slot);
  std::string text;
  llvm::raw_string_ostream(text) << data;
  os << head << '>';
  llvm::interleave(llvm::split(text, '<'), os, "\\u003c");
  os << "</script>" << tail;
}

/// Source lines of a phase's lines: the length of each run of lines with the
/// same ones, and these.
static json::Array
listRuns(llvm::ArrayRef<llvm::SmallVector<unsigned, 1>> lines, size_t count) {
  json::Array runs;
  auto getLines = [&](size_t index) -> llvm::ArrayRef<unsigned> {
    if (index < lines.size())
      return lines[index];
    return {};
  };
  for (size_t begin = 0, end; begin < count; begin = end) {
    for (end = begin + 1; end < count && getLines(end) == getLines(begin);)
      ++end;
    json::Array run{static_cast<int64_t>(end - begin)};
    for (unsigned line : getLines(begin))
      run.push_back(line);
    runs.push_back(std::move(run));
  }
  return runs;
}

static json::Value toJSON(const PhaseText &phase) {
  llvm::StringRef text = llvm::StringRef(phase.text).rtrim('\n');
  return json::Object{{"name", phase.name},
                      {"text", json::fixUTF8(text)},
                      {"runs", listRuns(phase.lines, text.count('\n') + 1)}};
}

void explain::printPage(const Explanation &all, llvm::raw_ostream &os) {
  json::Value data = toJSON(all);
  json::Array phases;
  for (const PhaseText &phase : all.phases)
    phases.push_back(::toJSON(phase));
  json::Object &object = *data.getAsObject();
  object["phases"] = std::move(phases);
  object["source"] = json::Object{
      {"file", all.file}, {"text", llvm::StringRef(all.source).rtrim('\n')}};
  object["version"] = getVersion();
  printWith(std::move(data), os);
}

std::string explain::drawTileMaps(const Explanation &all) {
  if (llvm::none_of(all.ops, [](const OpExplanation &op) {
        return op.map && !op.map->cells.empty();
      }))
    return "";
  json::Array ops;
  for (const OpExplanation &op : all.ops)
    ops.push_back(toJSON(op, all));
  std::string page, frame;
  llvm::raw_string_ostream pageStream(page), frameStream(frame);
  printWith(json::Object{{"kernel", all.kernel},
                         {"target", all.target},
                         {"ops", std::move(ops)}},
            pageStream);
  // A frame keeps the styles of the page and of the embedding one apart.
  frameStream << "<iframe title=\"tiles of " << all.kernel << "\" srcdoc=\"";
  llvm::printHTMLEscaped(page, frameStream);
  frameStream
      << "\" style=\"width: 100%; height: 540px; border: 0\"></iframe>\n";
  return frame;
}
