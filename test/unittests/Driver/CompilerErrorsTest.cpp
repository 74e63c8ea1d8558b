//===- CompilerErrorsTest.cpp - LLVM's fatal errors as errors -------------===//

#include "nsacc/Support/CompilerErrors.h"
#include "llvm/Support/ErrorHandling.h"
#include <gtest/gtest.h>
#include <thread>

using namespace nsacc;

namespace {

llvm::Error failFatally(const char *reason) {
  llvm::report_fatal_error(reason);
}

std::string catchOne(const char *reason) {
  llvm::Error error = catchFatalErrors([&] { return failFatally(reason); });
  EXPECT_TRUE(error.isA<FatalError>());
  return llvm::toString(std::move(error));
}

TEST(CatchFatalErrors, ProcessGoesOn) {
  EXPECT_EQ(catchOne("Cannot select: fsin"), "Cannot select: fsin");
  EXPECT_EQ(catchOne("again"), "again");
}

TEST(CatchFatalErrors, OtherErrorsStay) {
  EXPECT_FALSE(catchFatalErrors([] { return llvm::Error::success(); }));
  llvm::Error error =
      catchFatalErrors([] { return llvm::createStringError("no plan"); });
  EXPECT_FALSE(error.isA<FatalError>());
  EXPECT_EQ(llvm::toString(std::move(error)), "no plan");
}

TEST(CatchFatalErrors, CallsNest) {
  llvm::Error outer = catchFatalErrors([] {
    EXPECT_EQ(catchOne("inner"), "inner");
    return failFatally("outer");
  });
  EXPECT_EQ(llvm::toString(std::move(outer)), "outer");
}

TEST(CatchFatalErrors, ThreadsAreApart) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([] {
      for (int round = 0; round < 50; ++round)
        EXPECT_EQ(catchOne("of a thread"), "of a thread");
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(CatchFatalErrorsDeathTest, OutsideItSaysWhoseFaultItIs) {
  EXPECT_EQ(catchOne("first"), "first");
  EXPECT_DEATH(llvm::report_fatal_error("nobody catches it"),
               "internal error: nobody catches it");
}

} // namespace
