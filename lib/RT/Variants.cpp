//===- Variants.cpp - Sizes that variants are for -------------------------===//

#include "nsacc/RT/Package.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace nsacc::rt;

const Guard *nsacc::rt::findFailedGuard(const Variant &variant,
                                        const std::vector<int64_t> &numbers) {
  auto failed = std::find_if(
      variant.guards.begin(), variant.guards.end(),
      [&](const Guard &guard) { return numbers[guard.number] == 0; });
  return failed == variant.guards.end() ? nullptr : &*failed;
}

//===----------------------------------------------------------------------===//
// Relations of variants
//===----------------------------------------------------------------------===//

namespace {

/// Numbers of several variants: equal ones get one id.
class SharedNumbers {
public:
  /// The ids of the variant's numbers.
  std::vector<uint32_t> add(const Variant &variant) {
    std::vector<uint32_t> names;
    for (const Step &step : variant.steps) {
      uint32_t operands[3] = {};
      for (unsigned i = 0; i < getNumOperands(step.kind); ++i)
        operands[i] = step.kind == Step::Kind::Dim ? step.operands[i]
                                                   : names[step.operands[i]];
      Key key(step.kind, step.value, operands[0], operands[1], operands[2]);
      names.push_back(known.try_emplace(key, known.size()).first->second);
    }
    return names;
  }

private:
  using Key = std::tuple<Step::Kind, int64_t, uint32_t, uint32_t, uint32_t>;

  std::map<Key, uint32_t> known;
};

/// Values from `low` to `high`.
struct Range {
  int64_t low = INT64_MIN, high = INT64_MAX;

  void narrow(const Range &other) {
    low = std::max(low, other.low);
    high = std::min(high, other.high);
  }
  bool contains(const Range &other) const {
    return other.low > other.high || (low <= other.low && other.high <= high);
  }
};

/// A guard that compares a number with a constant.
struct RangeGuard {
  uint32_t number; ///< step of the variant
  Range range;
};

} // namespace

static std::optional<RangeGuard> getRange(const Guard &guard,
                                          const Variant &variant) {
  const Step &step = variant.steps[guard.number];
  const Step &left = variant.steps[step.operands[0]];
  const Step &right = variant.steps[step.operands[1]];
  bool isLeft = left.kind == Step::Kind::Constant;
  if (isLeft == (right.kind == Step::Kind::Constant))
    return std::nullopt;
  int64_t value = isLeft ? left.value : right.value;
  RangeGuard found = {step.operands[isLeft ? 1 : 0], {}};
  int64_t &end = isLeft ? found.range.low : found.range.high;
  int64_t last = isLeft ? INT64_MAX : INT64_MIN;
  switch (step.kind) {
  case Step::Kind::Equal:
    found.range = {value, value};
    return found;
  case Step::Kind::LessEqual:
    end = value;
    return found;
  case Step::Kind::Less:
    if (value == last) // nothing is above it
      found.range = {1, 0};
    else
      end = isLeft ? value + 1 : value - 1;
    return found;
  default:
    return std::nullopt;
  }
}

bool nsacc::rt::covers(const Variant &general, const Variant &special) {
  SharedNumbers numbers;
  std::vector<uint32_t> names = numbers.add(special);
  std::map<uint32_t, Range> ranges;
  std::set<uint32_t> guards;
  for (const Guard &guard : special.guards) {
    guards.insert(names[guard.number]);
    if (auto found = getRange(guard, special))
      ranges[names[found->number]].narrow(found->range);
  }
  names = numbers.add(general);
  return std::all_of(
      general.guards.begin(), general.guards.end(), [&](const Guard &guard) {
        if (guards.count(names[guard.number]))
          return true;
        auto found = getRange(guard, general);
        return found && found->range.contains(ranges[names[found->number]]);
      });
}

/// Whether devices that run one of the variant's targets also run one of the
/// other's: code of the same architecture, in a form that all its devices take,
/// PTX or a processor's code.
static bool runsWhere(const Package &package, const Variant &other,
                      const Variant &variant) {
  auto runsEverywhere = [&](const Launch &launch) {
    const Image &image = package.images[launch.image];
    return !image.ptx.empty() || !image.host.bytes.empty();
  };
  return std::all_of(variant.targets.begin(), variant.targets.end(),
                     [&](const TargetCode &code) {
                       return std::any_of(
                           other.targets.begin(), other.targets.end(),
                           [&](const TargetCode &each) {
                             const std::vector<Launch> &launches =
                                 each.plan.launches;
                             return each.architecture == code.architecture &&
                                    std::all_of(launches.begin(),
                                                launches.end(), runsEverywhere);
                           });
                     });
}

std::vector<std::pair<size_t, size_t>>
nsacc::rt::findShadowed(const Package &package) {
  const std::vector<Variant> &variants = package.variants;
  std::vector<std::pair<size_t, size_t>> shadowed;
  for (size_t i = 0; i < variants.size(); ++i)
    for (size_t earlier = 0; earlier < i; ++earlier)
      if (runsWhere(package, variants[earlier], variants[i]) &&
          covers(variants[earlier], variants[i])) {
        shadowed.emplace_back(i, earlier);
        break;
      }
  return shadowed;
}

//===----------------------------------------------------------------------===//
// Calls that none fits
//===----------------------------------------------------------------------===//

/// "found 20", or "found 20 <= 16" if neither is a constant.
static std::string describeFound(const Guard &guard, const Variant &variant,
                                 const std::vector<int64_t> &numbers) {
  const Step &step = variant.steps[guard.number];
  std::string found = "found " + std::to_string(numbers[step.operands[0]]);
  if (auto range = getRange(guard, variant))
    return "found " + std::to_string(numbers[range->number]);
  return found + " " + getComparison(step.kind) + " " +
         std::to_string(numbers[step.operands[1]]);
}

static std::string explain(const Variant &variant,
                           const std::vector<const int64_t *> &sizes) {
  std::vector<int64_t> numbers;
  Problem problem = computeSteps(variant.steps, sizes, numbers);
  std::string text;
  for (const Guard &guard : variant.guards) {
    text += (text.empty() ? "" : ", ") + guard.what;
    if (!problem && numbers[guard.number] == 0)
      text += " (" + describeFound(guard, variant, numbers) + ")";
  }
  return text;
}

std::string
nsacc::rt::explainMisfit(const std::vector<const Variant *> &variants,
                         const std::vector<const int64_t *> &sizes) {
  constexpr size_t mostTold = 4;
  std::string text;
  size_t count = 0;
  for (size_t i = 0; i < variants.size(); ++i) {
    bool isLeftOut = false;
    for (size_t k = 0; k < variants.size(); ++k)
      isLeftOut |= i != k && covers(*variants[k], *variants[i]) &&
                   (k < i || !covers(*variants[i], *variants[k]));
    if (!isLeftOut && count++ < mostTold)
      text += (text.empty() ? "" : "; ") + explain(*variants[i], sizes);
  }
  if (count > mostTold)
    text += "; and " + std::to_string(count - mostTold) + " more";
  return text;
}

std::string
nsacc::rt::explainNoVariant(const Package &package,
                            const std::vector<const Variant *> &variants,
                            const std::vector<const int64_t *> &sizes) {
  return "the package of '" + package.kernel +
         "' has no code for these sizes: it is for " +
         explainMisfit(variants, sizes) + ": compile it for them, too";
}
