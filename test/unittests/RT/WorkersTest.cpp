//===- WorkersTest.cpp - Threads that run programs ------------------------===//

#include "Workers.h"
#include "HostRun.h"
#include <cfenv>
#include <gmock/gmock.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <set>
#include <thread>
#include <time.h>

using namespace nsacc::rt;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

namespace {

/// Records the threads that ran programs, and the programs.
struct Record {
  Work makeWork(int64_t total, std::optional<int64_t> nanoseconds,
                std::chrono::milliseconds each = {}) {
    Work work;
    work.total = total;
    work.nanoseconds = nanoseconds;
    work.threads = 3;
    work.call = [this, each](int64_t begin, int64_t end) {
      spin((end - begin) * each);
      std::lock_guard<std::mutex> lock(mutex);
      threads.insert(std::this_thread::get_id());
      roundings.insert(std::fegetround());
      for (int64_t i = begin; i < end; ++i)
        ++calls[i];
    };
    return work;
  }

  /// Uses that much of the thread's processor time.
  static void spin(std::chrono::nanoseconds time) {
    auto get = [] {
      timespec now;
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return std::chrono::seconds(now.tv_sec) +
             std::chrono::nanoseconds(now.tv_nsec);
    };
    auto end = get() + time;
    while (get() < end) {
    }
  }

  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<int> roundings;
  std::map<int64_t, int> calls;
};

constexpr int64_t small = 1000, large = int64_t{1} << 40;

} // namespace

TEST(Workers, CallEachProgramOnce) {
  for (int64_t total : {1, 2, 15, 16, 17, 500})
    for (std::optional<int64_t> known :
         {std::optional<int64_t>(), std::optional(small),
          std::optional(large)}) {
      Record record;
      EXPECT_TRUE(runInParallel(record.makeWork(total, known), nullptr));
      EXPECT_EQ(record.calls.size(), static_cast<size_t>(total));
      for (auto [program, count] : record.calls)
        EXPECT_EQ(count, 1) << program;
    }
}

TEST(Workers, TheCallerDoesWhatIsKnownToBeSmall) {
  auto caller = std::this_thread::get_id();
  Record known, unknown, long_;
  runInParallel(known.makeWork(8, small), nullptr);
  EXPECT_THAT(known.threads, ElementsAre(caller));
  runInParallel(unknown.makeWork(8, std::nullopt), nullptr);
  EXPECT_THAT(unknown.threads, Not(Contains(caller)));
  runInParallel(long_.makeWork(8, large), nullptr);
  EXPECT_THAT(long_.threads, Not(Contains(caller)));
}

TEST(Workers, TheCallerHandsOverWhatTakesLongerThanWasKnown) {
  Record record;
  auto taken = runInParallel(
      record.makeWork(64, small, std::chrono::milliseconds(1)), nullptr);
  EXPECT_THAT(record.threads, Contains(std::this_thread::get_id()));
  EXPECT_GT(record.threads.size(), 1u);
  EXPECT_EQ(record.calls.size(), 64u);
  // The time of all threads: others did most of the work.
  ASSERT_TRUE(taken);
  EXPECT_GE(*taken, 40'000'000);
}

TEST(Workers, ACallerWithAShortStackRunsNothing) {
  Record record;
  bool hasRoom = true;
  auto body = [&] {
    hasRoom = hasRoomOnStack(1 << 20);
    Work work = record.makeWork(8, small);
    work.stackBytes = 1 << 20;
    runInParallel(work, nullptr);
    std::lock_guard<std::mutex> lock(record.mutex);
    EXPECT_THAT(record.threads, Not(Contains(std::this_thread::get_id())));
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 1 << 20);
  pthread_t thread;
  std::function<void()> function = body;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void *data) -> void * {
                  (*static_cast<std::function<void()> *>(data))();
                  return nullptr;
                },
                &function),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_FALSE(hasRoom);
  EXPECT_TRUE(hasRoomOnStack(1 << 20));
}

TEST(Workers, ProgramsRoundToTheNearestWhateverTheCallerDoes) {
  std::fesetround(FE_UPWARD);
  Record here, there;
  runInParallel(here.makeWork(8, small), nullptr);
  runInParallel(there.makeWork(8, std::nullopt), nullptr);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_THAT(here.roundings, ElementsAre(FE_TONEAREST));
  EXPECT_THAT(there.roundings, ElementsAre(FE_TONEAREST));
}

TEST(Workers, AreAskedToEnd) {
  Record record;
  EXPECT_FALSE(runInParallel(
      record.makeWork(400, std::nullopt, std::chrono::milliseconds(1)),
      [] { return true; }));
  EXPECT_LT(record.calls.size(), 400u);
}

static uint64_t getKey(int64_t first, int64_t second, size_t launch = 0) {
  std::vector<Buffer> buffers(2);
  buffers[0].rank = buffers[1].rank = 1;
  buffers[0].sizes[0] = first;
  buffers[1].sizes[0] = second;
  return LaunchCosts::getKey(buffers, 2, launch);
}

TEST(LaunchCosts, AreOfAboutTheSameSizes) {
  EXPECT_EQ(getKey(5, 70), getKey(7, 64));
  EXPECT_NE(getKey(5, 70), getKey(8, 70));
  EXPECT_NE(getKey(5, 70), getKey(70, 5));
  EXPECT_NE(getKey(5, 70), getKey(5, 70, 1));
  EXPECT_NE(getKey(0, 70), getKey(1, 70));
}

TEST(LaunchCosts, RiseAtOnceAndSinkSlowly) {
  LaunchCosts costs;
  uint64_t key = getKey(5, 70);
  EXPECT_FALSE(costs.find(key));
  costs.add(key, 8000);
  EXPECT_NEAR(*costs.find(key), 8000, 16);
  EXPECT_FALSE(costs.find(getKey(9, 70)));
  costs.add(key, 16000);
  EXPECT_NEAR(*costs.find(key), 16000, 16);
  costs.add(key, 100);
  EXPECT_NEAR(*costs.find(key), 12000, 32);
  costs.add(key, INT64_MAX);
  EXPECT_GT(*costs.find(key), 200'000'000);
}
