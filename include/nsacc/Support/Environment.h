//===- Environment.h - The environment variables of nsacc -------*- C++ -*-===//

#ifndef NSACC_SUPPORT_ENVIRONMENT_H
#define NSACC_SUPPORT_ENVIRONMENT_H

#include "nsacc/Support/DiskCache.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace nsacc {

/// Every environment variable that nsacc reads. Tools read them and pass the
/// values as options; libraries don't read them.
enum class EnvironmentVariable {
  Cache,
  CacheDir,
  CacheSize,
  CrashDir,
  Threads,
  Tune
};

struct EnvironmentVariableInfo {
  EnvironmentVariable variable;
  llvm::StringLiteral name;
  llvm::StringLiteral description;
  llvm::StringLiteral fallback; ///< the value while it isn't set
};

llvm::ArrayRef<EnvironmentVariableInfo> getEnvironmentVariables();

/// The value of a variable; none if it isn't set or empty.
std::optional<std::string> lookup(EnvironmentVariable variable);

/// The value of NSACC_THREADS; 0 if it isn't set. Fails if it isn't a number of
/// threads.
llvm::Expected<unsigned> lookupThreads();

/// The options of the code cache that NSACC_CACHE, NSACC_CACHE_DIR and
/// NSACC_CACHE_SIZE give; by default it is read and written. Fails if one of
/// them can't be read, and if a cache was asked for and there is no folder for
/// it.
llvm::Expected<CacheOptions> lookupCache();

/// Variables named NSACC_… in this process's environment that nsacc doesn't
/// know.
std::vector<std::string> findUnknownEnvironmentVariables();

} // namespace nsacc

#endif // NSACC_SUPPORT_ENVIRONMENT_H
