//===- Environment.cpp - The environment variables of nsacc ---------------===//

#include "nsacc/Support/Environment.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

extern char **environ;

using namespace nsacc;

llvm::ArrayRef<EnvironmentVariableInfo> nsacc::getEnvironmentVariables() {
  static constexpr EnvironmentVariableInfo variables[] = {
      {EnvironmentVariable::Cache, "NSACC_CACHE",
       "what is done with the cache of code: off, readonly, readwrite, or "
       "require, for which missing code is an error",
       "readwrite"},
      {EnvironmentVariable::CacheDir, "NSACC_CACHE_DIR",
       "folder of the cache of code", "nsacc in the user's cache folder"},
      {EnvironmentVariable::CacheSize, "NSACC_CACHE_SIZE",
       "bytes that the cache of code may take, as 500M or 2G", "2G"},
      {EnvironmentVariable::CrashDir, "NSACC_CRASH_DIR",
       "folder for reproducers of internal errors", "the system's temp folder"},
      {EnvironmentVariable::Threads, "NSACC_THREADS",
       "threads where a command has no --threads", "all of the machine"},
      {EnvironmentVariable::Tune, "NSACC_TUNE",
       "where schedules come from: off, replay (those that were tuned before), "
       "model, quick or full; with ',graph', ',cold' and ',agreement=0.9' for "
       "those of that use",
       "replay"},
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

/// Reads "2G".
static llvm::Expected<uint64_t> parseBytes(llvm::StringRef text) {
  llvm::StringRef number = text;
  unsigned shift = 0;
  for (auto [unit, bits] : {std::pair("K", 10), {"M", 20}, {"G", 30}})
    if (number.consume_back_insensitive(unit)) {
      shift = bits;
      break;
    }
  uint64_t count;
  if (number.getAsInteger(10, count) || count == 0 ||
      count > INT64_MAX >> shift)
    return llvm::createStringError(
        "NSACC_CACHE_SIZE is '" + text +
        "', expected a number of bytes of 1 or more, as 500M or 2G");
  return count << shift;
}

llvm::Expected<CacheOptions> nsacc::lookupCache() {
  CacheOptions options;
  std::optional<std::string> asked = lookup(EnvironmentVariable::Cache);
  std::optional<CacheMode> mode = findCacheMode(asked.value_or("readwrite"));
  if (!mode)
    return llvm::createStringError(
        "NSACC_CACHE is '" + *asked +
        "', expected off, readonly, readwrite or require");
  options.mode = *mode;
  if (auto size = lookup(EnvironmentVariable::CacheSize)) {
    auto bytes = parseBytes(*size);
    if (!bytes)
      return bytes.takeError();
    options.mostBytes = *bytes;
  }
  if (auto folder = lookup(EnvironmentVariable::CacheDir)) {
    options.folder = *folder;
    return options;
  }
  llvm::SmallString<128> folder;
  // Relative paths must be ignored (XDG base directories): they would make a
  // cache in each folder that a process runs in.
  if (llvm::sys::path::cache_directory(folder) &&
      llvm::sys::path::is_absolute(folder)) {
    llvm::sys::path::append(folder, "nsacc");
    options.folder = std::string(folder);
    return options;
  }
  if (asked && options.mode != CacheMode::Off)
    return llvm::createStringError(
        "NSACC_CACHE is '" + *asked +
        "', and this user has no folder for a cache: set NSACC_CACHE_DIR");
  options.mode = CacheMode::Off;
  return options;
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
