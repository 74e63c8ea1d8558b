//===- Shapes.cpp - Schedules for many sizes ------------------------------===//

#include "nsacc/Tuning/Shapes.h"
#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>
#include <cmath>

using namespace nsacc;
using namespace nsacc::tuning;

/// "T=[5, 0, 127]", or the number of rows if there are many.
static std::string spellRows(llvm::StringRef name, int64_t size,
                             llvm::ArrayRef<int64_t> offsets) {
  constexpr size_t most = 16;
  size_t rows = offsets.size() - 1;
  if (rows > most)
    return (name + "=" + llvm::Twine(size) + " in " + llvm::Twine(rows) +
            " rows")
        .str();
  std::vector<std::string> lengths;
  for (size_t row = 0; row < rows; ++row)
    lengths.push_back(llvm::itostr(offsets[row + 1] - offsets[row]));
  return (name + "=[" + llvm::join(lengths, ", ") + "]").str();
}

std::string tuning::spellSizes(const DimSizes &sizes) {
  std::vector<std::string> parts;
  for (const auto &[name, size] : sizes.sizes) {
    auto rows = sizes.offsets.find(name);
    parts.push_back(rows != sizes.offsets.end() && !rows->second.empty()
                        ? spellRows(name, size, rows->second)
                        : (name + "=" + llvm::Twine(size)).str());
  }
  llvm::sort(parts);
  return llvm::join(parts, ", ");
}

static llvm::json::Array listTimes(llvm::ArrayRef<ShapeTimes> shapes,
                                   const ShapesResult &result) {
  llvm::json::Array array;
  for (const ShapeTimes &shape : shapes) {
    llvm::json::Array times;
    for (double each : shape.milliseconds)
      times.push_back(std::isfinite(each) ? llvm::json::Value(each)
                                          : llvm::json::Value(nullptr));
    size_t chosen = result.rule.find(shape.sizes);
    array.push_back(
        llvm::json::Object{{"sizes", spellSizes(shape.sizes)},
                           {"ms", std::move(times)},
                           {"schedule", static_cast<int64_t>(chosen)},
                           {"slowdown", shape.getSlowdown(chosen)}});
  }
  return array;
}

llvm::json::Value tuning::toJSON(const ShapesResult &result,
                                 const ShapesOptions &options) {
  llvm::json::Object object({{"passed", result.hasPassed(options)},
                             {"kept", result.isKept},
                             {"seconds", result.seconds},
                             {"max_slowdown", options.mostSlowdown}});
  if (result.isStopped) {
    object["interrupted"] = true;
    object["tuned_shapes"] = static_cast<int64_t>(result.tunedShapes);
    object["kept_shapes"] = static_cast<int64_t>(result.keptShapes);
    return llvm::json::Value(std::move(object));
  }
  if (!result.notCompared.empty()) {
    llvm::json::Array numbers;
    for (size_t number : result.notCompared)
      numbers.push_back(static_cast<int64_t>(number));
    object["not_compared"] = std::move(numbers);
    return llvm::json::Value(std::move(object));
  }
  llvm::json::Array cases;
  for (const Rule::Case &each : result.rule.cases)
    cases.push_back(
        llvm::json::Object{{"least", each.least},
                           {"schedule", static_cast<int64_t>(each.schedule)}});
  object["schedules"] = llvm::json::Array(result.schedules);
  object["shapes"] = listTimes(result.shapes, result);
  object["held_out"] = listTimes(result.heldOut, result);
  object["rule"] =
      llvm::json::Object{{"dims", llvm::json::Array(result.rule.dims)},
                         {"cases", std::move(cases)},
                         {"text", result.rule.describe(result.schedules)},
                         {"slowdown", result.rule.slowdown},
                         {"held_out_slowdown", result.heldOutSlowdown}};
  return llvm::json::Value(std::move(object));
}

/// The dimensions whose sizes a rule may compare; code doesn't depend on them.
static llvm::Expected<std::vector<std::string>>
findLengths(const CompiledProgram &program, const Signature &signature,
            llvm::ArrayRef<DimSizes> shapes) {
  std::vector<std::string> specialized;
  auto use = [&](nsa::KernelOp kernel, const schedule::Goal &,
                 const schedule::Settings &) {
    for (llvm::StringRef name : nsa::getSpecializedDims(kernel))
      specialized.push_back(name.str());
    return llvm::Error::success();
  };
  if (llvm::Error error =
          program.withKernel(signature.kernel, shapes.front(), use))
    return std::move(error);
  for (const DimSizes &shape : shapes)
    for (const std::string &name : specialized)
      if (shape.sizes.lookup(name) != shapes.front().sizes.lookup(name))
        return llvm::createStringError(
            "code is made for " + name + ", which is " +
            llvm::Twine(shapes.front().sizes.lookup(name)) +
            " in one shape "
            "and " +
            llvm::Twine(shape.sizes.lookup(name)) +
            " in another: tune these apart");
  llvm::SetVector<llvm::StringRef> lengths;
  for (const Argument &input : signature.inputs)
    for (const Dim &dim : input.dims)
      if ((dim.kind == Dim::Kind::Named || dim.kind == Dim::Kind::Ragged) &&
          !llvm::is_contained(specialized, dim.name))
        lengths.insert(dim.name);
  std::vector<std::string> names;
  for (llvm::StringRef name : lengths)
    names.push_back(name.str());
  return names;
}

namespace {

using Clock = std::chrono::steady_clock;

/// Tunes shapes one after the other, then measures the winners with all shapes.
class ManyShapes {
public:
  ManyShapes(const CompiledProgram &program, llvm::StringRef kernel,
             llvm::ArrayRef<DimSizes> shapes, const ShapesOptions &options)
      : program(program), kernel(kernel), shapes(shapes), options(options) {}

  llvm::Expected<ShapesResult> run();

private:
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  /// Options for one shape. Its reports name it, and count the time of all
  /// shapes.
  TuneOptions getOptions(const std::string &what, double budget);
  double getBudget(size_t index) const;
  llvm::Error tuneEach();
  llvm::Expected<ShapeTimes> race(const DimSizes &sizes,
                                  const std::string &what);
  llvm::Error raceAll();
  TunedRule spellRule() const;
  llvm::Error keep();
  /// Stores the best schedule of each shape if there is no rule.
  void keepTuned();

  const CompiledProgram &program;
  llvm::StringRef kernel;
  llvm::ArrayRef<DimSizes> shapes;
  const ShapesOptions &options;
  Clock::time_point start = Clock::now();
  /// The longest time that measuring the compiler's choice took.
  double firstSeconds = 0;
  std::vector<CheckedCode> checked;
  /// For each shape, whether tuning it compared anything.
  std::vector<bool> isCompared;
  /// The fastest schedule of each of these shapes, by the key of its entry.
  std::vector<std::pair<std::string, TunedSchedule>> tuned;
  ShapesResult result;
};

} // namespace

TuneOptions ManyShapes::getOptions(const std::string &what, double budget) {
  TuneOptions each = options.tuning;
  each.budgetSeconds = budget;
  // Winners of earlier shapes are tried for later ones.
  llvm::append_range(each.seeds, result.schedules);
  each.checked = &checked;
  // Entries that were stored before compete; only the rule stores new ones.
  if (each.store.mode == CacheMode::ReadWrite)
    each.store.mode = CacheMode::ReadOnly;
  each.report = [this, what, before = getSeconds()](Progress progress) {
    progress.seconds += before;
    progress.what = what + ": " + progress.what;
    if (options.tuning.report)
      options.tuning.report(progress);
  };
  return each;
}

/// A part of the remaining time, less the time for measuring all schedules with
/// all shapes.
double ManyShapes::getBudget(size_t index) const {
  double all = options.tuning.budgetSeconds;
  auto races = static_cast<double>(shapes.size() + options.heldOut.size());
  double racing =
      index == 0 ? all / 4 : std::min(all / 2, 2 * firstSeconds * races);
  double left = std::max(all - racing - getSeconds(), 0.0);
  return left / static_cast<double>(shapes.size() - index);
}

static std::string spellPlace(llvm::StringRef what, size_t index,
                              size_t count) {
  return (what + " " + llvm::Twine(index + 1) + " of " + llvm::Twine(count))
      .str();
}

llvm::Error ManyShapes::tuneEach() {
  for (auto [index, shape] : llvm::enumerate(shapes)) {
    auto found = tune(program, kernel, shape,
                      getOptions(spellPlace("shape", index, shapes.size()),
                                 getBudget(index)));
    if (!found)
      return found.takeError();
    result.isStopped = found->isStopped;
    if (result.isStopped)
      return llvm::Error::success();
    if (found->isCompared)
      tuned.emplace_back(found->key, found->best);
    if (!llvm::is_contained(result.schedules, found->best.schedule))
      result.schedules.push_back(found->best.schedule);
    firstSeconds = std::max(firstSeconds, found->firstSeconds);
    isCompared.push_back(found->isCompared);
  }
  // If there are more schedules than the compiler's choice, all shapes are
  // compared later.
  if (result.schedules.size() == 1)
    for (auto [index, compared] : llvm::enumerate(isCompared))
      if (!compared)
        result.notCompared.push_back(index + 1);
  return llvm::Error::success();
}

/// Measures all schedules with one shape.
llvm::Expected<ShapeTimes> ManyShapes::race(const DimSizes &sizes,
                                            const std::string &what) {
  TuneOptions own = getOptions(what, HUGE_VAL);
  own.effort = Effort::Seeds;
  own.seeds = result.schedules;
  own.store = {};
  auto found = tune(program, kernel, sizes, own);
  if (!found)
    return found.takeError();
  ShapeTimes times = {sizes, {}};
  result.isStopped = found->isStopped;
  if (result.isStopped)
    return times;
  for (const std::string &schedule : result.schedules) {
    auto place = found->bySeed.find(schedule);
    size_t index = place == found->bySeed.end() ? 0 : place->second;
    bool isMeasured = (schedule.empty() || place != found->bySeed.end()) &&
                      found->trials[index].isMeasured();
    times.milliseconds.push_back(isMeasured ? found->trials[index].getMedian()
                                            : HUGE_VAL);
    TunedSchedule &measured = times.measured.emplace_back();
    if (isMeasured)
      measured = found->describe(found->trials[index]);
    measured.schedule = schedule;
    measured.policy = (getName(options.tuning.effort) + ", " +
                       nsacc::toString(options.tuning.policy))
                          .str();
  }
  return times;
}

llvm::Error ManyShapes::raceAll() {
  auto raceOf = [&](llvm::StringRef what, llvm::ArrayRef<DimSizes> from,
                    std::vector<ShapeTimes> &to) -> llvm::Error {
    for (auto [index, shape] : llvm::enumerate(from)) {
      auto times = race(shape, spellPlace(what, index, from.size()));
      if (!times)
        return times.takeError();
      if (result.isStopped)
        break;
      to.push_back(std::move(*times));
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = raceOf("shape", shapes, result.shapes))
    return error;
  if (result.isStopped)
    return llvm::Error::success();
  return raceOf("held out", options.heldOut, result.heldOut);
}

/// The rule in its stored form.
TunedRule ManyShapes::spellRule() const {
  TunedRule rule = result.rule.spell(result.schedules);
  for (const ShapeTimes &shape : result.shapes)
    rule.shapes.push_back(spellSizes(shape.sizes));
  for (const ShapeTimes &shape : result.heldOut)
    rule.heldOut.push_back(spellSizes(shape.sizes));
  rule.slowdown = result.rule.slowdown;
  rule.heldOutSlowdown = result.heldOutSlowdown;
  const TunedSchedule &last = result.shapes.back().measured.front();
  rule.policy = last.policy;
  rule.date = last.date;
  return rule;
}

llvm::Error ManyShapes::keep() {
  TunedSchedules store(options.tuning.store, options.tuning.warn);
  auto key = program.getTuningKey(kernel, shapes.front());
  if (!key)
    return key.takeError();
  result.isKept = store.storeRule(getRuleKey(*key), spellRule());
  for (const ShapeTimes &shape : result.shapes) {
    // An entry holds for all lengths that round to the same powers of two.
    if (!result.isKept || !result.rule.isSettled(shape.sizes))
      continue;
    auto own = program.getTuningKey(kernel, shape.sizes);
    if (!own)
      return own.takeError();
    // This is the best schedule for these sizes alone: the rule may be slower.
    store.store(*own, shape.measured[shape.findFastest()]);
  }
  return llvm::Error::success();
}

void ManyShapes::keepTuned() {
  TunedSchedules store(options.tuning.store, options.tuning.warn);
  result.tunedShapes = tuned.size();
  for (const auto &[key, best] : tuned)
    result.keptShapes += store.store(key, best);
}

llvm::Expected<ShapesResult> ManyShapes::run() {
  if (shapes.empty())
    return llvm::createStringError("there are no shapes to tune for");
  auto signature = program.getSignature(kernel);
  if (!signature)
    return signature.takeError();
  std::vector<DimSizes> all(shapes.begin(), shapes.end());
  llvm::append_range(all, options.heldOut);
  auto lengths = findLengths(program, *signature, all);
  if (!lengths)
    return lengths.takeError();
  result.schedules = {""};
  if (llvm::Error error = tuneEach())
    return std::move(error);
  if (result.notCompared.empty() && !result.isStopped)
    if (llvm::Error error = raceAll())
      return std::move(error);
  if (result.notCompared.empty() && !result.isStopped) {
    result.rule = chooseRule(*lengths, result.shapes, options.mostSchedules,
                             options.mostSlowdown);
    for (const ShapeTimes &shape : result.heldOut)
      result.heldOutSlowdown =
          std::max(result.heldOutSlowdown,
                   shape.getSlowdown(result.rule.find(shape.sizes)));
  }
  if (result.isStopped)
    keepTuned();
  if (result.hasPassed(options))
    if (llvm::Error error = keep())
      return std::move(error);
  result.seconds = getSeconds();
  return std::move(result);
}

llvm::Expected<ShapesResult> tuning::tuneShapes(const CompiledProgram &program,
                                                llvm::StringRef kernel,
                                                llvm::ArrayRef<DimSizes> shapes,
                                                const ShapesOptions &options) {
  return ManyShapes(program, kernel, shapes, options).run();
}

llvm::Expected<std::string> tuning::packageRule(const CompiledProgram &program,
                                                llvm::StringRef kernel,
                                                const ShapesResult &result) {
  return program.packageByRule(kernel, result.shapes.front().sizes,
                               result.rule.spell(result.schedules));
}
