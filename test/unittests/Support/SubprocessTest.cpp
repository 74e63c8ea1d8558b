//===- SubprocessTest.cpp - Child processes -------------------------------===//

#include "nsacc/Support/Subprocess.h"
#include "ProcessState.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <thread>

using namespace nsacc;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

static Subprocess start(llvm::StringRef script) {
  return llvm::cantFail(
      Subprocess::start("/bin/sh", {"sh", "-c", script}, {"", "", ""}));
}

static std::string explain(llvm::StringRef script) {
  return start(script).wait(std::chrono::minutes(1))->describe();
}

TEST(Subprocess, TellsHowItEnded) {
  EXPECT_EQ(explain("exit 0"), "exit status 0");
  EXPECT_EQ(explain("exit 3"), "exit status 3");
  EXPECT_EQ(explain("kill -9 $$"), "Killed");
  Subprocess process = start("exit 7");
  EXPECT_EQ(process.wait(std::chrono::minutes(1))->status, 7);
  EXPECT_EQ(process.poll()->status, 7);
}

TEST(Subprocess, IsKilledWithItsOwner) {
  auto begin = std::chrono::steady_clock::now();
  {
    Subprocess process = start("exec sleep 60");
    EXPECT_FALSE(process.poll());
    EXPECT_FALSE(process.wait(milliseconds(30)));
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(Subprocess, CannotBeStarted) {
  auto process = Subprocess::start("/nowhere/sh", {"sh"}, {"", "", ""});
  EXPECT_THAT(llvm::toString(process.takeError()), HasSubstr("No such file"));
}

TEST(Subprocess, HasOutputAndErrorsInOneFile) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("subprocess", "txt", path));
  auto process = llvm::cantFail(Subprocess::start(
      "/bin/sh", {"sh", "-c", "cat; echo one; echo two >&2; echo three"},
      {"", path.str(), path.str()}));
  EXPECT_EQ(process.wait(std::chrono::minutes(1))->status, 0);
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(text);
  EXPECT_EQ((*text)->getBuffer(), "one\ntwo\nthree\n");
  llvm::sys::fs::remove(path);
  auto nowhere = Subprocess::start("/bin/sh", {"sh"}, {"/nowhere/in", "", ""});
  EXPECT_EQ(llvm::toString(nowhere.takeError()),
            "can't open /nowhere/in: No such file or directory");
}

TEST(Subprocess, IsKilledWithTheThreadThatStartedIt) {
  std::optional<Subprocess> process;
  std::thread([&] { process.emplace(start("exec sleep 60")); }).join();
  EXPECT_EQ(process->wait(std::chrono::minutes(1))->describe(), "Killed");
}

TEST(Subprocess, ItsStatusMayBeLostAndTheWaitEnds) {
  auto *before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_THAT(explain("exit 3"), HasSubstr("the process ignores SIGCHLD"));
  std::signal(SIGCHLD, before);
}

TEST(Subprocess, LeavesTheProcessAsItWas) {
  ProcessState state;
  EXPECT_EQ(explain("sleep 0.1; exit 3"), "exit status 3");
  EXPECT_FALSE(start("exec sleep 60").wait(milliseconds(20)));
  state.expectUnchanged();
}
