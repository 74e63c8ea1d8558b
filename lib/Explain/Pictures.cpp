//===- Pictures.cpp - Data of pictures, and their words -------------------===//

#include "Numbers.h"
#include "Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;
using namespace nsacc::explain;
using llvm::formatv;
namespace json = llvm::json;

//===-- Bars --------------------------------------------------------------===//

json::Array explain::listBars(const ProgramExplanation &program) {
  json::Array bars;
  if (program.predictedSeconds <= 0)
    return bars;
  auto add = [&](llvm::StringRef name, llvm::StringRef kind, double seconds,
                 llvm::StringRef certainty) {
    bars.push_back(
        json::Object{{"name", name},
                     {"kind", kind},
                     {"ms", seconds * 1e3},
                     {"text", (certainty + spellSeconds(seconds)).str()}});
  };
  for (const Ceiling &each : listCeilings(program))
    add(each.name, "floor", each.seconds,
        spellCertainty(program.work.certainty));
  if (program.cacheSeconds > 0)
    add("L2 cache", "floor", program.cacheSeconds, "");
  add("predicted", "predicted", program.predictedSeconds, "");
  return bars;
}

//===-- Tiles -------------------------------------------------------------===//

json::Object explain::makeLegend(const TileMap &map) {
  bool isSelection = map.block > 0;
  auto spell = [&](const Quantity &tiles, const char *what) {
    return spellTiles(tiles, map) + " " + what;
  };
  return json::Object{
      {"full",
       spell(map.full, isSelection ? "that the mask shows whole" : "full")},
      {"partial",
       spell(map.partial, isSelection ? "that it shows in part" : "partial")},
      {"empty", spell(map.empty, "empty")}};
}

std::string explain::describePicture(const TileMap &map, llvm::StringRef mask) {
  std::string text =
      formatv("Tiles of {0} query tokens and {1} keys{2}: {3}.", map.tileTokens,
              map.tileKeys, describeShown(map), mask);
  if (map.batch != 1 || map.keyHeads != 1)
    text += " Numbers are of all batch rows and key heads.";
  if (map.rowTiles > 1 || map.columnTiles > 1)
    text += formatv(" A cell stands for {0} x {1} of them, and is full or "
                    "empty where all are.",
                    map.rowTiles, map.columnTiles);
  if (map.isSampled || map.areCellsSampled)
    text += " There are too many to look at all: some stand for the others.";
  if (map.block > 0)
    text += formatv(" Of the tiles that the mask shows, each query takes those "
                    "of its selection, at most {0} blocks of {1} keys, which a "
                    "run decides.",
                    map.top, map.block);
  if (map.isPerPair)
    text += " The mask says more than bounds of keys: it is looked at pair by "
            "pair in partial tiles.";
  return text;
}

//===-- Timeline ----------------------------------------------------------===//

namespace {

/// The parts of a step, in cycles from its beginning.
class StepParts {
public:
  StepParts(const tuning::StepCycles &step, bool isGPU);

  json::Array parts;

private:
  /// Adds a part, and returns its end.
  double add(llvm::StringRef kind, llvm::StringRef lane, double begin,
             double cycles, llvm::StringRef name, llvm::StringRef meaning);
};

} // namespace

double StepParts::add(llvm::StringRef kind, llvm::StringRef lane, double begin,
                      double cycles, llvm::StringRef name,
                      llvm::StringRef meaning) {
  parts.push_back(json::Object{
      {"kind", kind},
      {"lane", lane},
      {"begin", begin},
      {"end", begin + cycles},
      {"name", name},
      {"text", formatv("{0}: {1:f0} cycles", meaning, cycles).str()}});
  return begin + cycles;
}

StepParts::StepParts(const tuning::StepCycles &step, bool isGPU) {
  double longer = std::max(step.products, step.scores),
         shorter = std::min(step.products, step.scores);
  // A core runs one part after the other; a GPU loads for the next step
  // meanwhile.
  double first = isGPU ? 0 : step.loads;
  double second = first + longer - (1 - step.exposed) * shorter;
  bool areProductsLonger = step.products >= step.scores;
  add("loads", "loads", 0, step.loads,
      isGPU ? "loads of the step behind step" : "loads of step",
      isGPU ? "loads for the next step" : "loads");
  add("products", "products", areProductsLonger ? first : second, step.products,
      "products of step", "products");
  add("scores", "softmax", areProductsLonger ? second : first, step.scores,
      "softmax of step", "softmax and scalar code");
  double end =
      add("rescale", "softmax", first + longer + step.exposed * shorter,
          step.rescale, "rescaled sums and barriers of step",
          "rescaled sums, barriers");
  if (step.spills > 0)
    add("spills", "softmax", end, step.spills,
        "registers stored and loaded in step", "registers that a thread lacks");
}

json::Value explain::makeTimeline(const OpExplanation &op, bool isGPU,
                                  double clock) {
  const tuning::Prediction::Op &predicted = op.predicted;
  const tuning::StepCycles &step = predicted.step;
  // An importance that a top-k reads is computed in the top-k's steps.
  if (predicted.steps <= 0 || step.all <= 0 || predicted.seconds <= 0)
    return nullptr;
  std::string caption = formatv(
      "By the model, a step of a tile takes {0} of a {1}. There are {2:f0} "
      "steps in {3:f0} tiles, each of which takes {4:f0} cycles besides. {5}",
      spellSeconds(step.all / clock), isGPU ? "multiprocessor" : "core",
      predicted.steps, predicted.tiles, predicted.tileCycles,
      !isGPU ? "A core does one thing after the other."
      : step.loads >= step.all
          ? "Loads bind."
          : formatv("{0} of the shorter one of products and softmax isn't "
                    "hidden behind the longer one.",
                    spellPercent(step.exposed, 1))
                .str());
  return json::Object{{"cycles", step.all},
                      {"lanes", json::Array{"loads", "products", "softmax"}},
                      {"parts", StepParts(step, isGPU).parts},
                      {"caption", caption}};
}

//===-- Roofline ----------------------------------------------------------===//

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

/// Adds a program, or the whole kernel, unless the picture has no place for it.
static void addDot(json::Array &dots, llvm::StringRef name, double operations,
                   double bytes, double seconds, bool isMeasured) {
  if (operations <= 0 || bytes <= 0 || seconds <= 0)
    return;
  dots.push_back(
      json::Object{{"name", name},
                   {"flop_per_byte", operations / bytes},
                   {"flop_per_s", operations / seconds},
                   {"measured", isMeasured},
                   {"text", formatv("{0}: {1:f0} FLOP of a byte, {2} {3}", name,
                                    operations / bytes,
                                    spellCount(operations / seconds, "FLOP/s"),
                                    isMeasured ? "measured" : "predicted")
                                .str()}});
}

static json::Array listDots(const Explanation &all) {
  json::Array dots;
  double operations = 0, bytes = 0;
  for (const ProgramExplanation &program : all.programs) {
    operations += program.work.operations;
    bytes += program.work.bytes;
    addDot(dots, program.name, program.work.operations, program.work.bytes,
           program.predictedSeconds, false);
  }
  if (isOfSameSizes(all))
    addDot(dots, "the whole kernel", operations, bytes,
           all.tuned->milliseconds / 1e3, true);
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

json::Value explain::makeRoofline(const Explanation &all) {
  json::Array dots = listDots(all);
  if (dots.empty())
    return nullptr;
  const tuning::Rates &rates = all.rates;
  json::Array ceilings{
      json::Object{
          {"kind", "products"},
          {"flop_per_s", rates.getProducts()},
          {"text", "products: " + spellCount(rates.getProducts(), "FLOP/s")}},
      json::Object{
          {"kind", "memory"},
          {"bytes_per_s", rates.memoryBytes},
          {"text", "memory: " + spellCount(rates.memoryBytes, "B/s")}}};
  double operations = findOperationsOfPair(all);
  double exponentials = operations * rates.getExponentials();
  if (exponentials > 0)
    ceilings.push_back(json::Object{
        {"kind", "exponentials"},
        {"flop_per_s", exponentials},
        {"text", formatv("exponentials, at {0:f0} FLOP for each: {1}",
                         operations, spellCount(exponentials, "FLOP/s"))
                     .str()}});
  return json::Object{{"ceilings", std::move(ceilings)},
                      {"dots", std::move(dots)}};
}
