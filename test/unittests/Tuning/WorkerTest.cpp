//===- WorkerTest.cpp - Processes that measure, and their ends ------------===//

#include "nsacc/Tuning/Worker.h"
#include "Job.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <gmock/gmock.h>

using namespace nsacc;
using namespace nsacc::tuning;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {
/// Workers are scripts: only their output and their exit matter.
class WorkerTest : public testing::Test {
protected:
  llvm::Expected<JobResult> run(llvm::StringRef script, size_t packages = 2) {
    Job job;
    for (size_t i = 0; i < packages; ++i)
      job.packages.push_back("p" + std::to_string(i));
    // $1 is the file of the job, $2 the file of the results.
    options.command = {"/bin/sh", "-c", script.str(), "worker"};
    return runJob(job, options);
  }
  std::string explain(llvm::StringRef script) {
    return llvm::toString(run(script).takeError());
  }

  WorkerOptions options;
};
} // namespace

TEST_F(WorkerTest, ReadsWhatWasFound) {
  auto found = run(R"(
    echo '{"ready":true}' >> $2
    echo '{"package":0,"begin":true}' >> $2
    echo '{"package":0,"ms":1.5}' >> $2
    echo '{"package":1,"begin":true}' >> $2
    echo '{"package":1,"failure":"no room"}' >> $2
    echo '{"package":0,"ms":2.5}' >> $2
    echo '{"done":true,"clock":1980}' >> $2)");
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_THAT(found->packages[0].milliseconds, ElementsAre(1.5, 2.5));
  EXPECT_EQ(found->packages[1].failure, "no room");
  EXPECT_EQ(found->clock, 1980);
}

TEST_F(WorkerTest, OnesThatEndThemAreFailuresAndOthersGoOn) {
  // The first process ends during package 0, which the next process doesn't
  // get.
  auto found = run(R"(
    if grep -q '"p0"' $1; then
      echo '{"package":1,"begin":true}' >> $2
      echo '{"package":1,"ms":3}' >> $2
      echo '{"package":0,"begin":true}' >> $2
      echo boom >&2
      kill -SEGV $$
    fi
    echo '{"package":1,"ms":4}' >> $2
    echo '{"done":true}' >> $2)");
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_THAT(found->packages[0].failure, HasSubstr("its process ended with"));
  EXPECT_THAT(found->packages[0].failure, HasSubstr("boom"));
  EXPECT_THAT(found->packages[1].milliseconds, ElementsAre(3, 4));
  EXPECT_THAT(found->packages[1].failure, IsEmpty());
}

TEST_F(WorkerTest, OnesThatDoNotEndAreFailures) {
  options.timeoutSeconds = 0.2;
  auto found = run(R"(
    if grep -q '"p0"' $1; then
      echo '{"package":0,"begin":true}' >> $2
      sleep 60
    fi
    echo '{"done":true}' >> $2)");
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->packages[0].failure, "no answer within 0.20 s");
}

TEST_F(WorkerTest, WhatNoOtherWorkerWouldDoBetterIsAnError) {
  EXPECT_THAT(explain("echo '{\"error\":\"no memory\"}' >> $2; exit 1"),
              "nothing can be measured: no memory");
  EXPECT_THAT(explain("echo lost >&2; exit 3"),
              "nothing can be measured: its process ended with exit status 3: "
              "lost");
  EXPECT_THAT(explain("echo '{\"re' >> $2"),
              HasSubstr("nothing can be measured: its process ended with exit "
                        "status 0"));
  options.command = {};
}

TEST_F(WorkerTest, MissingPrograms) {
  Job job;
  job.packages = {"p"};
  options.command = {"/no/such/worker"};
  EXPECT_THAT(llvm::toString(runJob(job, options).takeError()),
              HasSubstr("'/no/such/worker'"));
}

TEST_F(WorkerTest, Interruptions) {
  options.isInterrupted = [] { return true; };
  EXPECT_EQ(explain("sleep 60"), "interrupted");
}

TEST_F(WorkerTest, JobsAreReadAsTheyWereWritten) {
  Job job;
  job.packages = {"a", "b"};
  job.signature = "f";
  job.sizes.sizes["T"] = 7;
  job.sizes.offsets["T"] = {0, 3, 7};
  job.sizes.batchRows = 2;
  job.device = 3;
  job.policy = {true, false, 0.25};
  job.seed = UINT64_MAX;
  job.rounds = 9;
  job.inputFolder = "x";
  Job read;
  llvm::json::Path::Root root;
  ASSERT_TRUE(fromJSON(toJSON(job), read, root));
  EXPECT_EQ(read.packages, job.packages);
  EXPECT_EQ(read.sizes.sizes.lookup("T"), 7);
  EXPECT_THAT(read.sizes.offsets.lookup("T"), ElementsAre(0, 3, 7));
  EXPECT_EQ(read.sizes.batchRows, 2);
  EXPECT_EQ(read.device, 3);
  EXPECT_TRUE(read.policy.isGraph && !read.policy.isCold);
  EXPECT_EQ(read.seed, UINT64_MAX);
  EXPECT_EQ(read.policy.agreement, 0.25);
  EXPECT_EQ(read.rounds, 9u);
  EXPECT_EQ(read.inputFolder, "x");
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static Signature makeSignature() {
  Signature signature;
  auto add = [&](llvm::StringRef name, std::vector<std::string> dims) {
    Argument &input = signature.inputs.emplace_back();
    input.name = name.str();
    input.dtype = DType::F32;
    for (const std::string &dim : dims)
      input.dims.emplace_back().name = dim;
  };
  add("q", {"B", "T", "HQ", "D"});
  add("k", {"B", "S", "H", "D"});
  signature.attentions.push_back({"T", "S", "HQ", "H", true});
  return signature;
}

static double correlate(const Tensor &tensor, int64_t from, int64_t to,
                        int64_t width) {
  const auto *values = static_cast<const float *>(tensor.getData());
  double sum = 0;
  for (int64_t i = 0; i < width; ++i)
    sum += values[from * width + i] * values[to * width + i];
  return sum / static_cast<double>(width);
}

TEST(MeasuredInputs, NeighboursAgreeAsMuchAsIsAsked) {
  Signature signature = makeSignature();
  DimSizes sizes;
  for (auto [name, size] : {std::pair("B", 1),
                            {"T", 70},
                            {"S", 70},
                            {"HQ", 64},
                            {"H", 8},
                            {"D", 64}})
    sizes.sizes[name] = size;
  for (double agreement : {0.0, 0.5, 0.9}) {
    auto inputs = makeMeasuredInputs(signature, sizes, 1, agreement);
    ASSERT_TRUE(bool(inputs));
    const Tensor &q = (*inputs)[0], &k = (*inputs)[1];
    EXPECT_NEAR(correlate(q, 3, 3, 64 * 64), 1, 0.1);
    EXPECT_NEAR(correlate(q, 3, 20, 64 * 64), agreement, 0.1);
    EXPECT_NEAR(correlate(q, 31, 32, 64 * 64), 0, 0.1);
    EXPECT_NEAR(correlate(k, 3, 20, 8 * 64), 0, 0.2);
  }
}

/// The share of blocks that two lists have in common.
static double compareLists(const Tensor &lists, int64_t one, int64_t other,
                           int64_t width) {
  const auto *values = static_cast<const int32_t *>(lists.getData());
  llvm::ArrayRef<int32_t> lhs(values + one * width, width),
      rhs(values + other * width, width);
  int64_t both = llvm::count_if(lhs, [&](int32_t block) {
    return block >= 0 && llvm::is_contained(rhs, block);
  });
  return static_cast<double>(both) / static_cast<double>(width);
}

static Signature makeListSignature(bool isCausal) {
  Signature signature = makeSignature();
  signature.attentions.front().isCausal = isCausal;
  Argument &lists = signature.inputs.emplace_back();
  lists.name = "idx";
  lists.dtype = DType::I32;
  for (llvm::StringRef dim : {"B", "T", "H", "N"})
    lists.dims.emplace_back().name = dim.str();
  lists.domain = Domain{Domain::Kind::Blocks, 0, 0, "S", 16};
  return signature;
}

TEST(MeasuredInputs, ListsAgreeAsMuchAsQueries) {
  DimSizes sizes;
  for (auto [name, size] : {std::pair("B", 2),
                            {"T", 70},
                            {"S", 16 * 500},
                            {"HQ", 2},
                            {"H", 2},
                            {"D", 8},
                            {"N", 100}})
    sizes.sizes[name] = size;
  for (double agreement : {0.0, 0.5, 0.9}) {
    auto inputs =
        makeMeasuredInputs(makeListSignature(false), sizes, 1, agreement);
    ASSERT_TRUE(bool(inputs));
    // By chance it would be a fifth. Lists of tokens 32 and 50 of the second
    // head of the second row of the batch.
    auto compare = [&](int64_t one, int64_t other) {
      return compareLists((*inputs)[2], (70 + one) * 2 + 1,
                          (70 + other) * 2 + 1, 100);
    };
    EXPECT_NEAR(compare(32, 50), 0.2 + 0.8 * agreement, 0.1);
    EXPECT_NEAR(compare(31, 32), 0.2, 0.1);
  }
}

TEST(MeasuredInputs, ListsOfCausalAttentionsSeeWhatTheyName) {
  DimSizes sizes;
  // Token t is at position t + 30 of 100.
  for (auto [name, size] : {std::pair("B", 1),
                            {"T", 70},
                            {"S", 100},
                            {"HQ", 2},
                            {"H", 1},
                            {"D", 8},
                            {"N", 7}})
    sizes.sizes[name] = size;
  auto inputs = makeMeasuredInputs(makeListSignature(true), sizes, 1, 0.9);
  ASSERT_TRUE(bool(inputs));
  const auto *values = static_cast<const int32_t *>((*inputs)[2].getData());
  for (int64_t token = 0; token < 70; ++token) {
    llvm::ArrayRef<int32_t> list(values + token * 7, 7);
    int64_t blocks = (token + 30) / 16 + 1;
    for (int64_t i = 0; i < 7; ++i) {
      EXPECT_EQ(list[i] >= 0, i < blocks) << token;
      EXPECT_LT(list[i], blocks) << token;
      EXPECT_TRUE(i == 0 || list[i] < 0 || list[i] > list[i - 1]) << token;
    }
  }
}

TEST(MeasuredInputs, LargeOnesRepeat) {
  Signature signature = makeSignature();
  DimSizes sizes;
  for (auto [name, size] : {std::pair("B", 1),
                            {"T", 3000},
                            {"S", 0},
                            {"HQ", 16},
                            {"H", 8},
                            {"D", 128}})
    sizes.sizes[name] = size;
  auto inputs = makeMeasuredInputs(signature, sizes, 1, 0);
  ASSERT_TRUE(bool(inputs));
  const auto *values = static_cast<const float *>((*inputs)[0].getData());
  EXPECT_EQ(values[5], values[4194301 + 5]);
  EXPECT_NE(values[5], values[4194304 + 5]);
  EXPECT_EQ((*inputs)[1].getNumElements(), 0);
}
