//===- TunedRule.cpp - Tuned schedules chosen by sizes --------------------===//

#include "nsacc/Driver/TunedRule.h"
#include "TunedFields.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <tuple>
#include <utility>

using namespace nsacc;

int64_t nsacc::multiplySizes(llvm::ArrayRef<std::string> dims,
                             const llvm::StringMap<int64_t> &sizes) {
  uint64_t product = 1;
  for (const std::string &dim : dims)
    product = llvm::SaturatingMultiply<uint64_t>(
        product, std::max<int64_t>(sizes.lookup(dim), 0));
  return static_cast<int64_t>(
      std::min<uint64_t>(product, TunedRule::kMostLeast));
}

const TunedRule::Case *
TunedRule::find(const llvm::StringMap<int64_t> &sizes) const {
  if (!llvm::all_of(dims, [&](const auto &dim) { return sizes.contains(dim); }))
    return nullptr;
  int64_t product = multiplySizes(dims, sizes);
  for (const Case &each : cases)
    if (product >= each.least)
      return &each;
  return &cases.back();
}

std::string TunedRule::describe() const {
  std::vector<std::string> parts;
  for (const Case &each : cases) {
    std::string when = each.least == 0 ? (cases.size() > 1 ? "else" : "always")
                                       : llvm::join(dims, " * ") +
                                             " >= " + llvm::itostr(each.least);
    parts.push_back(when + ": '" + each.schedule + "'");
  }
  return llvm::join(parts, "; ");
}

//===-- Keys --------------------------------------------------------------===//

static constexpr llvm::StringLiteral kRuleHead = "rule: 1";

std::string nsacc::getRuleKey(llvm::StringRef tuningKey) {
  std::string key = (kRuleHead + "\n").str();
  // The first line is the version of keys of single sizes. The `queries` line
  // depends on lengths.
  llvm::StringRef rest = tuningKey.split('\n').second;
  while (!rest.empty()) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (!line.starts_with("lengths: ") && !line.starts_with("queries: "))
      key += (line + "\n").str();
  }
  return key;
}

bool nsacc::isRuleKey(llvm::StringRef key) {
  return key.starts_with((kRuleHead + "\n").str());
}

//===-- JSON --------------------------------------------------------------===//

llvm::json::Value nsacc::toJSON(const TunedRule &rule) {
  llvm::json::Array cases;
  for (const TunedRule::Case &each : rule.cases)
    cases.push_back(
        llvm::json::Object{{"least", each.least}, {"schedule", each.schedule}});
  return llvm::json::Object{{"dims", llvm::json::Array(rule.dims)},
                            {"cases", std::move(cases)},
                            {"shapes", llvm::json::Array(rule.shapes)},
                            {"held_out", llvm::json::Array(rule.heldOut)},
                            {"slowdown", rule.slowdown},
                            {"held_out_slowdown", rule.heldOutSlowdown},
                            {"policy", rule.policy},
                            {"date", rule.date}};
}

/// Whether these are valid cases: the first case that holds is taken, and the
/// last one always holds.
static bool areCases(const TunedRule &rule) {
  if (rule.cases.empty() || rule.cases.size() > TunedRule::kMostCases ||
      rule.cases.back().least != 0)
    return false;
  int64_t above = TunedRule::kMostLeast + 1;
  return llvm::all_of(rule.cases, [&](const TunedRule::Case &each) {
    return each.least >= 0 && each.least < std::exchange(above, each.least);
  });
}

static bool areDims(const TunedRule &rule) {
  llvm::StringSet<> names;
  return rule.dims.empty() == (rule.cases.size() == 1) &&
         rule.dims.size() <= TunedRule::kMostDims &&
         llvm::all_of(rule.dims, [&](const std::string &dim) {
           return !dim.empty() && isText(dim, 4096) && names.insert(dim).second;
         });
}

/// Checks a rule, since files come from other people.
static bool checkRule(const TunedRule &rule, llvm::json::Path path) {
  auto require = [&](bool holds, llvm::StringLiteral field,
                     llvm::StringLiteral expected) {
    if (!holds)
      path.field(field).report(expected);
    return holds;
  };
  auto isLine = [](const std::string &text) { return isText(text, 4096); };
  auto isSlowdown = [](double value) { return value >= 1 && value <= 1e6; };
  constexpr llvm::StringLiteral slowdown = "expected a number from 1 to 1e6";
  return require(areCases(rule), "cases",
                 "expected 1 to 16 cases, whose 'least' are at most 2^40, each "
                 "below the one before, and 0 in the last one") &&
         require(llvm::all_of(rule.cases,
                              [&](const TunedRule::Case &each) {
                                return isLine(each.schedule);
                              }),
                 "cases", kLineExpected) &&
         require(areDims(rule), "dims",
                 "expected up to 8 names of dimensions, each once, and none "
                 "where there is one case") &&
         require(!rule.shapes.empty() && llvm::all_of(rule.shapes, isLine),
                 "shapes",
                 "expected the sizes that it was made of, as lines") &&
         require(llvm::all_of(rule.heldOut, isLine), "held_out",
                 kLineExpected) &&
         require(isSlowdown(rule.slowdown), "slowdown", slowdown) &&
         require(isSlowdown(rule.heldOutSlowdown), "held_out_slowdown",
                 slowdown) &&
         require(!rule.policy.empty() && isLine(rule.policy), "policy",
                 kPolicyExpected) &&
         require(isDate(rule.date), "date", kDateExpected);
}

static bool fromJSON(const llvm::json::Value &value, TunedRule::Case &read,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper object(value, path);
  return object && object.map("least", read.least) &&
         object.map("schedule", read.schedule);
}

static bool readCases(const llvm::json::Value &value, TunedRule &rule,
                      llvm::json::Path path) {
  const llvm::json::Object *object = value.getAsObject();
  const llvm::json::Array *cases = object ? object->getArray("cases") : nullptr;
  if (!cases) {
    path.field("cases").report("expected a list of cases");
    return false;
  }
  for (auto [index, each] : llvm::enumerate(*cases))
    if (!::fromJSON(each, rule.cases.emplace_back(),
                    path.field("cases").index(index)))
      return false;
  return true;
}

bool nsacc::fromJSON(const llvm::json::Value &value, TunedRule &rule,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper object(value, path);
  return object && object.map("dims", rule.dims) &&
         readCases(value, rule, path) && object.map("shapes", rule.shapes) &&
         object.map("held_out", rule.heldOut) &&
         object.map("slowdown", rule.slowdown) &&
         object.map("held_out_slowdown", rule.heldOutSlowdown) &&
         object.map("policy", rule.policy) && object.map("date", rule.date) &&
         checkRule(rule, path);
}
