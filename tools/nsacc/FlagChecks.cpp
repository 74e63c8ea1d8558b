//===- FlagChecks.cpp - Checks of flags' values ---------------------------===//

#include "FlagChecks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <optional>

using namespace nsacc;

static std::optional<double> readNumber(llvm::StringRef text) {
  double number;
  if (text.getAsDouble(number) || !std::isfinite(number))
    return std::nullopt;
  return number;
}

FlagCheck nsacc::checkNumber(double low, double high) {
  return [low, high](const std::string &value) -> std::string {
    std::optional<double> number = readNumber(value);
    if (number && *number >= low && *number <= high)
      return "";
    return llvm::formatv("expected a number from {0} to {1}, found '{2}'",
                         llvm::format("%g", low), llvm::format("%g", high),
                         value);
  };
}

FlagCheck nsacc::checkSeed() {
  return [](const std::string &value) -> std::string {
    uint64_t seed;
    if (!llvm::StringRef(value).getAsInteger(10, seed))
      return "";
    return "expected an integer from 0 to 2^64 - 1, found '" + value + "'";
  };
}

FlagCheck nsacc::checkSeconds() {
  constexpr double most = 1e9; // 31 years: no overflow when added to a clock's
                               // time
  return [](const std::string &value) -> std::string {
    std::optional<double> number = readNumber(value);
    if (number && *number > 0 && *number <= most)
      return "";
    return "expected a number of seconds, more than 0 and at most 1e9, found "
           "'" +
           value + "'";
  };
}

FlagCheck nsacc::checkTargetNames() {
  return [](const std::string &value) -> std::string {
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(value).split(names, ',');
    if (llvm::none_of(names,
                      [](llvm::StringRef name) { return name.trim().empty(); }))
      return "";
    return "expected names with commas between them, as cpu,sm_90a, found '" +
           value + "', where a name is empty";
  };
}

FlagCheck nsacc::checkFileName() {
  return [](const std::string &value) -> std::string {
    return value.empty() ? "expected the name of a file, found ''" : "";
  };
}
