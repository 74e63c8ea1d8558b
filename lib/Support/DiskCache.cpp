//===- DiskCache.cpp - Results in files, shared by processes --------------===//

#include "nsacc/Support/DiskCache.h"
#include "nsacc/Support/Files.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <mutex>
#include <set>
#include <unistd.h>

using namespace llvm;
using namespace nsacc;
namespace fs = llvm::sys::fs;

std::optional<CacheMode> nsacc::findCacheMode(StringRef name) {
  return StringSwitch<std::optional<CacheMode>>(name)
      .Case("off", CacheMode::Off)
      .Case("readonly", CacheMode::ReadOnly)
      .Case("readwrite", CacheMode::ReadWrite)
      .Case("require", CacheMode::Require)
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// The prefix by which pruneCache recognizes a cache's files.
static constexpr StringLiteral kPrefix = "llvmcache-";
static constexpr StringLiteral kMagic = "nsacc-cache-0001";

namespace {

/// The beginning of a file; key and value follow.
struct Head {
  char magic[16];
  support::ulittle64_t keyBytes, valueBytes;
  /// XXH3 of the numbers above, the key and the value.
  support::ulittle64_t checksum;
};

struct Contents {
  StringRef key, value;
};

} // namespace

static uint64_t computeChecksum(StringRef key, StringRef value) {
  std::string numbers = utostr(key.size()) + "," + utostr(value.size());
  std::string sums;
  for (StringRef part : {StringRef(numbers), key, value})
    sums += utostr(xxh3_64bits(part)) + ",";
  return xxh3_64bits(sums);
}

static void write(raw_ostream &os, StringRef key, StringRef value) {
  Head head;
  copy(kMagic, head.magic);
  head.keyBytes = key.size();
  head.valueBytes = value.size();
  head.checksum = computeChecksum(key, value);
  os.write(reinterpret_cast<const char *>(&head), sizeof(head));
  os << key << value;
}

/// None if the file isn't complete.
static std::optional<Contents> read(StringRef file) {
  if (file.size() < sizeof(Head))
    return std::nullopt;
  Head head;
  std::memcpy(&head, file.data(), sizeof(head));
  StringRef rest = file.drop_front(sizeof(head));
  if (StringRef(head.magic, sizeof(head.magic)) != kMagic ||
      head.keyBytes > rest.size() ||
      head.valueBytes != rest.size() - head.keyBytes)
    return std::nullopt;
  Contents contents = {rest.take_front(head.keyBytes),
                       rest.drop_front(head.keyBytes)};
  if (computeChecksum(contents.key, contents.value) != head.checksum)
    return std::nullopt;
  return contents;
}

/// Opens a file, which counts as a use of it if `isUse`.
static ErrorOr<std::unique_ptr<MemoryBuffer>> open(StringRef path, bool isUse) {
  // Other kinds of files may never end, and a cache's files aren't that large.
  constexpr uint64_t most = uint64_t{1} << 30;
  fs::file_status status;
  if (std::error_code error = fs::status(path, status))
    return error;
  if (status.type() != fs::file_type::regular_file || status.getSize() > most)
    return std::make_error_code(std::errc::invalid_argument);
  // Has no effect if access times are off, or if they are updated once a day
  // only.
  Expected<fs::file_t> file =
      fs::openNativeFileForRead(path, isUse ? fs::OF_UpdateAtime : fs::OF_None);
  if (!file)
    return errorToErrorCode(file.takeError());
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getOpenFile(
      *file, path, /*FileSize=*/-1, /*RequiresNullTerminator=*/false);
  fs::closeFile(*file);
  return buffer;
}

/// Whether a killed writer left the file: writing takes far less than an hour.
static bool isLeft(StringRef path) {
  constexpr std::chrono::hours least(1);
  fs::file_status status;
  return sys::path::filename(path).starts_with(kPrefix) &&
         path.ends_with(".tmp") && !fs::status(path, status) &&
         std::chrono::system_clock::now() - status.getLastModificationTime() >
             least;
}

/// Removes such files, once in a process; errors are ignored.
static void removeLeft(StringRef folder) {
  static std::mutex mutex;
  static std::set<std::string> cleaned;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!cleaned.insert(folder.str()).second)
      return;
  }
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error))
    if (isLeft(file->path()))
      fs::remove(file->path());
}

//===----------------------------------------------------------------------===//
// DiskCache
//===----------------------------------------------------------------------===//

DiskCache::DiskCache(CacheOptions options, Warn warn)
    : options(std::move(options)), tell(std::move(warn)) {}

/// Warns once in a process, since each program has a separate cache, but all
/// have the same folder.
void DiskCache::warn(const Twine &message) const {
  // Without a receiver, another cache may warn.
  if (!tell)
    return;
  static std::mutex mutex;
  static std::set<std::string> told;
  std::string text = message.str();
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!told.insert(text).second)
      return;
  }
  tell(text);
}

static std::string getFileName(StringRef key) {
  return kPrefix.str() +
         toHex(SHA256::hash(arrayRefFromStringRef(key)), /*LowerCase=*/true);
}

std::string DiskCache::getPath(StringRef key) const {
  SmallString<128> path(options.folder);
  sys::path::append(path, getFileName(key));
  return std::string(path);
}

/// Whether any user can replace this folder by another one.
static bool isReplaceable(StringRef folder) {
  fs::file_status status;
  if (fs::status(sys::path::parent_path(folder), status))
    return false; // it doesn't exist, or it is "/"
  return (status.permissions() & fs::perms::others_write) &&
         !(status.permissions() & fs::perms::sticky_bit);
}

/// Whether only trusted users can write to the folder: its files are code that
/// runs.
bool DiskCache::isSafe() const {
  SmallString<128> folder(options.folder);
  fs::make_absolute(folder);
  fs::file_status status;
  bool isThere = !fs::status(folder, status);
  bool isOwn =
      !isThere || status.getUser() == geteuid() || status.getUser() == 0;
  bool isClosed = !isThere || !(status.permissions() & fs::perms::others_write);
  if (isOwn && isClosed && !isReplaceable(folder))
    return true;
  warn("the cache's folder '" + options.folder +
       "' isn't used: it is another user's, or everybody can write to it or to "
       "the folder that it is in");
  return false;
}

std::optional<std::string> DiskCache::find(StringRef key) const {
  if (options.mode == CacheMode::Off || !isSafe())
    return std::nullopt;
  std::string path = getPath(key);
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = open(path, /*isUse=*/true);
  if (!file) {
    if (file.getError() != std::errc::no_such_file_or_directory)
      warn("the cache's file '" + path +
           "' can't be read: " + file.getError().message());
    return std::nullopt;
  }
  std::optional<Contents> found = read((*file)->getBuffer());
  if (found && found->key == key)
    return found->value.str();
  warn("the cache's file '" + path + "' is damaged and isn't used");
  return std::nullopt;
}

static Error writeFile(StringRef folder, StringRef path, StringRef key,
                       StringRef value) {
  if (std::error_code error = fs::create_directories(
          folder, /*IgnoreExisting=*/true, fs::perms::owner_all))
    return errorCodeToError(error);
  return writeWhole(path, fs::perms::owner_read | fs::perms::owner_write,
                    [&](raw_ostream &os) { write(os, key, value); });
}

bool DiskCache::store(StringRef key, StringRef value) const {
  if (options.mode != CacheMode::ReadWrite || !isSafe())
    return false;
  removeLeft(options.folder);
  if (Error error = writeFile(options.folder, getPath(key), key, value)) {
    warn("the cache's folder '" + options.folder +
         "' can't be written: " + toString(std::move(error)) +
         "; set NSACC_CACHE_DIR to one that can, or " + options.remedy);
    return false;
  }
  if (options.mostBytes == CacheOptions::kAnyBytes)
    return true;
  CachePruningPolicy policy;
  policy.Interval = options.pruneInterval;
  policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizeBytes = options.mostBytes;
  pruneCache(options.folder, policy);
  return true;
}

//===----------------------------------------------------------------------===//
// All files of a cache
//===----------------------------------------------------------------------===//

/// Calls `use` with the path of each file of a cache.
static Error forEachFile(StringRef folder,
                         function_ref<Error(const std::string &)> use) {
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error))
    if (sys::path::filename(file->path()).starts_with(kPrefix))
      if (Error failed = use(file->path()))
        return failed;
  if (!error || error == std::errc::no_such_file_or_directory)
    return Error::success();
  return createStringError(error, "can't read the cache's folder '" + folder +
                                      "': " + error.message());
}

static CacheEntry readEntry(const std::string &path) {
  CacheEntry entry;
  entry.path = path;
  fs::file_status status;
  if (!fs::status(path, status)) {
    entry.bytes = status.getSize();
    entry.lastUse = status.getLastAccessedTime();
  }
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = open(path, /*isUse=*/false);
  if (!file) {
    entry.problem = status.type() == fs::file_type::regular_file
                        ? file.getError().message()
                        : "no file";
    return entry;
  }
  std::optional<Contents> found = read((*file)->getBuffer());
  if (found && sys::path::filename(path) == getFileName(found->key))
    entry.key = found->key.str();
  else if (found)
    entry.problem = "under another one's name";
  else if (StringRef(path).ends_with(".tmp"))
    entry.problem = "being written, or left by a writer that ended early";
  else
    entry.problem = "damaged";
  return entry;
}

Expected<std::vector<CacheEntry>> nsacc::listCache(StringRef folder) {
  std::vector<CacheEntry> entries;
  if (Error error = forEachFile(folder, [&](const std::string &path) {
        entries.push_back(readEntry(path));
        return Error::success();
      }))
    return std::move(error);
  sort(entries, [](const CacheEntry &lhs, const CacheEntry &rhs) {
    return lhs.lastUse > rhs.lastUse;
  });
  return entries;
}

Error nsacc::clearCache(StringRef folder) {
  return forEachFile(folder, [](const std::string &path) -> Error {
    if (std::error_code error = fs::remove(path))
      return createStringError(error, "can't remove '" + path +
                                          "': " + error.message());
    return Error::success();
  });
}
