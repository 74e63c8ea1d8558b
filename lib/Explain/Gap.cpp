//===- Gap.cpp - Reasons for a time above the floor -----------------------===//

#include "Numbers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace nsacc;
using namespace nsacc::explain;
using llvm::formatv;

namespace {

/// A part of an op's time.
struct Part {
  double seconds = 0;
  std::string what;
  /// Fields that change it, with the advice: "larger 'tokens'".
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> advice;
};

} // namespace

/// The part of the time in which units run no step and no tile.
static Part describeIdle(const tuning::Prediction::Op &op, double seconds,
                         const tuning::Rates &rates) {
  auto count = [](double number, llvm::StringRef what) {
    return spellCount(number, "") + " " + what.str() +
           (number < 1.5 ? "" : "s");
  };
  Part part = {seconds,
               "launches, and units that wait: there are " +
                   count(op.tiles, "tile") + " for " +
                   count(rates.units, "unit"),
               {}};
  if (op.tiles < 2 * rates.units)
    part.advice = {{"tokens", "smaller 'tokens'"}, {"splits", "more 'splits'"}};
  else
    part.advice = {{"tokens", "other 'tokens'"}};
  return part;
}

/// Splits the time of an op in tiles over keys into parts. Products and
/// exponentials of visible pairs aren't included.
static std::vector<Part> listParts(const tuning::Prediction::Op &op,
                                   const tuning::Rates &rates, bool isGPU) {
  const tuning::StepCycles &step = op.step;
  double cycles = rates.units * rates.clock;
  auto toSeconds = [&](double each) { return op.steps * each / cycles; };
  // The longer one of the two counts fully, the other one only as far as it
  // isn't hidden.
  bool areProductsLonger = step.products >= step.scores;
  double products = step.products * (areProductsLonger ? 1 : step.exposed),
         scores = step.scores * (areProductsLonger ? step.exposed : 1);
  double others = products + scores + step.rescale + step.spills;
  double loads = isGPU ? std::max(0.0, step.all - others) : step.loads;
  tuning::Work::Floors floors = op.work.getFloors(rates);
  double inTiles = op.tiles * op.tileCycles / cycles;
  std::vector<Part> parts = {
      {toSeconds(products) - floors.products,
       "products of pairs that no query sees, in tiles that a mask cuts or "
       "that rows don't fill",
       {{"tokens", "smaller 'tokens'"}, {"keys", "smaller 'keys'"}}},
      {toSeconds(scores) - (areProductsLonger ? 0 : floors.exponentials),
       "softmax, mask and score of pairs, which products don't hide",
       {{"warps", "more 'warps'"}, {"keys", "other 'keys'"}}},
      {toSeconds(step.rescale),
       "rescaled sums and barriers between steps",
       {{"keys", "larger 'keys'"}}},
      {toSeconds(step.spills),
       "registers that are stored and loaded again",
       {{"keys", "smaller 'keys'"}, {"tokens", "smaller 'tokens'"}}},
      {toSeconds(loads),
       "loads from the cache that units share",
       {{"tokens", "larger 'tokens'"}}},
      {inTiles,
       "beginnings and ends of tiles",
       {{"tokens", "larger 'tokens'"}, {"splits", "fewer 'splits'"}}}};
  parts.push_back(
      describeIdle(op, op.seconds - toSeconds(step.all) - inTiles, rates));
  return parts;
}

/// "larger 'tokens' or fewer 'splits'", for fields that the op has.
static std::string spellAdvice(const Part &part, const OpExplanation &op) {
  std::vector<std::string> advice;
  for (const auto &[field, text] : part.advice)
    if (llvm::any_of(op.fields, [field = field](const FieldChoice &each) {
          return each.name == field;
        }))
      advice.push_back(text.str());
  return llvm::join(advice, " or ");
}

static std::string describeOpGap(const OpExplanation &op,
                                 const Explanation &all) {
  const tuning::Prediction::Op &predicted = op.predicted;
  if (predicted.steps <= 0)
    return "reads and writes whole tensors, whatever its schedule";
  std::vector<Part> parts =
      listParts(predicted, all.rates, all.device.has_value());
  const Part &most =
      *llvm::max_element(parts, [](const auto &lhs, const auto &rhs) {
        return lhs.seconds < rhs.seconds;
      });
  std::string text =
      formatv("{0} of it for {1}",
              spellPercent(most.seconds, predicted.seconds), most.what);
  std::string advice = spellAdvice(most, op);
  return text + "; " + (advice.empty() ? "" : "try " + advice + ", or let ") +
         "nsacc tune " + (advice.empty() ? "measures" : "measure") +
         " other schedules";
}

std::string explain::describeGap(const Explanation &all) {
  constexpr double least = 1.5;
  if (all.floor.seconds <= 0 || all.ops.empty() ||
      all.predictedSeconds < least * all.floor.seconds)
    return "";
  const OpExplanation &longest =
      *llvm::max_element(all.ops, [](const auto &lhs, const auto &rhs) {
        return lhs.predicted.seconds < rhs.predicted.seconds;
      });
  return formatv("{0} times the floor: {1} of the time is that of '{2}', {3}",
                 spellNumber(all.predictedSeconds / all.floor.seconds),
                 spellPercent(longest.predicted.seconds, all.predictedSeconds),
                 longest.name, describeOpGap(longest, all));
}
