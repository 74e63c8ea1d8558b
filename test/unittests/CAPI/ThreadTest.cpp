//===- ThreadTest.cpp - Programs shared by threads ------------------------===//

#include "Handles.h"
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

static constexpr unsigned numThreads = 6;

/// Starts threads at the same time, so that their work overlaps.
template <typename Body> static void inThreads(Body body) {
  std::atomic<unsigned> waiting = numThreads;
  std::vector<std::thread> threads;
  for (unsigned index = 0; index < numThreads; ++index)
    threads.emplace_back([&, index] {
      for (--waiting; waiting > 0;)
        std::this_thread::yield();
      body(index);
    });
  for (std::thread &thread : threads)
    thread.join();
}

static Floats ramp(std::vector<int64_t> shape, float step) {
  Floats result(std::move(shape));
  for (size_t i = 0; i < result.data.size(); ++i)
    result.data[i] = step * float(i % 23) - 1;
  return result;
}

TEST(Threads, RunOneProgram) {
  Compiled compiled = compile(R"(
kernel f<block = 4>(q, k, v: [B, T, H, D], slope: f32[H]) -> [B, T, H, D] {
  kc = pool(k, block);
  cmp = attend(q, kc, kc) where end(j) <= i;
  sel = topk(prob(cmp), 2) keep last 1;
  return cmp + (attend(q, k, v) in sel where j <= i score s + slope[h] * (j - i));
}
)");
  ASSERT_NE(compiled.program, nullptr) << compiled.message();
  Floats q = ramp({2, 19, 3, 8}, 0.1f), k = ramp({2, 19, 3, 8}, 0.07f);
  Floats v = ramp({2, 19, 3, 8}, 0.3f), slope = ramp({3}, 0.5f);
  std::vector<nsacc_tensor> inputs = {q.get(), k.get(), v.get(), slope.get()};

  std::vector<Floats> results(numThreads, Floats(q.shape));
  std::atomic<unsigned> failures = 0;
  inThreads([&](unsigned index) {
    Handle<nsacc_run_options> options(nsacc_run_options_create());
    nsacc_run_options_set_threads(options.get(), 1 + index % 3);
    for (int repeat = 0; repeat < 20; ++repeat)
      failures += run(compiled.program.get(), inputs, {results[index].get()},
                      options.get())
                      .status != NSACC_OK;
  });
  EXPECT_EQ(failures, 0u);
  for (const Floats &result : results)
    EXPECT_EQ(result.data, results.front().data);
}

TEST(Threads, CompileTogether) {
  std::atomic<unsigned> failures = 0;
  inThreads([&](unsigned) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      failures += compile(causal).status != NSACC_OK;
      failures += compile("kernel wrong").status != NSACC_ERROR_USER;
    }
  });
  EXPECT_EQ(failures, 0u);
}

TEST(Threads, QueryFailAndRunTogether) {
  Compiled compiled = compile(causal);
  ASSERT_NE(compiled.program, nullptr) << compiled.message();
  const nsacc_program *program = compiled.program.get();
  Floats x = ramp({1, 9, 2, 4}, 0.2f), shorter = ramp({1, 8, 2, 4}, 0.2f);
  std::atomic<unsigned> failures = 0;
  inThreads([&](unsigned index) {
    Floats out(x.shape);
    for (int repeat = 0; repeat < 50; ++repeat) {
      const char *text = nullptr;
      failures += nsacc_program_ir(program, "nsa", &text, nullptr) != NSACC_OK;
      nsacc_tensor v = index % 2 ? x.get() : shorter.get();
      nsacc_status expected = index % 2 ? NSACC_OK : NSACC_ERROR_USER;
      failures +=
          run(program, {x.get(), x.get(), v}, {out.get()}).status != expected;
    }
  });
  EXPECT_EQ(failures, 0u);
}
