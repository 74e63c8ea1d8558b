//===- TasksTest.cpp - Compiling in parallel ------------------------------===//

#include "nsacc/Support/Tasks.h"
#include "nsacc/Support/CompilerErrors.h"
#include "llvm/Support/ErrorHandling.h"
#include <gtest/gtest.h>
#include <set>
#include <thread>

using namespace nsacc;

namespace {

class TasksTest : public ::testing::TestWithParam<unsigned> {
protected:
  CompilerThreads threads{GetParam()};
};

} // namespace

TEST_P(TasksTest, AreAllDone) {
  std::vector<int> done(100);
  Tasks tasks(threads);
  for (int i = 0; i < 100; ++i)
    tasks.add(i, [&, i] {
      done[i] += i;
      return llvm::Error::success();
    });
  EXPECT_FALSE(tasks.wait());
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(done[i], i);
}

TEST_P(TasksTest, MayBeNone) {
  Tasks tasks(threads);
  EXPECT_FALSE(tasks.wait());
}

// The last one fails at once, the first one late.
TEST_P(TasksTest, TellTheFirstErrorInTheirOrder) {
  for (int round = 0; round < 20; ++round) {
    Tasks tasks(threads);
    for (int i = 0; i < 8; ++i)
      tasks.add(i, [i]() -> llvm::Error {
        if (i == 2)
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (i < 2)
          return llvm::Error::success();
        return llvm::createStringError("task " + llvm::Twine(i));
      });
    EXPECT_EQ(toString(tasks.wait()), "task 2");
  }
}

// Tasks that are added first may have later places.
TEST_P(TasksTest, StandWhereTheirPlaceIs) {
  Tasks tasks(threads);
  for (int i = 8; i-- > 0;)
    tasks.add(i, [i]() -> llvm::Error {
      if (i < 3)
        return llvm::Error::success();
      return llvm::createStringError("task " + llvm::Twine(i));
    });
  EXPECT_EQ(toString(tasks.wait()), "task 3");
}

TEST_P(TasksTest, FatalErrorsAreErrors) {
  Tasks tasks(threads);
  for (int i = 0; i < 8; ++i)
    tasks.add(i, [i]() -> llvm::Error {
      if (i % 3 == 1)
        llvm::report_fatal_error("Cannot select: fsin");
      return llvm::Error::success();
    });
  llvm::Error error = tasks.wait();
  EXPECT_TRUE(error.isA<FatalError>());
  EXPECT_EQ(toString(std::move(error)), "Cannot select: fsin");
}

TEST_P(TasksTest, GroupsShareThreads) {
  std::atomic<int> running = 0, most = 0;
  {
    Tasks first(threads), second(threads);
    for (int i = 0; i < 50; ++i)
      for (Tasks *tasks : {&first, &second})
        tasks->add(i, [&] {
          int now = ++running;
          for (int known = most;
               known < now && !most.compare_exchange_weak(known, now);) {
          }
          std::this_thread::sleep_for(std::chrono::microseconds(100));
          --running;
          return llvm::Error::success();
        });
    EXPECT_FALSE(second.wait());
    EXPECT_FALSE(first.wait());
  }
  EXPECT_LE(most, static_cast<int>(GetParam()));
}

TEST_P(TasksTest, OthersGoOnWithoutThoseThatAreDropped) {
  int done = 0;
  {
    Tasks dropped(threads);
    for (int i = 0; i < 8; ++i)
      dropped.add(i, [] { return llvm::createStringError("nobody asks"); });
  }
  Tasks tasks(threads);
  tasks.add(0, [&] {
    ++done;
    return llvm::Error::success();
  });
  EXPECT_FALSE(tasks.wait());
  EXPECT_EQ(done, 1);
}

INSTANTIATE_TEST_SUITE_P(Threads, TasksTest, ::testing::Values(1, 2, 8));

TEST(CompilerThreadsTest, OneThreadIsTheOwnOne) {
  CompilerThreads threads(1);
  Tasks tasks(threads);
  std::thread::id found;
  tasks.add(0, [&] {
    found = std::this_thread::get_id();
    return llvm::Error::success();
  });
  EXPECT_EQ(found, std::this_thread::get_id());
  EXPECT_FALSE(tasks.wait());
}
