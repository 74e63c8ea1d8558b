//===- Settings.cpp - What a user sets of a schedule ----------------------===//

#include "nsacc/Schedule/Settings.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Schedule/Choose.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::schedule;

namespace {
struct Field {
  StringLiteral name;
  std::optional<int64_t> Settings::*value;
};
} // namespace

/// Those with numbers; `order` has names.
static constexpr Field kFields[] = {{"tokens", &Settings::tokens},
                                    {"keys", &Settings::keys},
                                    {"splits", &Settings::splits},
                                    {"warps", &Settings::warps},
                                    {"stages", &Settings::stages}};

std::string schedule::explainSettings() {
  std::string text = "expected order=query_major, union, block_major or "
                     "key_major";
  for (const Field &field : kFields)
    text += (", " + field.name + "=N").str();
  return text + ", separated by commas";
}

std::string schedule::explainProblem(StringRef text, StringRef problem) {
  return ("can't use the schedule '" + text + "': " + problem).str();
}

static llvm::Error readSetting(StringRef name, StringRef value,
                               Settings &settings) {
  if (name == "order") {
    settings.order = nsatile::symbolizeLoopOrder(value);
    return settings.order
               ? llvm::Error::success()
               : llvm::createStringError(
                     "expected one of [query_major, union, key_major, "
                     "block_major] for 'order', found '" +
                     value + "'");
  }
  for (const Field &field : kFields) {
    if (name != field.name)
      continue;
    int64_t number;
    if (value.getAsInteger(10, number))
      return llvm::createStringError("expected integer value for '" + name +
                                     "', found '" + value + "'");
    settings.*field.value = number;
    return llvm::Error::success();
  }
  return llvm::createStringError("there is no field '" + name + "'");
}

llvm::Expected<Settings> schedule::parseSettings(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  Settings settings;
  llvm::StringSet<> given;
  for (StringRef part : parts) {
    auto [name, value] = part.split('=');
    name = name.trim();
    llvm::Error error = readSetting(name, value.trim(), settings);
    if (error)
      return std::move(error);
    if (!given.insert(name).second)
      return llvm::createStringError("'" + name + "' is given twice");
  }
  return settings;
}

llvm::Error schedule::checkSchedule(StringRef text) {
  auto fail = [&](StringRef problem) {
    return llvm::createStringError(explainProblem(text, problem) + "\n" +
                                   explainSettings());
  };
  llvm::Expected<Settings> settings = parseSettings(text);
  if (!settings)
    return fail(llvm::toString(settings.takeError()));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<nsatile::NSATileDialect>();
  std::string problem;
  if (makeAttr(replace(Choice(), *settings), &context, problem))
    return llvm::Error::success();
  return fail(problem);
}
