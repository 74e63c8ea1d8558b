//===- ScratchFolder.cpp - Files of one tuner -----------------------------===//

#include "ScratchFolder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

using namespace nsacc::tuning;
namespace fs = llvm::sys::fs;

static constexpr llvm::StringLiteral kPrefix = "nsacc-tune";

/// Locks the folder; -1 if another process has it.
static int lock(const std::string &folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return descriptor;
  if (descriptor >= 0)
    ::close(descriptor);
  return -1;
}

/// Whether the folder belongs to this user, and isn't just being made.
static bool mayBeLeft(const std::string &folder) {
  constexpr std::chrono::minutes least(1);
  fs::file_status status;
  return !fs::status(folder, status, /*follow=*/false) &&
         status.type() == fs::file_type::directory_file &&
         status.getUser() == ::geteuid() &&
         std::chrono::system_clock::now() - status.getLastModificationTime() >
             least;
}

/// Removes folders of killed processes: nobody holds their locks.
static void removeLeft() {
  llvm::SmallString<128> place;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, place);
  std::error_code error;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string folder = entry->path();
    if (!llvm::sys::path::filename(folder).starts_with(kPrefix) ||
        !mayBeLeft(folder))
      continue;
    int descriptor = lock(folder);
    if (descriptor < 0)
      continue;
    fs::remove_directories(folder);
    ::close(descriptor);
  }
}

llvm::Expected<ScratchFolder> ScratchFolder::create() {
  static std::once_flag once;
  std::call_once(once, removeLeft);
  llvm::SmallString<128> made;
  if (std::error_code error = fs::createUniqueDirectory(kPrefix, made))
    return llvm::createStringError(error, "can't make a temporary folder: " +
                                              error.message());
  ScratchFolder folder;
  folder.path = std::string(made);
  folder.descriptor = lock(folder.path);
  return folder;
}

ScratchFolder::ScratchFolder(ScratchFolder &&other)
    : path(std::exchange(other.path, "")),
      descriptor(std::exchange(other.descriptor, -1)) {}

ScratchFolder &ScratchFolder::operator=(ScratchFolder &&other) {
  std::swap(path, other.path);
  std::swap(descriptor, other.descriptor);
  return *this;
}

ScratchFolder::~ScratchFolder() {
  if (!path.empty())
    fs::remove_directories(path);
  if (descriptor >= 0)
    ::close(descriptor);
}

std::string ScratchFolder::getPath(llvm::StringRef name) const {
  llvm::SmallString<128> file(path);
  llvm::sys::path::append(file, name);
  return std::string(file);
}
