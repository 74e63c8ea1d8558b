//===- SVG.cpp - Pictures within pages ------------------------------------===//

#include "SVG.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;
using namespace nsacc::explain;
using llvm::formatv;

std::string explain::escape(llvm::StringRef text) {
  std::string escaped;
  for (char letter : text)
    switch (letter) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += letter;
    }
  return escaped;
}

/// A tenth of a pixel isn't visible.
static std::string spellLength(double number) {
  std::string text = formatv("{0:f1}", number).str();
  if (llvm::StringRef(text).ends_with(".0"))
    text.resize(text.size() - 2);
  return text;
}

SVG::SVG(double width, double height, llvm::StringRef label) {
  text = formatv("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
                 "role=\"img\" aria-label=\"{2}\">\n",
                 spellLength(width), spellLength(height), escape(label));
}

void SVG::addRect(double x, double y, double width, double height,
                  llvm::StringRef style, llvm::StringRef title) {
  text += formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" "
                  "class=\"{4}\"",
                  spellLength(x), spellLength(y), spellLength(width),
                  spellLength(height), style);
  text +=
      title.empty() ? "/>\n" : "><title>" + escape(title) + "</title></rect>\n";
}

void SVG::addLine(double x, double y, double toX, double toY,
                  llvm::StringRef style) {
  text += formatv("<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{3}\" "
                  "class=\"{4}\"/>\n",
                  spellLength(x), spellLength(y), spellLength(toX),
                  spellLength(toY), style);
}

void SVG::addText(double x, double y, llvm::StringRef words,
                  llvm::StringRef anchor, llvm::StringRef style) {
  text += formatv("<text x=\"{0}\" y=\"{1}\" text-anchor=\"{2}\" "
                  "class=\"{3}\">{4}</text>\n",
                  spellLength(x), spellLength(y), anchor, style, escape(words));
}

void SVG::addVerticalText(double x, double y, llvm::StringRef words) {
  text += formatv("<text transform=\"translate({0} {1}) rotate(-90)\" "
                  "text-anchor=\"middle\">{2}</text>\n",
                  spellLength(x), spellLength(y), escape(words));
}

void SVG::addDot(double x, double y, double radius, llvm::StringRef style,
                 llvm::StringRef title) {
  text += formatv("<circle cx=\"{0}\" cy=\"{1}\" r=\"{2}\" class=\"{3}\">"
                  "<title>{4}</title></circle>\n",
                  spellLength(x), spellLength(y), spellLength(radius), style,
                  escape(title));
}

std::string explain::makeLegend(
    const std::vector<std::pair<std::string, std::string>> &entries) {
  std::string text = "<ul class=\"legend\">\n";
  for (const auto &[style, meaning] : entries)
    text += "<li>" +
            (style.empty() ? std::string()
                           : "<span class=\"swatch " + style + "\"></span>") +
            escape(meaning) + "</li>\n";
  return text + "</ul>\n";
}

std::string explain::makeFigure(llvm::StringRef heading,
                                const std::string &picture,
                                const std::string &legend,
                                llvm::StringRef caption) {
  return "<figure><h3>" + escape(heading) + "</h3>\n" + picture + legend +
         "<figcaption>" + escape(caption) + "</figcaption></figure>\n";
}
