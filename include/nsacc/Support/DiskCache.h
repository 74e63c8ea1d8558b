//===- DiskCache.h - Results that processes share by files ------*- C++ -*-===//

#ifndef NSACC_SUPPORT_DISKCACHE_H
#define NSACC_SUPPORT_DISKCACHE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nsacc {

enum class CacheMode {
  Off,
  ReadOnly,
  ReadWrite,
  Require, ///< reads only, and what isn't there is an error
};

/// The mode called "off", "readonly", "readwrite" or "require".
std::optional<CacheMode> findCacheMode(llvm::StringRef name);

struct CacheOptions {
  CacheMode mode = CacheMode::Off;
  /// Made when something is first written to it.
  std::string folder = {};
  /// What files may take together; those that weren't used for longest go
  /// first.
  uint64_t mostBytes = uint64_t{2} << 30;
  /// No file is ever removed.
  static constexpr uint64_t kAnyBytes = UINT64_MAX;
  /// How long files may take more.
  std::chrono::seconds pruneInterval = std::chrono::seconds(60);
  /// What a warning advises beside another folder.
  std::string remedy = "NSACC_CACHE to readonly or off";
};

/// Values by key, in files of a folder. Any number of processes may use it at a
/// time: a file is published whole, by renaming it, and never changed. What
/// goes wrong costs time, and one warning in the process; nothing fails by it.
class DiskCache {
public:
  using Warn = std::function<void(llvm::StringRef)>;

  DiskCache() = default;
  /// `warn` may be empty.
  DiskCache(CacheOptions options, Warn warn);

  CacheMode getMode() const { return options.mode; }
  const std::string &getFolder() const { return options.folder; }
  /// Where the value of a key is, or would be.
  std::string getPath(llvm::StringRef key) const;

  /// None where there is no value, or none that can be read.
  std::optional<std::string> find(llvm::StringRef key) const;
  /// Whether it was written; where it should have been, a warning says why not.
  bool store(llvm::StringRef key, llvm::StringRef value) const;

private:
  bool isSafe() const;
  void warn(const llvm::Twine &message) const;

  CacheOptions options;
  Warn tell;
};

/// A file of a cache.
struct CacheEntry {
  std::string path;
  uint64_t bytes = 0;
  llvm::sys::TimePoint<> lastUse;
  /// Empty where the file is damaged.
  std::string key;
  /// Why it can't be used; empty where it can.
  std::string problem;
};

/// Those of a folder, the last used first; none where there is no folder.
llvm::Expected<std::vector<CacheEntry>> listCache(llvm::StringRef folder);
/// Removes the files of a cache, also damaged ones and what writers left
/// behind, and nothing else.
llvm::Error clearCache(llvm::StringRef folder);

} // namespace nsacc

#endif // NSACC_SUPPORT_DISKCACHE_H
