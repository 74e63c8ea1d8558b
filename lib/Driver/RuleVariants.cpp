//===- RuleVariants.cpp - Tuned schedules of calls ------------------------===//

#include "TileCompiler.h"
#include "llvm/ADT/STLExtras.h"

using namespace nsacc;

//===-- By a call's sizes -------------------------------------------------===//

bool TileCompiler::canUse(llvm::StringRef schedule,
                          const Signature &signature) const {
  schedule::Settings with = settings;
  llvm::Error error = with.addTuned(schedule);
  if (!error)
    return true;
  std::string why =
      describeUnused(schedule, signature.kernel, std::move(error));
  if (options.warn)
    options.warn(why);
  return false;
}

/// Key of the calls that share one rule; cheaper than the store's keys.
static std::string spellCalls(const Signature &signature,
                              const Specialization &code) {
  return signature.kernel + ":" + code.spell();
}

/// Key of the calls that share one entry.
static std::string spellCalls(const Signature &signature,
                              const Specialization &code,
                              const DimSizes &sizes) {
  return spellCalls(signature, code) + ":" +
         spellLengths(signature, sizes, code.getNames());
}

const std::optional<TileCompiler::Found> &
TileCompiler::findStored(const Signature &signature, const Specialization &code,
                         const DimSizes &sizes) const {
  auto [place, isNew] = stored.try_emplace(spellCalls(signature, code, sizes));
  if (!isNew)
    return place->second;
  auto found = tunedSchedules.find(getTuningKey(signature, code, sizes));
  if (found && canUse(found->schedule, signature))
    place->second = Found{std::move(found->schedule)};
  return place->second;
}

/// Whether every dimension of the inputs has a size.
static bool isComplete(const Signature &signature, const DimSizes &sizes) {
  return llvm::all_of(signature.inputs, [&](const Argument &input) {
    auto shape = getShape(input, sizes);
    llvm::consumeError(shape.takeError());
    return bool(shape);
  });
}

std::optional<TileCompiler::Found>
TileCompiler::findNow(const Signature &signature, const DimSizes &sizes) const {
  if (!options.tuning.find || !isComplete(signature, sizes))
    return std::nullopt;
  auto found = options.tuning.find(signature.kernel, sizes);
  if (!found || !canUse(*found, signature))
    return std::nullopt;
  return Found{std::move(*found), options.tuning.mode == TuneMode::Model};
}

void TileCompiler::setTuned(Specialization &code, const Signature &signature,
                            const DimSizes &sizes) const {
  setTuned(code, Found());
  if (options.tuning.mode == TuneMode::Off)
    return;
  // Other threads wait for the result.
  std::lock_guard<std::mutex> lock(tunedMutex);
  if (const auto &found = findStored(signature, code, sizes))
    return setTuned(code, *found);
  if (const TunedRule *rule = findRule(signature, code, sizes))
    if (const TunedRule::Case *found = rule->find(sizes.sizes))
      return setTuned(code, Found{found->schedule});
  auto [place, isNew] =
      foundNow.try_emplace(spellCalls(signature, code, sizes));
  if (isNew)
    place->second = findNow(signature, sizes);
  if (place->second)
    setTuned(code, *place->second);
}

//===-- By a rule ---------------------------------------------------------===//

/// Whether a rule's dimensions and schedules fit the kernel. Files come from
/// other people, so they may not.
bool TileCompiler::canUse(const TunedRule &rule, const Signature &signature,
                          llvm::StringRef key) const {
  std::string why = describeUnused(rule, signature, key);
  if (!why.empty() && options.warn)
    options.warn(why);
  return why.empty() &&
         llvm::all_of(rule.cases, [&](const TunedRule::Case &each) {
           return canUse(each.schedule, signature);
         });
}

const TunedRule *TileCompiler::findRule(const Signature &signature,
                                        const Specialization &code,
                                        const DimSizes &sizes) const {
  auto [place, isNew] = rules.try_emplace(spellCalls(signature, code));
  if (isNew) {
    std::string key = getRuleKey(getTuningKey(signature, code, sizes));
    place->second = tunedSchedules.findRule(key);
    if (place->second && !canUse(*place->second, signature, key))
      place->second.reset();
  }
  return place->second ? &*place->second : nullptr;
}

const TunedRule *TileCompiler::findOpenRule(const Signature &signature,
                                            const Specialization &code,
                                            const DimSizes &sizes) const {
  if (options.tuning.mode == TuneMode::Off)
    return nullptr;
  std::lock_guard<std::mutex> lock(tunedMutex);
  if (findStored(signature, code, sizes))
    return nullptr;
  const TunedRule *rule = findRule(signature, code, sizes);
  return rule && !rule->find(sizes.sizes) ? rule : nullptr;
}

void TileCompiler::addVariants(std::vector<Variant> &variants,
                               Specialization code, const Signature &signature,
                               const DimSizes &sizes,
                               const std::vector<SizeCondition> &conditions,
                               const TunedRule *given) const {
  const TunedRule *rule = given ? given : findOpenRule(signature, code, sizes);
  if (!rule) {
    setTuned(code, signature, sizes);
    variants.push_back({std::move(code), conditions});
    return;
  }
  for (const TunedRule::Case &each : rule->cases) {
    Variant &variant = variants.emplace_back(Variant{code, conditions});
    variant.code.tuned = each.schedule;
    if (each.least > 0)
      variant.conditions.push_back({rule->dims, 1, each.least, false});
  }
}

void TileCompiler::relate(llvm::MutableArrayRef<Variant> variants) {
  std::vector<Specialization> all;
  for (const Variant &variant : variants)
    all.push_back(variant.code);
  for (Variant &variant : variants)
    variant.code.others = all;
}

llvm::Expected<std::vector<TileCompiler::Variant>> TileCompiler::getVariants(
    size_t kernel, const Signature &signature, const DimSizes &sizes,
    const std::optional<gpu::Device> &device, const TunedRule *given) const {
  auto code = specialize(kernel, signature, sizes, device);
  if (!code)
    return code.takeError();
  std::vector<QueryCount::Case> cases = {{}};
  if (queries[kernel])
    cases = queries[kernel]->getCases(sizes.sizes);
  std::vector<Variant> variants;
  for (const QueryCount::Case &each : cases) {
    bool isOwn = !device || QueryCount::hasCase(*device, each.queries);
    code->queries = isOwn ? each.queries : Queries::Any;
    if (isOwn || each.conditions.empty())
      addVariants(variants, *code, signature, sizes, each.conditions, given);
  }
  return variants;
}
