//===- Environment.cpp - The environment variables of nsacc ---------------===//

#include "nsacc/Support/Environment.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstdlib>

extern char **environ;

using namespace nsacc;

llvm::ArrayRef<EnvironmentVariableInfo> nsacc::getEnvironmentVariables() {
  static constexpr EnvironmentVariableInfo variables[] = {
      {EnvironmentVariable::CrashDir, "NSACC_CRASH_DIR",
       "folder for reproducers of internal errors", "the system's temp folder"},
      {EnvironmentVariable::Threads, "NSACC_THREADS",
       "threads where a command has no --threads", "all of the machine"},
  };
  return variables;
}

static const EnvironmentVariableInfo &getInfo(EnvironmentVariable variable) {
  for (const EnvironmentVariableInfo &info : getEnvironmentVariables())
    if (info.variable == variable)
      return info;
  llvm_unreachable("every variable is in the list");
}

std::optional<std::string> nsacc::lookup(EnvironmentVariable variable) {
  const char *value = std::getenv(getInfo(variable).name.data());
  if (!value || !*value)
    return std::nullopt;
  return value;
}

llvm::Expected<unsigned> nsacc::lookupThreads() {
  std::optional<std::string> value = lookup(EnvironmentVariable::Threads);
  if (!value)
    return 0;
  unsigned threads;
  if (llvm::StringRef(*value).getAsInteger(10, threads) || threads == 0 ||
      threads > 1024)
    return llvm::createStringError(
        "NSACC_THREADS is '%s', expected a number from 1 to 1024",
        value->c_str());
  return threads;
}

std::vector<std::string> nsacc::findUnknownEnvironmentVariables() {
  std::vector<std::string> unknown;
  for (char **entry = environ; *entry; ++entry) {
    llvm::StringRef name = llvm::StringRef(*entry).split('=').first;
    bool isKnown = llvm::any_of(
        getEnvironmentVariables(),
        [&](const EnvironmentVariableInfo &info) { return info.name == name; });
    if (name.starts_with("NSACC_") && !isKnown)
      unknown.push_back(name.str());
  }
  llvm::sort(unknown);
  return unknown;
}
