//===- RunTest.cpp - Running programs through the C interface -------------===//

#include "Handles.h"
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::IsNull;
using testing::NotNull;

static constexpr float poison = std::numeric_limits<float>::quiet_NaN();

namespace {
/// One head with one channel: equal scores, so that row i averages v[0..i].
struct Averages {
  Floats q{{1, 3, 1, 1}, 0}, k{{1, 3, 1, 1}, 0}, v{{1, 3, 1, 1}};
  Floats out{{1, 3, 1, 1}, poison};

  Averages() { v.data = {2, 4, 9}; }

  std::vector<nsacc_tensor> inputs() { return {q.get(), k.get(), v.get()}; }
};
} // namespace

TEST(Run, ComputesAndWritesEveryElement) {
  Compiled compiled = compile(causal);
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  Averages data;
  Outcome outcome =
      run(compiled.program.get(), data.inputs(), {data.out.get()});
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  EXPECT_THAT(data.out.data, ElementsAre(2, 3, 5));
}

// Shapes, strides and messages use the declared dimensions.
TEST(Run, HeadsInFrontOfTokens) {
  for (const char *target : {"oracle", "cpu"}) {
    Compiled compiled =
        compile("kernel f(q: [B, heads H, T, D], k: [B, T, H, D]) -> "
                "(o: [B, H, T, D], l: f32[B, H, T]) { a = attend(q, q, k) "
                "where i == j; return a, lse(a); }",
                {}, nullptr, target);
    ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
    EXPECT_STREQ(
        nsacc_value_text(nsacc_program_input(compiled.program.get(), 0)),
        "q: f32[B, H, T, D]");
    Floats q({1, 2, 3, 1}, 0), v({1, 3, 2, 1}, 0), out({1, 2, 3, 1}, poison),
        lse({1, 2, 3}, poison);
    q.data = {0, 1, 2, 3, 4, 5};
    v.data = {0, 1, 2, 3, 4, 5};
    Outcome outcome =
        run(compiled.program.get(), {q.get(), v.get()}, {out.get(), lse.get()});
    EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
    EXPECT_THAT(out.data, ElementsAre(0, 2, 4, 1, 3, 5));
    EXPECT_THAT(lse.data, ElementsAre(FloatEq(0), FloatEq(1), FloatEq(4),
                                      FloatEq(9), FloatEq(16), FloatEq(25)));
    outcome =
        run(compiled.program.get(), {v.get(), v.get()}, {out.get(), lse.get()});
    EXPECT_THAT(outcome.message(), HasSubstr("T is 2 in 'q' but 3 in 'k'"));
  }
}

TEST(Run, OutputsMayBeInputs) {
  Compiled compiled = compile(causal);
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  Averages data;
  ASSERT_EQ(run(compiled.program.get(), data.inputs(), {data.v.get()}).status,
            NSACC_OK);
  EXPECT_THAT(data.v.data, ElementsAre(2, 3, 5));
}

TEST(Run, StridesOfBothSides) {
  Compiled compiled = compile(causal);
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  Averages data;
  data.v.data = {9, 4, 2};
  nsacc_tensor v = data.v.get();
  const int64_t backwards[] = {3, -1, 1, 1};
  v.data = &data.v.data[2];
  v.strides = backwards;
  // One key for all positions, every second element of the result.
  nsacc_tensor k = data.k.get();
  const int64_t constant[] = {0, 0, 0, 0};
  k.strides = constant;
  Floats wide({6}, -1);
  const int64_t every2nd[] = {6, 2, 1, 1};
  nsacc_tensor out = data.out.get();
  out.data = wide.data.data();
  out.strides = every2nd;
  Outcome outcome = run(compiled.program.get(), {data.q.get(), k, v}, {out});
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  EXPECT_THAT(wide.data, ElementsAre(2, -1, 3, -1, 5, -1));
}

TEST(Run, EmptyTensorsNeedNoMemory) {
  Compiled compiled = compile(causal);
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  const int64_t empty[] = {1, 0, 1, 1};
  nsacc_tensor none{nullptr, NSACC_DTYPE_F32, 4, empty, nullptr};
  Outcome outcome = run(compiled.program.get(), {none, none, none}, {none});
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();

  Floats q({1, 2, 1, 1}, 1), out({1, 2, 1, 1}, poison);
  outcome = run(compiled.program.get(), {q.get(), none, none}, {out.get()});
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  EXPECT_THAT(out.data, Each(0));
}

TEST(Run, ResultsWithoutRoundingOnRequest) {
  Compiled compiled = compileForOracle(R"(
kernel third(x: [N]) -> bf16[N] { return x / 3; }
)");
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  Floats x({2}, 1);
  Array<double> exact(NSACC_DTYPE_F64, {2}, poison);
  Handle<nsacc_run_options> options(nsacc_run_options_create());
  ASSERT_EQ(nsacc_run_options_set_f64_results(options.get(), 1), NSACC_OK);
  Outcome outcome =
      run(compiled.program.get(), {x.get()}, {exact.get()}, options.get());
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  EXPECT_THAT(exact.data, Each(1.0 / 3));
  // Without the option such an output has the wrong type.
  outcome = run(compiled.program.get(), {x.get()}, {exact.get()});
  EXPECT_EQ(outcome.kind(), NSACC_ERROR_KIND_ARGUMENT);
  EXPECT_THAT(outcome.message(), AllOf(HasSubstr("f64"), HasSubstr("bf16")));
}

TEST(Run, MisfitsAreErrorsAndLeaveOutputsAlone) {
  Compiled compiled = compile(causal);
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  const nsacc_program *program = compiled.program.get();
  Averages data;

  Floats shorter({1, 2, 1, 1});
  Outcome outcome = run(program, {data.q.get(), data.k.get(), shorter.get()},
                        {data.out.get()});
  EXPECT_EQ(outcome.status, NSACC_ERROR_USER);
  EXPECT_EQ(outcome.kind(), NSACC_ERROR_KIND_ARGUMENT);
  EXPECT_THAT(outcome.message(),
              AllOf(HasSubstr("'k'"), HasSubstr("'v'"), HasSubstr("S")));

  outcome = run(program, {data.q.get(), data.k.get()}, {data.out.get()});
  EXPECT_EQ(outcome.status, NSACC_ERROR_USER);

  outcome = run(program, data.inputs(), {shorter.get()});
  EXPECT_EQ(outcome.kind(), NSACC_ERROR_KIND_ARGUMENT);
  EXPECT_THAT(outcome.message(),
              AllOf(HasSubstr("[1, 2, 1, 1]"), HasSubstr("[1, 3, 1, 1]")));

  outcome = run(program, data.inputs(), {});
  EXPECT_EQ(outcome.status, NSACC_ERROR_USAGE);
  EXPECT_EQ(
      nsacc_program_run(program, nullptr, 3, nullptr, 1, nullptr, nullptr),
      NSACC_ERROR_USAGE);
  EXPECT_THAT(data.out.data, Each(testing::IsNan()));
}

TEST(Run, RuntimeErrorsNameWhatIsWrong) {
  Compiled compiled = compileForOracle(R"(
kernel given(q, k, v: [B, T, H, D], idx: i32[B, T, H, 1]) -> [B, T, H, D] {
  return attend(q, k, v) in selection(idx, 2) where j <= i;
}
)");
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  Floats x({1, 3, 1, 1}), out({1, 3, 1, 1}, poison);
  Array<int32_t> idx(NSACC_DTYPE_I32, {1, 3, 1, 1}, 0);
  idx.data[1] = 77;
  Outcome outcome = run(compiled.program.get(),
                        {x.get(), x.get(), x.get(), idx.get()}, {out.get()});
  EXPECT_EQ(outcome.status, NSACC_ERROR_USER);
  EXPECT_THAT(outcome.message(), AllOf(HasSubstr("idx"), HasSubstr("77")));
  EXPECT_THAT(out.data, Each(testing::IsNan()));
}

TEST(Shapes, FollowFromTheInputs) {
  Compiled compiled = compile(causal);
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  const int64_t q[] = {2, 5, 6, 8}, k[] = {2, 7, 3, 8}, v[] = {2, 7, 3, 4};
  nsacc_tensor inputs[] = {{nullptr, NSACC_DTYPE_F32, 4, q, nullptr},
                           {nullptr, NSACC_DTYPE_F32, 4, k, nullptr},
                           {nullptr, NSACC_DTYPE_F32, 4, v, nullptr}};
  nsacc_shapes *pointer = nullptr;
  ASSERT_EQ(nsacc_program_infer_shapes(compiled.program.get(), inputs, 3,
                                       &pointer, nullptr),
            NSACC_OK);
  Handle<nsacc_shapes> shapes(pointer);
  ASSERT_EQ(nsacc_shapes_rank(pointer, 0), 4u);
  const int64_t *sizes = nsacc_shapes_sizes(pointer, 0);
  EXPECT_THAT(std::vector<int64_t>(sizes, sizes + 4), ElementsAre(2, 5, 6, 4));
  EXPECT_EQ(nsacc_shapes_rank(pointer, 1), 0u);
  EXPECT_THAT(nsacc_shapes_sizes(pointer, 1), IsNull());
  EXPECT_EQ(nsacc_shapes_dim(pointer, "S"), 7);
  EXPECT_EQ(nsacc_shapes_dim(pointer, "X"), -1);
  EXPECT_STREQ(nsacc_shapes_warning(pointer), "");
}

TEST(Shapes, OddSizesAreWarnedOf) {
  Compiled compiled = compile(causal);
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  const int64_t q[] = {1, 4, 8, 16}, k[] = {1, 2, 8, 16};
  nsacc_tensor inputs[] = {{nullptr, NSACC_DTYPE_F32, 4, q, nullptr},
                           {nullptr, NSACC_DTYPE_F32, 4, k, nullptr},
                           {nullptr, NSACC_DTYPE_F32, 4, k, nullptr}};
  nsacc_shapes *pointer = nullptr;
  ASSERT_EQ(nsacc_program_infer_shapes(compiled.program.get(), inputs, 3,
                                       &pointer, nullptr),
            NSACC_OK);
  Handle<nsacc_shapes> shapes(pointer);
  EXPECT_THAT(nsacc_shapes_warning(pointer),
              HasSubstr("queries T = 4 are more than keys S = 2"));
  EXPECT_STREQ(nsacc_shapes_warning(nullptr), "");
}

TEST(Shapes, OffsetsMustBeThere) {
  Compiled compiled = compile(R"(
kernel f(q, k: [ragged T, H, D]) -> [ragged T, H, D] {
  return attend(q, k, k) where j <= i;
}
)");
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  const int64_t packed[] = {5, 1, 1}, rows[] = {3};
  nsacc_tensor inputs[] = {{nullptr, NSACC_DTYPE_F32, 3, packed, nullptr},
                           {nullptr, NSACC_DTYPE_F32, 3, packed, nullptr},
                           {nullptr, NSACC_DTYPE_I32, 1, rows, nullptr}};
  nsacc_shapes *shapes = nullptr;
  nsacc_error *error = nullptr;
  EXPECT_EQ(nsacc_program_infer_shapes(compiled.program.get(), inputs, 3,
                                       &shapes, &error),
            NSACC_ERROR_USAGE);
  EXPECT_THAT(nsacc_error_message(error), HasSubstr("'T_offsets'"));
  EXPECT_THAT(shapes, IsNull());
  nsacc_error_destroy(error);

  int32_t offsets[] = {0, 2, 5};
  inputs[2].data = offsets;
  ASSERT_EQ(nsacc_program_infer_shapes(compiled.program.get(), inputs, 3,
                                       &shapes, nullptr),
            NSACC_OK);
  EXPECT_EQ(nsacc_shapes_dim(shapes, "T"), 5);
  nsacc_shapes_destroy(shapes);
}

TEST(Run, TellsWhatItTook) {
  Compiled compiled = compile(causal);
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  Averages data;
  Handle<nsacc_run_options> options(nsacc_run_options_create());
  nsacc_statistics statistics = {-1, -1, -1};
  nsacc_run_options_set_statistics(options.get(), &statistics);
  auto runOnce = [&] {
    Outcome outcome = run(compiled.program.get(), data.inputs(),
                          {data.out.get()}, options.get());
    EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  };
  runOnce();
  EXPECT_GT(statistics.compile_seconds, 0);
  EXPECT_GT(statistics.run_seconds, 0);
  EXPECT_GE(statistics.workspace_bytes, 0);
  runOnce();
  EXPECT_EQ(statistics.compile_seconds, 0);
}

TEST(Run, CanBeInterrupted) {
  Compiled compiled = compile(causal);
  ASSERT_THAT(compiled.program, NotNull()) << compiled.message();
  Floats q({1, 9000, 4, 32}), out({1, 9000, 4, 32});
  Handle<nsacc_run_options> options(nsacc_run_options_create());
  nsacc_run_options_set_threads(options.get(), 1);
  int asked = 0;
  auto isInterrupted = [](void *asked) { return ++*static_cast<int *>(asked); };
  nsacc_run_options_set_interrupt(options.get(), isInterrupted, &asked);
  Outcome outcome = run(compiled.program.get(), {q.get(), q.get(), q.get()},
                        {out.get()}, options.get());
  EXPECT_EQ(outcome.status, NSACC_ERROR_USER);
  EXPECT_EQ(outcome.kind(), NSACC_ERROR_KIND_INTERRUPTED);
  EXPECT_EQ(outcome.message(), "the run was interrupted");
  EXPECT_GE(asked, 1);
}

TEST(Run, WhatTheTargetCannotCompileHasAPlace) {
  // Groups of three heads can't be shared by twos; only a run can check that.
  Compiled compiled = compile(
      "kernel shared(q: [B, T, HQ, D], k: [B, S, H, D]) -> [B, T, HQ, D] {\n"
      "  gist = attend(q, pool(k, 2));\n"
      "  sel = topk(score(gist, heads=none), 1) share heads 2;\n"
      "  return attend(q, k, k) in sel;\n"
      "}\n");
  ASSERT_NE(compiled.program, nullptr) << compiled.message();
  Floats q({1, 2, 6, 8}), k({1, 2, 2, 8}), out({1, 2, 6, 8});
  Outcome outcome =
      run(compiled.program.get(), {q.get(), k.get()}, {out.get()});
  EXPECT_EQ(outcome.kind(), NSACC_ERROR_KIND_COMPILE);
  EXPECT_THAT(nsacc_error_text(outcome.error.get()),
              AllOf(HasSubstr("test.nsa:3:"), HasSubstr("^"),
                    HasSubstr("note: target 'oracle' runs every program")));
  ASSERT_EQ(nsacc_error_num_diagnostics(outcome.error.get()), 1u);
  EXPECT_STREQ(nsacc_diagnostic_severity_name(
                   nsacc_error_diagnostic(outcome.error.get(), 0)),
               "error");
}

TEST(Run, SchedulesAreOfCompiledTargets) {
  for (const char *target : {"cpu", "oracle"}) {
    Handle<nsacc_options> options(nsacc_options_create());
    nsacc_options_set_target(options.get(), target);
    nsacc_options_set_schedule(options.get(), "tokens=2,keys=8");
    nsacc_program *program = nullptr;
    nsacc_error *error = nullptr;
    std::string source = causal;
    nsacc_compile(source.data(), source.size(), nullptr, options.get(),
                  &program, &error);
    Handle<nsacc_program> owned(program);
    Handle<nsacc_error> ownedError(error);
    EXPECT_EQ(nsacc_error_status(error),
              std::string(target) == "cpu" ? NSACC_OK : NSACC_ERROR_USER);
  }
}

TEST(Run, SchedulesAreCheckedWithThePrograms) {
  for (const char *target : {"cpu", "sm_90a", "sm_80"})
    for (const char *schedule :
         {"tokens=abc", "lines=4", "slc: keys=8", "windows=4", "order=diagonal",
          "tokens=0", "keys=-1", "warps=33", "splits=-1", "tokens",
          "tokens=4,tokens=8", "tokens=4>", "keys=99999999999999999999",
          "tokens=70000"}) {
      Handle<nsacc_options> options(nsacc_options_create());
      nsacc_options_set_target(options.get(), target);
      nsacc_options_set_schedule(options.get(), schedule);
      nsacc_program *program = nullptr;
      nsacc_error *error = nullptr;
      std::string source = causal;
      EXPECT_EQ(nsacc_compile(source.data(), source.size(), nullptr,
                              options.get(), &program, &error),
                NSACC_ERROR_USER)
          << target << " " << schedule;
      Handle<nsacc_program> owned(program);
      Handle<nsacc_error> ownedError(error);
      EXPECT_EQ(nsacc_error_get_kind(error), NSACC_ERROR_KIND_ARGUMENT);
      EXPECT_THAT(
          nsacc_error_message(error),
          HasSubstr(std::string("can't use the schedule '") + schedule + "'"));
    }
}
