//===- SVG.h - Pictures within pages ----------------------------*- C++ -*-===//

#ifndef NSACC_LIB_EXPLAIN_SVG_H
#define NSACC_LIB_EXPLAIN_SVG_H

#include "llvm/ADT/Twine.h"
#include <string>
#include <utility>
#include <vector>

namespace nsacc::explain {

struct Explanation;
struct OpExplanation;
struct TileMap;

/// Text for HTML and SVG, in attributes, too.
std::string escape(llvm::StringRef text);

/// A picture that grows and shrinks with the page. Colours are classes of the
/// page's style.
class SVG {
public:
  /// `label` says what it shows to those who don't see it.
  SVG(double width, double height, llvm::StringRef label);

  void addRect(double x, double y, double width, double height,
               llvm::StringRef style, llvm::StringRef title = "");
  void addLine(double x, double y, double toX, double toY,
               llvm::StringRef style);
  /// `anchor` is "start", "middle" or "end".
  void addText(double x, double y, llvm::StringRef text,
               llvm::StringRef anchor = "start", llvm::StringRef style = "");
  /// From bottom to top.
  void addVerticalText(double x, double y, llvm::StringRef text);
  void addDot(double x, double y, double radius, llvm::StringRef style,
              llvm::StringRef title);

  std::string finish() const { return text + "</svg>\n"; }

private:
  std::string text;
};

/// A legend under a picture: a swatch's class, and what it means.
std::string
makeLegend(const std::vector<std::pair<std::string, std::string>> &entries);
/// A picture with its heading, legend and what it means.
std::string makeFigure(llvm::StringRef heading, const std::string &picture,
                       const std::string &legend, llvm::StringRef caption);

/// Figures. Those of ops are empty where the op has nothing of the kind.
std::string drawTileMap(const OpExplanation &op);
std::string drawTimeline(const OpExplanation &op,
                         const Explanation &explanation);
std::string drawRoofline(const Explanation &explanation);

extern const llvm::StringLiteral kPictureStyle, kPageStyle, kPageScript;

} // namespace nsacc::explain

#endif // NSACC_LIB_EXPLAIN_SVG_H
