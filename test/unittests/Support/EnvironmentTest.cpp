#include "nsacc/Support/Environment.h"
#include "nsacc/Support/Version.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace nsacc;

TEST(Environment, ThreadsAreANumber) {
  unsetenv("NSACC_THREADS");
  EXPECT_EQ(llvm::cantFail(lookupThreads()), 0u);
  setenv("NSACC_THREADS", "", 1);
  EXPECT_EQ(llvm::cantFail(lookupThreads()), 0u);
  setenv("NSACC_THREADS", "3", 1);
  EXPECT_EQ(llvm::cantFail(lookupThreads()), 3u);
  for (const char *bad : {"0", "-1", "two", "3 ", "1000000"}) {
    setenv("NSACC_THREADS", bad, 1);
    EXPECT_EQ(llvm::toString(lookupThreads().takeError()),
              "NSACC_THREADS is '" + std::string(bad) +
                  "', expected a number from 1 to 1024");
  }
  unsetenv("NSACC_THREADS");
}

TEST(Environment, CachesAreReadAndWritten) {
  auto explain = [] { return llvm::toString(lookupCache().takeError()); };
  for (const char *name :
       {"NSACC_CACHE", "NSACC_CACHE_DIR", "NSACC_CACHE_SIZE"})
    unsetenv(name);
  setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(llvm::cantFail(lookupCache()).mode, CacheMode::ReadWrite);
  EXPECT_EQ(llvm::cantFail(lookupCache()).folder, "/caches/nsacc");
  EXPECT_EQ(llvm::cantFail(lookupCache()).mostBytes, 2u << 30);
  setenv("NSACC_CACHE", "require", 1);
  setenv("NSACC_CACHE_DIR", "elsewhere", 1);
  setenv("NSACC_CACHE_SIZE", "10m", 1);
  EXPECT_EQ(llvm::cantFail(lookupCache()).mode, CacheMode::Require);
  EXPECT_EQ(llvm::cantFail(lookupCache()).folder, "elsewhere");
  EXPECT_EQ(llvm::cantFail(lookupCache()).mostBytes, 10u << 20);
  for (const char *bad : {"0", "-1", "G", "1.5G", "99999999999999G", "2T"}) {
    setenv("NSACC_CACHE_SIZE", bad, 1);
    EXPECT_EQ(explain(), "NSACC_CACHE_SIZE is '" + std::string(bad) +
                             "', expected a number of bytes of 1 or more, as "
                             "500M or 2G");
  }
  setenv("NSACC_CACHE", "on", 1);
  EXPECT_EQ(explain(), "NSACC_CACHE is 'on', expected off, readonly, "
                       "readwrite or require");
  for (const char *name :
       {"NSACC_CACHE", "NSACC_CACHE_DIR", "NSACC_CACHE_SIZE", "XDG_CACHE_HOME"})
    unsetenv(name);
}

TEST(Environment, UnknownVariablesAreFound) {
  setenv("NSACC_TREADS", "3", 1);
  setenv("NSACC_THREADS", "3", 1);
  std::vector<std::string> unknown = findUnknownEnvironmentVariables();
  EXPECT_NE(std::find(unknown.begin(), unknown.end(), "NSACC_TREADS"),
            unknown.end());
  EXPECT_EQ(std::find(unknown.begin(), unknown.end(), "NSACC_THREADS"),
            unknown.end());
  unsetenv("NSACC_TREADS");
  unsetenv("NSACC_THREADS");
}

TEST(Version, SourcesAreHashed) {
  EXPECT_EQ(getSourceHash().size(), 64u);
  EXPECT_EQ(getSourceHash().find_first_not_of("0123456789abcdef"),
            llvm::StringRef::npos);
}

TEST(Version, IsANumber) {
  EXPECT_TRUE(getVersion().contains('.'));
  EXPECT_TRUE(getLLVMVersion().starts_with("22."));
}
