#include "nsacc/Support/CrashHandler.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <csignal>
#include <cstdlib>
#include <exception>

using namespace nsacc;

namespace {
class CrashHandlerDeathTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("nsacc-test", folder));
    // A folder that doesn't exist yet.
    folder += "/crashes";
    setenv("NSACC_CRASH_DIR", folder.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("NSACC_CRASH_DIR");
    llvm::sys::fs::remove_directories(
        llvm::StringRef(folder).rsplit('/').first);
  }

  /// The text of the only reproducer.
  std::string reproducer() {
    std::error_code code;
    llvm::sys::fs::directory_iterator file(folder, code), end;
    if (code || file == end)
      return "none";
    EXPECT_TRUE(llvm::StringRef(file->path()).ends_with("-prog.nsa"));
    auto buffer = llvm::MemoryBuffer::getFile(file->path());
    return buffer ? (*buffer)->getBuffer().str() : "unreadable";
  }

  static void crash(void (*fault)()) {
    installCrashHandler();
    ReproducerScope scope("some/prog.nsa", "kernel f() -> [] {}\n",
                          {"nsacc", "run", "some/prog.nsa"});
    fault();
  }

  llvm::SmallString<64> folder;
};
} // namespace

static const char *const announced =
    "nsacc: internal error: the process crashed\n.*fault of nsacc.*\n.*"
    "reproducer .*/crashes/nsacc-crash-[0-9]+-prog.nsa";

TEST_F(CrashHandlerDeathTest, SignalsLeaveAReproducer) {
  EXPECT_EXIT(crash([] { std::raise(SIGSEGV); }), testing::ExitedWithCode(3),
              announced);
  std::string text = reproducer();
  EXPECT_EQ(text.rfind("// nsacc ", 0), 0u);
  EXPECT_NE(text.find("\n// nsacc run some/prog.nsa\nkernel f() -> [] {}\n"),
            std::string::npos);
}

TEST_F(CrashHandlerDeathTest, FatalErrorsOfLLVMToo) {
  EXPECT_EXIT(crash([] { llvm::report_fatal_error("broken"); }),
              testing::ExitedWithCode(3), announced);
  EXPECT_NE(reproducer(), "none");
}

TEST_F(CrashHandlerDeathTest, UncaughtExceptionsToo) {
  EXPECT_EXIT(crash([] { std::terminate(); }), testing::ExitedWithCode(3),
              announced);
}

TEST_F(CrashHandlerDeathTest, SaysWhereItCannotWrite) {
  setenv("NSACC_CRASH_DIR", "/dev/null/x", 1);
  EXPECT_EXIT(crash([] { std::raise(SIGABRT); }), testing::ExitedWithCode(3),
              "can't be written to /dev/null/x/.*set NSACC_CRASH_DIR");
}

TEST_F(CrashHandlerDeathTest, BrokenInvariantsReportOnce) {
  testing::internal::CaptureStderr();
  {
    ReproducerScope scope("prog.nsa", "text", {"nsacc", "a\nb"});
    EXPECT_EQ(reportInternalError("the verifier failed"), ExitCode::Internal);
  }
  EXPECT_EQ(reportInternalError("again"), ExitCode::Internal);
  std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("internal error: the verifier failed"),
            std::string::npos);
  EXPECT_EQ(printed.find("reproducer"), printed.rfind("reproducer"));
  EXPECT_NE(reproducer().find("// nsacc a b\ntext"), std::string::npos);
}
