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
  Require, ///< reads only; a missing entry is an error
};

/// The mode called "off", "readonly", "readwrite" or "require".
std::optional<CacheMode> findCacheMode(llvm::StringRef name);

struct CacheOptions {
  CacheMode mode = CacheMode::Off;
  /// Made when the first file is written to it.
  std::string folder = {};
  /// The most bytes that files take together; the least recently used ones are
  /// removed first.
  uint64_t mostBytes = uint64_t{2} << 30;
  /// No file is ever removed.
  static constexpr uint64_t kAnyBytes = UINT64_MAX;
  /// Time for which files may exceed the limit.
  std::chrono::seconds pruneInterval = std::chrono::seconds(60);
  /// Advice in a warning, besides using another folder.
  std::string remedy = "NSACC_CACHE to readonly or off";
};

/// Values by key, in files of a folder. Any number of processes may use it at
/// the same time: a file is published whole, by renaming it, and never changed.
/// A failure only costs time, and prints one warning in the process.
class DiskCache {
public:
  using Warn = std::function<void(llvm::StringRef)>;

  DiskCache() = default;
  /// `warn` may be empty.
  DiskCache(CacheOptions options, Warn warn);

  CacheMode getMode() const { return options.mode; }
  const std::string &getFolder() const { return options.folder; }
  /// The path of a key's value, whether it exists or not.
  std::string getPath(llvm::StringRef key) const;

  /// None if there is no value, or if it can't be read.
  std::optional<std::string> find(llvm::StringRef key) const;
  /// Whether the value was written. If writing was allowed and failed, a
  /// warning says why.
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
  /// Empty if the file is damaged.
  std::string key;
  /// Why it can't be used; empty if it can.
  std::string problem;
};

/// The files of a folder, the last used first; none if there is no folder.
llvm::Expected<std::vector<CacheEntry>> listCache(llvm::StringRef folder);
/// Removes the files of a cache, including damaged and temporary ones, and
/// nothing else.
llvm::Error clearCache(llvm::StringRef folder);

} // namespace nsacc

#endif // NSACC_SUPPORT_DISKCACHE_H
