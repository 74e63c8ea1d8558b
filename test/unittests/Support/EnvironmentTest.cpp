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

TEST(Version, IsANumber) {
  EXPECT_TRUE(getVersion().contains('.'));
  EXPECT_TRUE(getLLVMVersion().starts_with("22."));
}
