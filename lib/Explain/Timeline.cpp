//===- Timeline.cpp - Timeline of a tile's steps --------------------------===//

#include "Numbers.h"
#include "SVG.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;
using namespace nsacc::explain;
using llvm::formatv;

namespace {

constexpr int kSteps = 3;
constexpr double kLeft = 96, kWidth = 420, kTop = 8, kLane = 34, kBar = 24;

/// Start and end of the parts of a step, in cycles from its beginning.
struct StepParts {
  explicit StepParts(const tuning::StepCycles &step, bool isGPU);

  std::pair<double, double> loads, products, scores, rescale, spills;
};

} // namespace

StepParts::StepParts(const tuning::StepCycles &step, bool isGPU) {
  double longer = std::max(step.products, step.scores),
         shorter = std::min(step.products, step.scores);
  // A core runs one part after the other; a GPU loads for the next step
  // meanwhile.
  double begin = isGPU ? 0 : step.loads;
  double behind = begin + longer - (1 - step.exposed) * shorter;
  loads = {0, step.loads};
  bool areProductsLonger = step.products >= step.scores;
  (areProductsLonger ? products : scores) = {begin, begin + longer};
  (areProductsLonger ? scores : products) = {behind, behind + shorter};
  double end = begin + longer + step.exposed * shorter;
  rescale = {end, end + step.rescale};
  spills = {rescale.second, rescale.second + step.spills};
}

static void drawSteps(SVG &picture, const tuning::StepCycles &step,
                      bool isGPU) {
  StepParts parts(step, isGPU);
  double scale = kWidth / (kSteps * step.all);
  auto draw = [&](std::pair<double, double> when, int number, int lane,
                  llvm::StringRef style, llvm::StringRef what) {
    double begin = when.first + number * step.all;
    double end = std::min(when.second + number * step.all, kSteps * step.all);
    if (end <= begin)
      return;
    std::string title = formatv("{0} {1}: {2:f0} cycles", what, number + 1,
                                when.second - when.first);
    picture.addRect(kLeft + begin * scale, kTop + lane * kLane + 4,
                    (end - begin) * scale, kBar, style, title);
  };
  for (int number = 0; number < kSteps; ++number) {
    draw(parts.loads, number, 0, "loads",
         isGPU ? "loads of the step behind step" : "loads of step");
    draw(parts.products, number, 1, "products", "products of step");
    draw(parts.scores, number, 2, "scores", "softmax of step");
    draw(parts.rescale, number, 2, "rescale",
         "rescaled sums and barriers of step");
    draw(parts.spills, number, 2, "spills",
         "registers stored and loaded in step");
  }
}

static void drawAxes(SVG &picture, const tuning::StepCycles &step,
                     double clock) {
  constexpr llvm::StringLiteral lanes[] = {"loads", "products", "softmax"};
  for (auto [lane, name] : llvm::enumerate(lanes))
    picture.addText(kLeft - 8, kTop + static_cast<double>(lane) * kLane + 21,
                    name, "end");
  double bottom = kTop + 3 * kLane + 4;
  for (int number = 0; number <= kSteps; ++number) {
    double x = kLeft + kWidth * number / kSteps;
    picture.addLine(x, kTop, x, bottom, "tick");
    picture.addText(x, bottom + 16, formatv("{0:f0}", number * step.all).str(),
                    number == kSteps ? "end" : "middle");
    if (number < kSteps)
      picture.addText(x + kWidth / kSteps / 2, bottom + 34,
                      "step " + std::to_string(number + 1), "middle", "muted");
  }
  picture.addText(kLeft - 8, bottom + 16, "cycles", "end", "muted");
}

std::string explain::drawTimeline(const OpExplanation &op,
                                  const Explanation &explanation) {
  const tuning::Prediction::Op &predicted = op.predicted;
  const tuning::StepCycles &step = predicted.step;
  // An importance that a top-k reads is computed in the top-k's steps.
  if (predicted.steps <= 0 || step.all <= 0 || predicted.seconds <= 0)
    return "";
  bool isGPU = explanation.device.has_value();
  SVG picture(kLeft + kWidth + 16, kTop + 3 * kLane + 46,
              "what runs at a time in steps of " + op.name);
  drawSteps(picture, step, isGPU);
  drawAxes(picture, step, explanation.rates.clock);
  std::vector<std::pair<std::string, std::string>> parts = {
      {"loads", formatv("loads{0}: {1:f0} cycles",
                        isGPU ? " for the next step" : "", step.loads)},
      {"products", formatv("products: {0:f0}", step.products)},
      {"scores", formatv("softmax and scalar code: {0:f0}", step.scores)},
      {"rescale", formatv("rescaled sums, barriers: {0:f0}", step.rescale)}};
  if (step.spills > 0)
    parts.push_back({"spills", formatv("registers that a thread lacks: {0:f0}",
                                       step.spills)});
  std::string legend = makeLegend(parts);
  std::string caption = formatv(
      "By the model, a step of a tile takes {0} of a {1}. There are {2:f0} "
      "steps in {3:f0} tiles, each of which takes {4:f0} cycles besides. {5}",
      spellSeconds(step.all / explanation.rates.clock),
      isGPU ? "multiprocessor" : "core", predicted.steps, predicted.tiles,
      predicted.tileCycles,
      !isGPU ? "A core does one thing after the other."
      : step.loads >= step.all
          ? "Loads bind."
          : formatv("{0} of the shorter one of products and softmax isn't "
                    "hidden behind the longer one.",
                    spellPercent(step.exposed, 1))
                .str());
  return makeFigure("Steps of " + op.name, picture.finish(), legend, caption);
}
