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

/// Escapes text for HTML and SVG, including attributes.
std::string escape(llvm::StringRef text);

/// A picture that scales with the page. Colours are classes of the page's
/// style.
class SVG {
public:
  /// `label` describes the picture for screen readers.
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

/// A legend under a picture: a swatch's class, and its meaning.
std::string
makeLegend(const std::vector<std::pair<std::string, std::string>> &entries);
/// A picture with its heading, legend and description.
std::string makeFigure(llvm::StringRef heading, const std::string &picture,
                       const std::string &legend, llvm::StringRef caption);

/// Figures. The figure of an op is empty if the op has nothing to show.
std::string drawTileMap(const OpExplanation &op);
std::string drawTimeline(const OpExplanation &op,
                         const Explanation &explanation);
std::string drawRoofline(const Explanation &explanation);

extern const llvm::StringLiteral kPictureStyle, kPageStyle, kPageScript;

} // namespace nsacc::explain

#endif // NSACC_LIB_EXPLAIN_SVG_H
