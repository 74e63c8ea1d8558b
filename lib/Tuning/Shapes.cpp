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

std::string tuning::spellSizes(const DimSizes &sizes) {
  std::vector<std::string> parts;
  for (const auto &[name, size] : sizes.sizes)
    parts.push_back((name + "=" + llvm::Twine(size)).str());
  llvm::sort(parts);
  return llvm::join(parts, ", ");
}

/// Those of which code is made, and those that a rule may compare.
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

/// All schedules with one shape.
static llvm::Expected<ShapeTimes> race(const CompiledProgram &program,
                                       llvm::StringRef kernel,
                                       const DimSizes &sizes,
                                       llvm::ArrayRef<std::string> schedules,
                                       TuneOptions options) {
  options.effort = Effort::Seeds;
  options.budgetSeconds = HUGE_VAL;
  options.seeds = schedules.vec();
  options.store = {};
  auto result = tune(program, kernel, sizes, options);
  if (!result)
    return result.takeError();
  ShapeTimes times = {sizes, {}};
  for (const std::string &schedule : schedules) {
    double found = HUGE_VAL;
    for (const Trial &trial : result->trials)
      if (trial.candidate.schedule == schedule && trial.isMeasured())
        found = trial.getMedian();
    times.milliseconds.push_back(found);
  }
  return times;
}

/// Keeps for each shape what the rule says.
static llvm::Error store(const CompiledProgram &program, llvm::StringRef kernel,
                         const ShapesResult &result,
                         const TuneOptions &options) {
  TunedSchedules schedules(options.store, nullptr);
  for (const ShapeTimes &shape : result.shapes) {
    auto key = program.getTuningKey(kernel, shape.sizes);
    if (!key)
      return key.takeError();
    size_t chosen = result.rule.find(shape.sizes);
    TunedSchedule tuned = schedules.find(*key).value_or(TunedSchedule());
    tuned.schedule = result.schedules[chosen];
    tuned.whole.clear();
    tuned.sizes = spellSizes(shape.sizes);
    tuned.milliseconds = tuned.low = tuned.high = shape.milliseconds[chosen];
    tuned.chosenMilliseconds = shape.milliseconds.front();
    schedules.store(*key, tuned);
  }
  return llvm::Error::success();
}

llvm::Expected<ShapesResult> tuning::tuneShapes(const CompiledProgram &program,
                                                llvm::StringRef kernel,
                                                llvm::ArrayRef<DimSizes> shapes,
                                                const ShapesOptions &options) {
  auto start = std::chrono::steady_clock::now();
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
  ShapesResult result;
  result.schedules = {""};
  TuneOptions each = options.tuning;
  each.budgetSeconds /= static_cast<double>(shapes.size());
  for (const DimSizes &shape : shapes) {
    auto found = tune(program, kernel, shape, each);
    if (!found)
      return found.takeError();
    if (!llvm::is_contained(result.schedules, found->best.schedule))
      result.schedules.push_back(found->best.schedule);
    // What is fast for one shape is tried for the next ones.
    each.seeds = result.schedules;
  }
  for (auto [from, to] : {std::pair(shapes, &result.shapes),
                          {llvm::ArrayRef(options.heldOut), &result.heldOut}})
    for (const DimSizes &shape : from) {
      auto times = race(program, kernel, shape, result.schedules, each);
      if (!times)
        return times.takeError();
      to->push_back(std::move(*times));
    }
  result.rule = chooseRule(*lengths, result.shapes, options.mostSchedules,
                           options.mostSlowdown);
  for (const ShapeTimes &shape : result.heldOut)
    result.heldOutSlowdown =
        std::max(result.heldOutSlowdown,
                 shape.getSlowdown(result.rule.find(shape.sizes)));
  if (llvm::Error error = store(program, kernel, result, options.tuning))
    return std::move(error);
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return result;
}

llvm::Expected<std::string> tuning::packageRule(const CompiledProgram &program,
                                                llvm::StringRef kernel,
                                                const ShapesResult &result) {
  std::vector<TunedVariant> variants;
  for (const Rule::Case &each : result.rule.cases) {
    TunedVariant &variant = variants.emplace_back();
    // Code of few queries and of many differs, also with one schedule.
    variant.sizes = result.shapes.front().sizes;
    for (const ShapeTimes &shape : result.shapes)
      if (result.rule.find(shape.sizes) == each.schedule)
        variant.sizes = shape.sizes;
    variant.schedule = result.schedules[each.schedule];
    if (each.least > 0)
      variant.conditions.push_back({result.rule.dims, 1, each.least, false});
  }
  return program.packageTuned(kernel, variants);
}
