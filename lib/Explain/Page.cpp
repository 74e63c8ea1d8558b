//===- Page.cpp - An explanation as one page of HTML ----------------------===//

#include "Numbers.h"
#include "SVG.h"
#include "nsacc/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace nsacc;
using namespace nsacc::explain;
using llvm::formatv;

namespace {

/// Writes the sections of a page.
class Page {
public:
  Page(const Explanation &all, llvm::raw_ostream &os) : all(all), os(os) {}

  void print();

private:
  void printHead();
  void printSummary();
  void printPrograms();
  void printProgram(const ProgramExplanation &program, size_t number);
  void printPictures();
  void printSchedules();
  void printCode();
  void printSource();
  void printPhase(const PhaseText &phase);
  void printRemarks(llvm::ArrayRef<Remark> remarks);
  void printRow(llvm::StringRef heading, llvm::StringRef text) {
    if (!text.empty())
      os << "<dt>" << escape(heading) << "</dt><dd>" << escape(text)
         << "</dd>\n";
  }

  const Explanation &all;
  llvm::raw_ostream &os;
};

} // namespace

void Page::printHead() {
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
     << "<title>" << escape(all.kernel) << " for " << escape(all.target)
     << "</title>\n"
     << "<style>" << kPictureStyle << kPageStyle
     << "</style>\n<style id=\"mark\"></style>\n</head>\n<body>\n<header>\n<h1>"
     << escape(all.kernel) << " <small>for " << escape(describeTarget(all))
     << "</small></h1>\n<p class=\"signature\"><code>" << escape(all.signature)
     << "</code></p>\n<nav aria-label=\"Sections\">"
        "<a href=\"#summary\">Summary</a> <a href=\"#programs\">Programs</a> "
        "<a href=\"#pictures\">Pictures</a> "
        "<a href=\"#schedules\">Schedules</a> "
        "<a href=\"#code\">Source and code</a></nav>\n</header>\n<main>\n";
}

void Page::printSummary() {
  os << "<section id=\"summary\"><h2>Summary</h2>\n<dl>\n";
  printRow("Sizes", all.sizes);
  printRow("Queries", all.queries.empty() ? "" : all.queries.c_str());
  printRow("Schedule",
           all.schedule.empty() ? "the compiler's choice" : all.schedule);
  printRow("Memory", describeBuffers(all));
  printRow("No launch", all.refusal);
  printRow("Rates", describeRates(all));
  printRow("Floor", all.floor.describe());
  printRow("Predicted", spellSeconds(all.predictedSeconds) + " by the model");
  printRow("Why", describeGap(all));
  printRow("Measured", describeTuned(all));
  printRow("Rule", describeRule(all));
  printRow("Registers", all.noRegisters);
  for (const std::string &loss : all.losses)
    printRow("Slow", loss);
  os << "</dl>\n";
  printRemarks(all.remarks);
  os << "</section>\n";
}

void Page::printRemarks(llvm::ArrayRef<Remark> remarks) {
  if (remarks.empty())
    return;
  size_t missed = llvm::count_if(
      remarks, [](const Remark &each) { return each.kind == "missed"; });
  os << "<details><summary>"
     << formatv("{0} remark{1} of passes, {2} of them missed", remarks.size(),
                remarks.size() == 1 ? "" : "s", missed)
     << "</summary><ul class=\"remarks\">\n";
  for (const auto &[remark, places] : groupRemarks(remarks))
    os << "<li class=\"" << escape(remark->kind) << "\"><b>"
       << escape(remark->name) << "</b> " << escape(remark->kind) << places
       << ": " << escape(remark->text) << " <small>" << escape(remark->pass)
       << "</small></li>\n";
  os << "</ul></details>\n";
}

//===-- Programs ----------------------------------------------------------===//

/// Prints the floors as bars of the predicted time.
static void printBars(const ProgramExplanation &program,
                      llvm::raw_ostream &os) {
  std::vector<Ceiling> bars = listCeilings(program);
  if (program.cacheSeconds > 0)
    bars.push_back({"L2 cache, by these tiles", program.cacheSeconds});
  bars.push_back({"predicted", program.predictedSeconds});
  double most = 0;
  for (const Ceiling &each : bars)
    most = std::max(most, each.seconds);
  if (most <= 0 || program.predictedSeconds <= 0)
    return;
  os << "<table class=\"bars\"><caption>Floors of its time, the one that binds "
        "first</caption>\n";
  for (const Ceiling &each : bars)
    os << "<tr><th scope=\"row\">" << escape(each.name) << "</th><td>"
       << spellSeconds(each.seconds)
       << "</td><td class=\"bar\"><span style=\"width:"
       << formatv("{0:f1}", 100 * each.seconds / most) << "%\""
       << (llvm::StringRef(each.name) == "predicted" ? " class=\"predicted\""
                                                     : "")
       << "></span></td></tr>\n";
  os << "</table>\n";
}

void Page::printProgram(const ProgramExplanation &program, size_t number) {
  os << "<article><h3>" << number << ". <code>" << escape(program.name)
     << "</code></h3>\n<dl>\n";
  bool isMain = program.role == ProgramExplanation::Role::Main;
  if (isMain) {
    printRow("Computes", describeOps(program, all));
    printRow("Useful work", describeWork(program));
    printRow("Predicted", describePrediction(program));
  } else {
    printRow("Role", describeRole(program));
  }
  printRow("Launch", describeLaunch(program, all.device.has_value()));
  printRow("Resources", describeResources(program));
  printRow("Occupancy", describeOccupancy(program, all));
  os << "</dl>\n";
  if (isMain)
    printBars(program, os);
  printRemarks(program.remarks);
  os << "</article>\n";
}

void Page::printPrograms() {
  os << "<section id=\"programs\"><h2>Programs, as they are launched</h2>\n"
        "<div class=\"cards\">\n";
  for (auto [index, program] : llvm::enumerate(all.programs))
    printProgram(program, index + 1);
  os << "</div></section>\n";
}

void Page::printPictures() {
  os << "<section id=\"pictures\"><h2>Pictures</h2>\n<div "
        "class=\"figures nsacc-pictures\">\n";
  for (const OpExplanation &op : all.ops)
    os << drawTileMap(op);
  for (const OpExplanation &op : all.ops)
    os << drawTimeline(op, all);
  os << drawRoofline(all) << "</div></section>\n";
}

void Page::printSchedules() {
  os << "<section id=\"schedules\"><h2>Schedules, and why</h2>\n";
  for (const OpExplanation &op : all.ops) {
    os << "<details><summary><code>" << escape(op.name) << "</code> "
       << escape(describeOp(op).substr(op.name.size())) << "</summary>\n"
       << "<table class=\"fields\"><thead><tr><th scope=\"col\">Fields</th>"
          "<th scope=\"col\">Reason</th></tr></thead>\n";
    for (const auto &[fields, reason] : groupFields(op))
      os << "<tr><td><code>" << escape(fields) << "</code></td><td>"
         << escape(reason) << "</td></tr>\n";
    os << "</table></details>\n";
  }
  os << "</section>\n";
}

//===-- Source and code ---------------------------------------------------===//

void Page::printSource() {
  std::vector<bool> hasCode;
  for (const PhaseText &phase : all.phases)
    for (const auto &lines : phase.lines)
      for (unsigned line : lines) {
        hasCode.resize(std::max<size_t>(hasCode.size(), line + 1));
        hasCode[line] = true;
      }
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(all.source).rtrim('\n').split(lines, '\n');
  os << "<div class=\"source\"><h3>"
     << escape(llvm::sys::path::filename(all.file))
     << "</h3>\n<div role=\"listbox\" tabindex=\"0\" id=\"source\" "
        "aria-label=\"Lines of the program\">\n";
  for (auto [index, line] : llvm::enumerate(lines)) {
    size_t number = index + 1;
    bool isSelectable = number < hasCode.size() && hasCode[number];
    os << "<div class=\"source-line\" "
       << (isSelectable ? formatv("role=\"option\" aria-selected=\"false\" "
                                  "id=\"s{0}\" data-line=\"{0}\"",
                                  number)
                              .str()
                        : "role=\"presentation\"")
       << "><span class=\"number\">" << number << "</span><code>"
       << (line.empty() ? " " : escape(line)) << "</code></div>\n";
  }
  os << "</div>\n<p class=\"hint\">A line chosen here, by a click or the arrow "
        "keys, is marked in all phases; n goes to its next place in an open "
        "one.</p></div>\n";
}

/// Consecutive lines that come from the same source lines share one element.
void Page::printPhase(const PhaseText &phase) {
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(phase.text).rtrim('\n').split(lines, '\n');
  os << "<details class=\"phase\" data-phase=\"" << escape(phase.name)
     << "\"><summary><b>" << escape(phase.name) << "</b> "
     << formatv("{0} lines", lines.size())
     << " <span class=\"count\"></span></summary><pre tabindex=\"0\">";
  auto getLines = [&](size_t index) -> llvm::ArrayRef<unsigned> {
    if (index < phase.lines.size())
      return phase.lines[index];
    return {};
  };
  for (size_t begin = 0, end; begin < lines.size(); begin = end) {
    llvm::ArrayRef<unsigned> own = getLines(begin);
    for (end = begin + 1; end < lines.size() && getLines(end) == own;)
      ++end;
    if (!own.empty()) {
      os << "<span class=\"";
      llvm::interleave(own, os, [&](unsigned line) { os << 'l' << line; }, " ");
      os << "\">";
    }
    for (size_t line = begin; line < end; ++line)
      os << escape(lines[line]) << '\n';
    if (!own.empty())
      os << "</span>";
  }
  os << "</pre></details>\n";
}

void Page::printCode() {
  os << "<section id=\"code\"><h2>Source and code</h2>\n<div "
        "class=\"columns\">\n";
  printSource();
  os << "<div class=\"phases\">\n";
  for (const PhaseText &phase : all.phases)
    printPhase(phase);
  os << "</div></div></section>\n";
}

void Page::print() {
  printHead();
  printSummary();
  printPrograms();
  printPictures();
  printSchedules();
  printCode();
  os << "</main>\n<footer>nsacc " << escape(getVersion())
     << ". Times of the model are for ranking schedules; docs/Rationale/"
        "Tuning.md says how far they are right.</footer>\n<script>"
     << kPageScript << "</script>\n</body>\n</html>\n";
}

void explain::printPage(const Explanation &explanation, llvm::raw_ostream &os) {
  Page(explanation, os).print();
}

std::string explain::drawTileMaps(const Explanation &explanation) {
  std::string figures;
  for (const OpExplanation &op : explanation.ops)
    figures += drawTileMap(op);
  if (figures.empty())
    return "";
  return "<div class=\"nsacc-pictures\" style=\"display: flex; flex-wrap: "
         "wrap; gap: 1.5em\"><style>" +
         kPictureStyle.str() + "</style>\n" + figures + "</div>\n";
}
