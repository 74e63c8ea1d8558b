//===- Roofline.cpp - Roofline of programs as a picture -------------------===//

#include "Numbers.h"
#include "SVG.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::explain;
using llvm::formatv;

namespace {

/// A program in the picture.
struct Dot {
  double intensity, speed;
  std::string name;
  bool isMeasured = false;
};

/// Logarithmic axes over whole decades.
class Axes {
public:
  Axes(double lowX, double highX, double lowY, double highY)
      : beginX(std::floor(std::log10(lowX))),
        endX(std::ceil(std::log10(highX))),
        beginY(std::floor(std::log10(lowY))),
        endY(std::ceil(std::log10(highY))) {}

  static constexpr double left = 92, top = 10, width = 440, height = 280,
                          right = 20, bottom = 50;

  double getX(double value) const {
    return left + width * (std::log10(value) - beginX) / (endX - beginX);
  }
  double getY(double value) const {
    return top + height * (endY - std::log10(value)) / (endY - beginY);
  }
  double getLowX() const { return std::pow(10, beginX); }
  double getHighX() const { return std::pow(10, endX); }
  double getLowY() const { return std::pow(10, beginY); }

  void draw(SVG &picture) const;

private:
  double beginX, endX, beginY, endY;
};

} // namespace

/// "0.01", "100", "10 T"
static std::string spellPower(double power) {
  if (power < 0)
    return "0." + std::string(static_cast<size_t>(-power) - 1, '0') + "1";
  constexpr llvm::StringLiteral prefixes[] = {"", " k", " M", " G", " T", " P"};
  auto number = static_cast<size_t>(power);
  size_t prefix = std::min(number / 3, std::size(prefixes) - 1);
  return "1" + std::string(number - 3 * prefix, '0') + prefixes[prefix].str();
}

void Axes::draw(SVG &picture) const {
  for (double power = beginX; power <= endX; ++power) {
    double x = getX(std::pow(10, power));
    picture.addLine(x, top, x, top + height, "tick");
    picture.addText(x, top + height + 20, spellPower(power), "middle");
  }
  for (double power = beginY; power <= endY; ++power) {
    double y = getY(std::pow(10, power));
    picture.addLine(left, y, left + width, y, "tick");
    picture.addText(left - 6, y + 4, spellPower(power), "end");
  }
  picture.addText(left + width / 2, top + height + 41,
                  "FLOP of each byte that is read or written once", "middle");
  picture.addVerticalText(16, top + height / 2, "FLOP/s");
}

/// Whether the measured call had exactly these sizes, in any order: a schedule
/// is shared by similar sizes.
static bool isOfSameSizes(const Explanation &all) {
  auto list = [](llvm::StringRef text) {
    llvm::SmallVector<llvm::StringRef> sizes;
    text.split(sizes, ',');
    for (llvm::StringRef &each : sizes)
      each = each.trim();
    llvm::sort(sizes);
    return sizes;
  };
  return all.tuned && list(all.tuned->sizes) == list(all.sizes);
}

static std::vector<Dot> listDots(const Explanation &all) {
  std::vector<Dot> dots;
  double operations = 0, bytes = 0;
  for (const ProgramExplanation &program : all.programs) {
    operations += program.work.operations;
    bytes += program.work.bytes;
    if (program.work.operations <= 0 || program.predictedSeconds <= 0 ||
        program.work.bytes <= 0)
      continue;
    dots.push_back({program.work.operations / program.work.bytes,
                    program.work.operations / program.predictedSeconds,
                    program.name});
  }
  if (isOfSameSizes(all) && operations > 0 && bytes > 0)
    dots.push_back({operations / bytes,
                    operations / all.tuned->milliseconds * 1e3,
                    "the whole kernel", true});
  return dots;
}

/// Operations per exponential, for the program with the most time.
static double findOperationsOfPair(const Explanation &all) {
  double found = 0, most = 0;
  for (const ProgramExplanation &program : all.programs)
    if (program.work.pairs > 0 && program.predictedSeconds > most) {
      most = program.predictedSeconds;
      found = program.work.operations / program.work.pairs;
    }
  return found;
}

namespace {
/// An upper bound of dots: flat, or with the slope of memory bandwidth.
struct Line {
  std::string style, name;
  double speed = 0, bytes = 0;
};
} // namespace

static std::vector<Line> listLines(const Explanation &all) {
  const tuning::Rates &rates = all.rates;
  std::vector<Line> lines = {
      {"ceiling-products",
       "products: " + spellCount(rates.getProducts(), "FLOP/s"),
       rates.getProducts()},
      {"ceiling-memory", "memory: " + spellCount(rates.memoryBytes, "B/s"), 0,
       rates.memoryBytes}};
  double operations = findOperationsOfPair(all);
  double exponentials = operations * rates.getExponentials();
  if (exponentials > 0)
    lines.push_back({"ceiling-exponentials",
                     formatv("exponentials, at {0:f0} FLOP for each: {1}",
                             operations, spellCount(exponentials, "FLOP/s")),
                     exponentials});
  return lines;
}

/// Draws ceilings. A flat line begins at its intersection with the memory's
/// roof.
static void drawCeilings(SVG &picture, const Axes &axes,
                         const std::vector<Line> &lines) {
  double highest = lines.front().speed;
  for (const Line &line : lines) {
    if (line.bytes > 0) {
      double begin = std::max(axes.getLowX(), axes.getLowY() / line.bytes);
      double end = std::min(axes.getHighX(), highest / line.bytes);
      if (begin < end)
        picture.addLine(axes.getX(begin), axes.getY(begin * line.bytes),
                        axes.getX(end), axes.getY(end * line.bytes),
                        "ceiling " + line.style);
      continue;
    }
    double begin = std::max(axes.getLowX(), line.speed / lines[1].bytes);
    if (begin < axes.getHighX())
      picture.addLine(axes.getX(begin), axes.getY(line.speed),
                      axes.getX(axes.getHighX()), axes.getY(line.speed),
                      "ceiling " + line.style);
  }
}

std::string explain::drawRoofline(const Explanation &all) {
  std::vector<Dot> dots = listDots(all);
  if (dots.empty())
    return "";
  std::vector<Line> lines = listLines(all);
  double ridge = lines[0].speed / lines[1].bytes;
  double lowX = ridge, highX = ridge, lowY = lines[0].speed,
         highY = lines[0].speed * 1.5;
  for (const Dot &dot : dots) {
    lowX = std::min(lowX, dot.intensity);
    highX = std::max(highX, dot.intensity);
    lowY = std::min(lowY, dot.speed);
    highY = std::max(highY, dot.speed);
  }
  for (const Line &line : lines)
    highY = std::max(highY, line.speed * 1.2);
  Axes axes(lowX / 3, highX * 3, lowY / 3, highY);
  SVG picture(Axes::left + Axes::width + Axes::right,
              Axes::top + Axes::height + Axes::bottom,
              "roofline of " + all.kernel);
  axes.draw(picture);
  drawCeilings(picture, axes, lines);
  std::vector<std::pair<std::string, std::string>> legend;
  for (const Line &line : lines)
    legend.push_back({"stroke " + line.style, line.name});
  for (auto [index, dot] : llvm::enumerate(dots)) {
    std::string number = std::to_string(index + 1);
    std::string meaning =
        formatv("{0}: {1:f0} FLOP of a byte, {2} {3}", dot.name, dot.intensity,
                spellCount(dot.speed, "FLOP/s"),
                dot.isMeasured ? "measured" : "predicted");
    double x = axes.getX(dot.intensity), y = axes.getY(dot.speed);
    picture.addDot(x, y, 9, dot.isMeasured ? "dot measured" : "dot", meaning);
    picture.addText(x, y + 4, number, "middle", "dot-number");
    legend.push_back({"", number + "  " + meaning});
  }
  return makeFigure("Roofline", picture.finish(), makeLegend(legend),
                    "Both axes are logarithmic. A program below all lines "
                    "waits: for steps that don't overlap, for loads from the "
                    "L2 cache, or for a last wave that doesn't fill the "
                    "device.");
}
