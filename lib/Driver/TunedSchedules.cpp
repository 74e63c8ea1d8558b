//===- TunedSchedules.cpp - Schedules that were measured to be fast -------===//

#include "nsacc/Driver/TunedSchedules.h"
#include "ShippedSeeds.h"
#include "TunedFields.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Support/Environment.h"
#include "nsacc/Support/JSON.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include <cmath>
#include <map>

using namespace nsacc;

static constexpr llvm::StringLiteral kModes[] = {"off", "replay", "model",
                                                 "quick", "full"};

llvm::StringRef nsacc::getName(TuneMode mode) {
  return kModes[static_cast<size_t>(mode)];
}

std::optional<TuneMode> nsacc::findTuneMode(llvm::StringRef name) {
  const llvm::StringLiteral *found = llvm::find(kModes, name);
  if (found == std::end(kModes))
    return std::nullopt;
  return static_cast<TuneMode>(found - std::begin(kModes));
}

/// Schedules are kept by tenths of the agreement.
static int getTenths(double agreement) {
  return std::min(static_cast<int>(std::lround(agreement * 10)), 9);
}

std::string nsacc::toString(const TunePolicy &policy) {
  return std::string(policy.isGraph ? "graph" : "eager") +
         (policy.isCold ? ", cold cache" : ", warm cache") +
         (getTenths(policy.agreement)
              ? ", agreement 0." + std::to_string(getTenths(policy.agreement))
              : "");
}

std::string nsacc::spellReplay(const TunePolicy &policy) {
  std::string text = getName(TuneMode::Replay).str();
  if (policy.isGraph)
    text += ",graph";
  if (policy.isCold)
    text += ",cold";
  if (int tenths = getTenths(policy.agreement))
    text += ",agreement=0." + std::to_string(tenths);
  return text;
}

std::optional<std::pair<TuneMode, TunePolicy>>
nsacc::readTuneMode(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  std::optional<TuneMode> mode = findTuneMode(parts.front());
  TunePolicy policy;
  for (llvm::StringRef part : llvm::drop_begin(parts)) {
    if (part.consume_front("agreement=")) {
      bool isRead = !part.getAsDouble(policy.agreement) &&
                    policy.agreement >= 0 && policy.agreement < 1;
      if (!isRead)
        return std::nullopt;
      continue;
    }
    if (part != "graph" && part != "cold")
      return std::nullopt;
    (part == "graph" ? policy.isGraph : policy.isCold) = true;
  }
  if (!mode)
    return std::nullopt;
  return std::pair(*mode, policy);
}

llvm::Expected<TuningOptions> nsacc::lookupTuning() {
  TuningOptions options;
  std::string asked = lookup(EnvironmentVariable::Tune).value_or("replay");
  auto read = readTuneMode(asked);
  if (!read)
    return llvm::createStringError(
        "NSACC_TUNE is '" + asked +
        "', expected off, replay, model, quick or full, with ',graph' or "
        "',cold' behind it where programs run so, and ',agreement=0.9' where "
        "neighbouring tokens select alike (0 to below 1)");
  std::tie(options.mode, options.policy) = *read;
  auto cache = lookupCache();
  if (!cache)
    return cache.takeError();
  options.store = std::move(*cache);
  if (options.store.folder.empty()) {
    options.mode = TuneMode::Off;
    return options;
  }
  // Schedules are read even if no code is kept.
  if (options.store.mode != CacheMode::ReadOnly)
    options.store.mode = CacheMode::ReadWrite;
  llvm::SmallString<128> folder(options.store.folder);
  llvm::sys::path::append(folder, "tuned");
  options.store.folder = std::string(folder);
  return options;
}

//===-- JSON --------------------------------------------------------------===//

llvm::json::Value nsacc::toJSON(const TunedSchedule &tuned) {
  return llvm::json::Object{{"schedule", tuned.schedule},
                            {"whole", tuned.whole},
                            {"sizes", tuned.sizes},
                            {"policy", tuned.policy},
                            {"date", tuned.date},
                            {"ms", tuned.milliseconds},
                            {"spread_ms", {tuned.low, tuned.high}},
                            {"chosen_ms", tuned.chosenMilliseconds},
                            {"error", tuned.error},
                            {"measured", tuned.measured},
                            {"failed", tuned.failed},
                            {"clock_mhz", tuned.clock}};
}

/// Whether a time of a run is plausible: from a nanosecond to a day.
static bool isTime(double milliseconds) {
  return milliseconds >= 1e-6 && milliseconds <= 24 * 3600 * 1e3;
}

bool nsacc::isText(llvm::StringRef text, size_t most, bool isLine) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  return text.size() <= most && (!isLine || lines.size() == 1) &&
         llvm::all_of(lines, isPrintable);
}

bool nsacc::isDate(llvm::StringRef text) {
  return llvm::Regex("^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
                     "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$")
      .match(text);
}

/// Checks an entry. Files come from other people; their content is printed, and
/// compared with measurements of this machine.
static bool checkTuned(const TunedSchedule &tuned, llvm::json::Path path) {
  auto require = [&](bool holds, llvm::StringLiteral field,
                     llvm::StringLiteral expected) {
    if (!holds)
      path.field(field).report(expected);
    return holds;
  };
  constexpr llvm::StringLiteral line = kLineExpected;
  constexpr llvm::StringLiteral time =
      "expected milliseconds of a run, from 1e-6 to a day";
  constexpr llvm::StringLiteral count = "expected a count, 0 or more";
  return require(isText(tuned.schedule, 4096), "schedule", line) &&
         require(!tuned.whole.empty() &&
                     isText(tuned.whole, 1 << 20, /*isLine=*/false),
                 "whole",
                 "expected from 1 to 1048576 bytes of text without control "
                 "characters") &&
         require(isText(tuned.sizes, 4096), "sizes", line) &&
         require(isText(tuned.policy, 4096), "policy", line) &&
         require(!tuned.policy.empty(), "policy", kPolicyExpected) &&
         require(isDate(tuned.date), "date", kDateExpected) &&
         require(isTime(tuned.milliseconds), "ms", time) &&
         require(isTime(tuned.low) && isTime(tuned.high) &&
                     tuned.low <= tuned.high,
                 "spread_ms",
                 "expected two times in milliseconds, the lesser one first") &&
         require(isTime(tuned.chosenMilliseconds), "chosen_ms", time) &&
         require(std::isfinite(tuned.error) && tuned.error >= 0, "error",
                 "expected a number, 0 or more") &&
         require(tuned.measured >= 0, "measured", count) &&
         require(tuned.failed >= 0, "failed", count) &&
         require(tuned.clock >= 0 && tuned.clock <= 100000, "clock_mhz",
                 "expected MHz, from 0 to 100000");
}

bool nsacc::fromJSON(const llvm::json::Value &value, TunedSchedule &tuned,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper object(value, path);
  std::vector<double> spread;
  bool isRead =
      object && object.map("schedule", tuned.schedule) &&
      object.map("whole", tuned.whole) && object.map("sizes", tuned.sizes) &&
      object.map("policy", tuned.policy) && object.map("date", tuned.date) &&
      object.map("ms", tuned.milliseconds) && object.map("spread_ms", spread) &&
      object.map("chosen_ms", tuned.chosenMilliseconds) &&
      object.map("error", tuned.error) &&
      object.map("measured", tuned.measured) &&
      object.map("failed", tuned.failed) &&
      object.map("clock_mhz", tuned.clock);
  if (!isRead)
    return false;
  if (spread.size() != 2) {
    path.field("spread_ms").report("expected two numbers");
    return false;
  }
  tuned.low = spread[0];
  tuned.high = spread[1];
  return checkTuned(tuned, path);
}

std::string nsacc::describeOthers(const TunedSchedule &tuned) {
  int64_t others = tuned.measured - 1;
  if (others < 1)
    return "beside which nothing could be measured";
  return others == 1
             ? "which the only other candidate wasn't faster than by 1 %"
             : "which none of " + std::to_string(others) +
                   " other candidates was faster than by 1 %";
}

std::string nsacc::describeUnused(llvm::StringRef schedule,
                                  llvm::StringRef kernel, llvm::Error why) {
  std::string text = llvm::toString(std::move(why));
  return ("the tuned schedule '" + schedule + "' of kernel '" + kernel +
          "' isn't used: " + llvm::StringRef(text).split('\n').first +
          "; tune again, which keeps one that can be")
      .str();
}

std::string nsacc::describeUnused(const TunedRule &rule,
                                  const Signature &signature,
                                  llvm::StringRef key) {
  llvm::SmallVector<llvm::StringRef> specialized;
  getLine(key, "sizes").split(specialized, ',');
  for (llvm::StringRef &size : specialized)
    size = size.split('=').first;
  auto isLength = [&](llvm::StringRef name) {
    return !llvm::is_contained(specialized, name) &&
           llvm::any_of(signature.inputs, [&](const Argument &input) {
             return llvm::any_of(input.dims, [&](const Dim &dim) {
               return dim.name == name && (dim.kind == Dim::Kind::Named ||
                                           dim.kind == Dim::Kind::Ragged);
             });
           });
  };
  auto wrong = llvm::find_if_not(rule.dims, isLength);
  if (wrong == rule.dims.end())
    return "";
  return "the tuned rule '" + rule.describe() + "' of kernel '" +
         signature.kernel + "' isn't used: '" + *wrong +
         "' is no length of its inputs; tune again, which keeps one that can "
         "be";
}

//===-- Files -------------------------------------------------------------===//

/// Entries are small and took long to find: none is removed to make room.
static CacheOptions keepAll(CacheOptions options) {
  options.mostBytes = CacheOptions::kAnyBytes;
  options.remedy = "NSACC_CACHE to readonly";
  return options;
}

TunedSchedules::TunedSchedules(CacheOptions options, DiskCache::Warn warn)
    : cache(keepAll(std::move(options)), warn), warn(std::move(warn)) {}

std::optional<TunedSchedule> TunedSchedules::find(llvm::StringRef key) const {
  std::optional<std::string> text = cache.find(key);
  if (!text)
    return std::nullopt;
  auto tuned = parseJSON<TunedSchedule>(*text, "tuned");
  if (tuned)
    return std::move(*tuned);
  if (warn)
    warn("the tuned schedule in '" + cache.getPath(key) +
         "' isn't used: " + llvm::toString(tuned.takeError()));
  return std::nullopt;
}

bool TunedSchedules::store(llvm::StringRef key,
                           const TunedSchedule &tuned) const {
  std::string text;
  llvm::raw_string_ostream(text) << toJSON(tuned);
  if (!cache.store(key, text))
    return false;
  if (!tuned.schedule.empty())
    storeSeed(key, tuned.schedule);
  return true;
}

//===-- Rules -------------------------------------------------------------===//

std::optional<TunedRule>
TunedSchedules::findRule(llvm::StringRef ruleKey) const {
  std::optional<std::string> text = cache.find(ruleKey);
  if (!text)
    return std::nullopt;
  auto rule = parseJSON<TunedRule>(*text, "rule");
  if (rule)
    return std::move(*rule);
  if (warn)
    warn("the tuned rule in '" + cache.getPath(ruleKey) +
         "' isn't used: " + llvm::toString(rule.takeError()));
  return std::nullopt;
}

bool TunedSchedules::storeRule(llvm::StringRef ruleKey,
                               const TunedRule &rule) const {
  std::string text;
  llvm::raw_string_ostream(text) << toJSON(rule);
  if (!cache.store(ruleKey, text))
    return false;
  storeSeeds(ruleKey, rule);
  return true;
}

bool TunedSchedules::storeSeeds(llvm::StringRef ruleKey,
                                const TunedRule &rule) const {
  return llvm::all_of(rule.cases, [&](const TunedRule::Case &each) {
    return each.schedule.empty() || storeSeed(ruleKey, each.schedule);
  });
}

//===-- Seeds -------------------------------------------------------------===//

llvm::StringRef nsacc::getLine(llvm::StringRef key, llvm::StringRef name) {
  while (!key.empty()) {
    llvm::StringRef line;
    std::tie(line, key) = key.split('\n');
    if (line.consume_front(name) && line.consume_front(": "))
      return line;
  }
  return "";
}

/// The key of seeds: the parts of a key that seeds share. They are the kernel's
/// name, parameters and inputs, and the properties that its tiles depend on.
static std::string makeSeedKey(llvm::StringRef key) {
  std::string text = "seeds: 1\n";
  for (llvm::StringRef name :
       {"kernel", "schedule", "sizes", "queries", "target"})
    text += (name + ": " + getLine(key, name) + "\n").str();
  return text;
}

static std::vector<std::string> readSeeds(llvm::StringRef text) {
  auto seeds = parseJSON<std::vector<std::string>>(text, "seeds");
  if (seeds)
    return std::move(*seeds);
  llvm::consumeError(seeds.takeError());
  return {};
}

/// The seeds of this folder.
static std::vector<std::string> findOwnSeeds(const DiskCache &cache,
                                             llvm::StringRef key) {
  auto text = cache.find(makeSeedKey(key));
  return text ? readSeeds(*text) : std::vector<std::string>();
}

std::vector<std::string> TunedSchedules::findSeeds(llvm::StringRef key) const {
  std::vector<std::string> seeds = findOwnSeeds(cache, key);
  for (const ShippedSeed &shipped : getShippedSeeds())
    if (getLine(key, "kernel") == shipped.kernel &&
        getLine(key, "queries") == shipped.queries &&
        getLine(key, "target") == shipped.target &&
        getLine(key, "schedule").empty() &&
        !llvm::is_contained(seeds, shipped.schedule))
      seeds.push_back(shipped.schedule.str());
  return seeds;
}

bool TunedSchedules::storeSeed(llvm::StringRef key,
                               llvm::StringRef schedule) const {
  constexpr size_t most = 8;
  std::vector<std::string> seeds = findOwnSeeds(cache, key);
  llvm::erase(seeds, schedule);
  seeds.insert(seeds.begin(), schedule.str());
  seeds.resize(std::min(seeds.size(), most));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Array(seeds));
  return cache.store(makeSeedKey(key), text);
}

llvm::Expected<llvm::json::Value> TunedSchedules::exportAll() const {
  auto entries = listCache(cache.getFolder());
  if (!entries)
    return entries.takeError();
  llvm::sort(*entries, [](const CacheEntry &lhs, const CacheEntry &rhs) {
    return lhs.key < rhs.key;
  });
  llvm::json::Array all;
  for (const CacheEntry &entry : *entries) {
    if (!entry.problem.empty() && warn)
      warn("the tuned schedule in '" + entry.path + "' is left out: it is " +
           entry.problem);
    if (isRuleKey(entry.key))
      if (auto rule = findRule(entry.key))
        all.push_back(
            llvm::json::Object{{"key", entry.key}, {"rule", toJSON(*rule)}});
    if (!llvm::StringRef(entry.key).starts_with("tuned: "))
      continue;
    if (auto tuned = find(entry.key))
      all.push_back(
          llvm::json::Object{{"key", entry.key}, {"tuned", toJSON(*tuned)}});
  }
  return llvm::json::Value(std::move(all));
}

//===-- Keys --------------------------------------------------------------===//

static int64_t round(int64_t size) {
  if (size <= 1)
    return size;
  return int64_t{1} << std::lround(std::log2(static_cast<double>(size)));
}

std::string nsacc::spellLengths(const Signature &signature,
                                const DimSizes &sizes,
                                llvm::ArrayRef<std::string> specialized) {
  std::map<llvm::StringRef, int64_t> lengths;
  for (const Argument &input : signature.inputs)
    for (const Dim &dim : input.dims)
      if (auto found = sizes.sizes.find(dim.name);
          found != sizes.sizes.end() &&
          !llvm::is_contained(specialized, dim.name))
        lengths[found->first()] = round(found->second);
  std::string text;
  for (const auto &[name, size] : lengths)
    text += (text.empty() ? "" : ",") + name.str() + "=" + llvm::utostr(size);
  if (sizes.batchRows)
    text += (text.empty() ? "rows=" : ",rows=") +
            llvm::utostr(round(*sizes.batchRows));
  return text;
}
