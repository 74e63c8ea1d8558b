//===- DiskCacheTest.cpp - Results in files, shared by processes ----------===//

#include "nsacc/Support/DiskCache.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace nsacc;
namespace fs = llvm::sys::fs;

namespace {

class DiskCacheTest : public ::testing::Test {
protected:
  DiskCacheTest() {
    EXPECT_FALSE(fs::createUniqueDirectory("nsacc-cache", root));
    options.mode = CacheMode::ReadWrite;
    options.folder = getPath("folders/that/are/made");
    options.pruneInterval = std::chrono::seconds(0);
  }
  ~DiskCacheTest() override { fs::remove_directories(root); }

  std::string getPath(llvm::StringRef name) const {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, name);
    return std::string(path);
  }
  DiskCache open() {
    return {options, [this](llvm::StringRef warning) {
              warnings.push_back(warning.str());
            }};
  }
  DiskCache open(CacheMode mode) {
    options.mode = mode;
    return open();
  }
  std::vector<CacheEntry> list() {
    return llvm::cantFail(listCache(options.folder));
  }
  static std::string read(const std::string &path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  static void write(const std::string &path, llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    EXPECT_FALSE(error) << error.message();
    os << bytes;
  }

  llvm::SmallString<128> root;
  CacheOptions options;
  std::vector<std::string> warnings;
};

} // namespace

static const std::string kValue("value\0with\nall", 14);

TEST_F(DiskCacheTest, WhatIsStoredIsFound) {
  EXPECT_EQ(open().find("key"), std::nullopt);
  EXPECT_TRUE(list().empty());
  open().store("key", kValue);
  open().store("", "");
  EXPECT_EQ(open().find("key"), kValue);
  EXPECT_EQ(open().find(""), "");
  EXPECT_EQ(open().find("kex"), std::nullopt);
  open().store("key", "another");
  EXPECT_EQ(open().find("key"), "another");
  EXPECT_EQ(list().size(), 2u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DiskCacheTest, ModesReadOrWrite) {
  open(CacheMode::Off).store("key", kValue);
  open(CacheMode::ReadOnly).store("key", kValue);
  open(CacheMode::Require).store("key", kValue);
  EXPECT_TRUE(list().empty());
  open(CacheMode::ReadWrite).store("key", kValue);
  EXPECT_EQ(open(CacheMode::Off).find("key"), std::nullopt);
  EXPECT_EQ(open(CacheMode::ReadOnly).find("key"), kValue);
  EXPECT_EQ(open(CacheMode::Require).find("key"), kValue);
}

/// Changes every byte of a file, and tries every shorter length.
TEST_F(DiskCacheTest, DamagedFilesAreMissesAndReplaced) {
  open().store("key", kValue);
  std::string path = open().getPath("key"), whole = read(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 0x10;
    write(path, damaged);
    EXPECT_EQ(open().find("key"), std::nullopt) << "byte " << i;
    write(path, llvm::StringRef(whole).take_front(i));
    EXPECT_EQ(open().find("key"), std::nullopt) << i << " bytes";
  }
  write(path, whole + "more");
  EXPECT_EQ(open().find("key"), std::nullopt);
  ASSERT_EQ(warnings.size(), 1u) << "told once";
  EXPECT_EQ(warnings.front(),
            "the cache's file '" + path + "' is damaged and isn't used");
  ASSERT_EQ(list().size(), 1u);
  EXPECT_EQ(list().front().problem, "damaged");
  open().store("key", kValue);
  EXPECT_EQ(open().find("key"), kValue);
  EXPECT_EQ(list().front().problem, "");
  EXPECT_EQ(list().front().key, "key");
}

/// A copy of a file under another key's name.
TEST_F(DiskCacheTest, FilesOfOtherKeysAreMisses) {
  open().store("key", kValue);
  write(open().getPath("other"), read(open().getPath("key")));
  EXPECT_EQ(open().find("other"), std::nullopt);
  EXPECT_EQ(warnings.size(), 1u);
  std::vector<std::string> problems;
  for (const CacheEntry &entry : list())
    problems.push_back(entry.problem);
  llvm::sort(problems);
  EXPECT_EQ(problems,
            (std::vector<std::string>{"", "under another one's name"}));
}

TEST_F(DiskCacheTest, FoldersThatCannotBeWrittenAreToldOnce) {
  write(getPath("file"), "");
  options.folder = getPath("file") + "/folder";
  for (int i = 0; i < 3; ++i) {
    open().store("key", kValue);
    EXPECT_EQ(open().find("key"), std::nullopt);
  }
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0], "the cache's folder '" + options.folder +
                             "' can't be written: Not a directory; set "
                             "NSACC_CACHE_DIR to one that can, or NSACC_CACHE "
                             "to readonly or off");
  EXPECT_EQ(warnings[1], "the cache's file '" + open().getPath("key") +
                             "' can't be read: Not a directory");
}

/// A limit on the size of files simulates a full disk.
TEST_F(DiskCacheTest, AFullDiskLeavesNothingBehind) {
  open().store("key", kValue);
  rlimit old, limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  limit = {4096, old.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  open().store("large", std::string(100'000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(open().find("large"), std::nullopt);
  EXPECT_EQ(open().find("key"), kValue);
  EXPECT_EQ(list().size(), 1u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(llvm::StringRef(warnings[0]).contains("File too large"))
      << warnings[0];
}

TEST_F(DiskCacheTest, WhatWasNotUsedForLongestGoesFirst) {
  std::string value(10'000, 'x');
  for (const char *key : {"a", "b", "c"})
    open().store(key, value);
  // Seconds apart, as file systems may have times in seconds.
  auto now = std::chrono::time_point_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now());
  for (auto [key, age] : {std::pair("a", 300), {"b", 200}, {"c", 100}}) {
    fs::file_t file = llvm::cantFail(fs::openNativeFileForReadWrite(
        open().getPath(key), fs::CD_OpenExisting, fs::OF_None));
    EXPECT_FALSE(fs::setLastAccessAndModificationTime(
        file, now - std::chrono::seconds(age)));
    fs::closeFile(file);
  }
  EXPECT_EQ(open().find("a"), value);
  options.mostBytes = 32'000;
  open().store("d", value);
  EXPECT_EQ(open().find("b"), std::nullopt);
  for (const char *key : {"a", "c", "d"})
    EXPECT_EQ(open().find(key), value) << key;
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DiskCacheTest, WritersMayMeet) {
  std::string values[] = {std::string(300'000, 'x'), std::string(200'000, 'y')};
  std::atomic<bool> isDone = false;
  std::thread reader([&] {
    while (!isDone) {
      auto found = open().find("key");
      EXPECT_TRUE(!found || *found == values[0] || *found == values[1]);
    }
  });
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&, i] {
      for (int j = 0; j < 25; ++j)
        open().store("key", values[(i + j) % 2]);
    });
  for (std::thread &writer : writers)
    writer.join();
  isDone = true;
  reader.join();
  EXPECT_EQ(list().size(), 1u);
  EXPECT_TRUE(warnings.empty());
}

// Another process may still be writing a young file.
TEST_F(DiskCacheTest, WhatKilledWritersLeftGoes) {
  ASSERT_FALSE(fs::create_directories(options.folder));
  std::string old = options.folder + "/llvmcache-1.tmp",
              young = options.folder + "/llvmcache-2.tmp";
  write(old, "half");
  write(young, "half");
  int descriptor;
  ASSERT_FALSE(fs::openFileForReadWrite(old, descriptor, fs::CD_OpenExisting,
                                        fs::OF_None));
  ASSERT_FALSE(fs::setLastAccessAndModificationTime(
      descriptor, std::chrono::system_clock::now() - std::chrono::hours(2)));
  ASSERT_EQ(close(descriptor), 0);
  EXPECT_TRUE(open().store("key", "value"));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(DiskCacheTest, ClearingLeavesOtherFiles) {
  open().store("key", kValue);
  write(options.folder + "/llvmcache-0123.tmp", "half");
  write(options.folder + "/notes.txt", "mine");
  ASSERT_EQ(list().size(), 2u);
  EXPECT_FALSE(errorToBool(clearCache(options.folder)));
  EXPECT_TRUE(list().empty());
  EXPECT_EQ(read(options.folder + "/notes.txt"), "mine");
  EXPECT_FALSE(errorToBool(clearCache(getPath("none"))));
}
