//===- QueryTest.cpp - Properties of a program ----------------------------===//

#include "Handles.h"
#include "nsacc-rt/nsacc_rt.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::HasSubstr;
using testing::IsNull;
using testing::MatchesRegex;
using testing::Not;
using testing::NotNull;

TEST(Library, SaysWhatItIs) {
  EXPECT_EQ(nsacc_abi_version(), uint32_t(NSACC_ABI_VERSION));
  EXPECT_THAT(nsacc_version(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(nsacc_llvm_version(), MatchesRegex("22\\..*"));
  ASSERT_GE(nsacc_num_targets(), 2u);
  EXPECT_STREQ(nsacc_target_name(0), "cpu");
  EXPECT_THAT(nsacc_target_name(nsacc_num_targets()), IsNull());
}

TEST(Library, ListsEnvironmentVariables) {
  ASSERT_GE(nsacc_num_variables(), 1u);
  for (size_t i = 0; i < nsacc_num_variables(); ++i) {
    EXPECT_THAT(nsacc_variable_name(i), MatchesRegex("NSACC_[A-Z_]+"));
    EXPECT_THAT(nsacc_variable_description(i), Not(testing::StrEq("")));
  }
  EXPECT_THAT(nsacc_variable_name(nsacc_num_variables()), IsNull());
}

TEST(Library, ReadsTheNumberOfThreads) {
  uint32_t threads = 7;
  unsetenv("NSACC_THREADS");
  EXPECT_EQ(nsacc_threads_from_environment(&threads, nullptr), NSACC_OK);
  EXPECT_EQ(threads, 0u);
  setenv("NSACC_THREADS", "3", 1);
  EXPECT_EQ(nsacc_threads_from_environment(&threads, nullptr), NSACC_OK);
  EXPECT_EQ(threads, 3u);
  setenv("NSACC_THREADS", "many", 1);
  nsacc_error *error = nullptr;
  EXPECT_EQ(nsacc_threads_from_environment(&threads, &error), NSACC_ERROR_USER);
  EXPECT_THAT(nsacc_error_message(error), HasSubstr("many"));
  nsacc_error_destroy(error);
  unsetenv("NSACC_THREADS");
}

// Programs that were compiled against an older header pass these numbers.
static_assert(NSACC_DTYPE_BOOL == 1 && NSACC_DTYPE_I32 == 2 &&
              NSACC_DTYPE_I64 == 3 && NSACC_DTYPE_F16 == 4 &&
              NSACC_DTYPE_BF16 == 5 && NSACC_DTYPE_F32 == 6 &&
              NSACC_DTYPE_F64 == 7);
static_assert(std::is_same_v<decltype(nsacc_tensor::dtype),
                             decltype(nsacc_rt_tensor::dtype)>);
static_assert(sizeof(nsacc_dtype) == 4);

TEST(DTypes, AreNumberedFrom1) {
  const char *names[] = {nullptr, "bool", "i32", "i64",  "f16",
                         "bf16",  "f32",  "f64", nullptr};
  for (nsacc_dtype dtype = 0; dtype < 9; ++dtype)
    EXPECT_STREQ(nsacc_dtype_name(dtype), names[dtype]);
  EXPECT_THAT(nsacc_dtype_name(-1), IsNull());
}

TEST(DTypes, HaveNamesAndSizes) {
  EXPECT_STREQ(nsacc_dtype_name(NSACC_DTYPE_BF16), "bf16");
  EXPECT_EQ(nsacc_dtype_size(NSACC_DTYPE_BF16), 2u);
  EXPECT_EQ(nsacc_dtype_size(NSACC_DTYPE_BOOL), 1u);
  EXPECT_THAT(nsacc_dtype_name(99), IsNull());
  EXPECT_EQ(nsacc_dtype_size(static_cast<nsacc_dtype>(0)), 0u);
}

TEST(Query, InputsAndResults) {
  Compiled result = compile(R"(
kernel f<len = 8>(q: [B, T, HQ, D], k: f16[B, S, H, D], slope: f32[HQ])
    -> (out: bf16[B, T, HQ, D], l: f32[B, T, HQ]) {
  a = attend(q, k, k) score s + slope[h];
  return a, lse(a);
}
)");
  ASSERT_EQ(result.status, NSACC_OK) << result.message();
  const nsacc_program *program = result.program.get();
  ASSERT_EQ(nsacc_program_num_inputs(program), 3u);
  const nsacc_value *q = nsacc_program_input(program, 0);
  EXPECT_STREQ(nsacc_value_name(q), "q");
  EXPECT_EQ(nsacc_value_dtype(q), NSACC_DTYPE_F32);
  EXPECT_STREQ(nsacc_value_text(q), "q: f32[B, T, HQ, D]");
  ASSERT_EQ(nsacc_value_rank(q), 4u);
  const nsacc_dim *heads = nsacc_value_dim(q, 2);
  EXPECT_STREQ(nsacc_dim_text(heads), "HQ");
  EXPECT_STREQ(nsacc_dim_name(heads), "HQ");
  EXPECT_EQ(nsacc_dim_get_kind(heads), NSACC_DIM_NAMED);
  EXPECT_FALSE(nsacc_dim_is_ragged(heads));
  EXPECT_THAT(nsacc_value_dim(q, 4), IsNull());
  EXPECT_EQ(nsacc_value_dtype(nsacc_program_input(program, 1)),
            NSACC_DTYPE_F16);
  EXPECT_THAT(nsacc_program_input(program, 3), IsNull());

  ASSERT_EQ(nsacc_program_num_results(program), 2u);
  EXPECT_STREQ(nsacc_value_text(nsacc_program_result(program, 0)),
               "out: bf16[B, T, HQ, D]");
  EXPECT_STREQ(nsacc_value_name(nsacc_program_result(program, 1)), "l");
  EXPECT_THAT(nsacc_program_result(program, 2), IsNull());
}

TEST(Query, RaggedInputsComeWithOffsets) {
  Compiled result = compile(R"(
kernel f(q, k: [ragged T, H, D]) -> [ragged T, H, D] {
  return attend(q, k, k) where j <= i;
}
)");
  ASSERT_EQ(result.status, NSACC_OK) << result.message();
  const nsacc_program *program = result.program.get();
  ASSERT_EQ(nsacc_program_num_inputs(program), 3u);
  const nsacc_dim *packed = nsacc_value_dim(nsacc_program_input(program, 0), 0);
  EXPECT_EQ(nsacc_dim_get_kind(packed), NSACC_DIM_RAGGED);
  EXPECT_TRUE(nsacc_dim_is_ragged(packed));
  EXPECT_STREQ(nsacc_dim_text(packed), "ragged T");
  const nsacc_value *offsets = nsacc_program_input(program, 2);
  EXPECT_STREQ(nsacc_value_name(offsets), "T_offsets");
  EXPECT_EQ(nsacc_value_dtype(offsets), NSACC_DTYPE_I32);
  EXPECT_EQ(nsacc_dim_get_kind(nsacc_value_dim(offsets, 0)), NSACC_DIM_OFFSETS);
}

TEST(Query, Parameters) {
  const char *source = R"(
kernel f<window = 4, soft = 0.5, causal = true>(q: [B, T, H, D], k: [B, S, H, D])
    -> [B, T, H, D] {
  return attend(q, k, k) where i - j < window score soft * s;
}
)";
  Compiled result = compile(source, {{"window", "9"}});
  ASSERT_EQ(result.status, NSACC_OK) << result.message();
  const nsacc_program *program = result.program.get();
  ASSERT_EQ(nsacc_program_num_params(program), 3u);
  for (size_t i = 0; i < 3; ++i)
    if (nsacc_program_param_name(program, i) == std::string("window"))
      EXPECT_STREQ(nsacc_program_param_value(program, i), "9");
  EXPECT_THAT(nsacc_program_param_name(program, 3), IsNull());
}

TEST(Query, IRByPhase) {
  Compiled result = compile(causal);
  ASSERT_EQ(result.status, NSACC_OK) << result.message();
  const nsacc_program *program = result.program.get();
  const char *text = nullptr;
  for (const char *phase : {"frontend", "nsa"}) {
    ASSERT_EQ(nsacc_program_ir(program, phase, &text, nullptr), NSACC_OK);
    EXPECT_THAT(text, HasSubstr("nsa.attend"));
  }
  ASSERT_GE(nsacc_program_num_phases(program), 2u);
  EXPECT_STREQ(nsacc_program_phase_name(program, 0), "frontend");

  nsacc_error *error = nullptr;
  EXPECT_EQ(nsacc_program_ir(program, "ptx", &text, &error), NSACC_ERROR_USAGE);
  EXPECT_THAT(nsacc_error_message(error), HasSubstr("'nsa'"));
  nsacc_error_destroy(error);
}

TEST(Query, IROfTiles) {
  Compiled result = compile(causal);
  ASSERT_EQ(result.status, NSACC_OK) << result.message();
  const char *names[] = {"HQ", "H", "D", "DV"};
  const int64_t sizes[] = {6, 2, 16, 24};
  nsacc_text *text = nullptr;
  ASSERT_EQ(nsacc_program_tile_ir(result.program.get(), names, sizes, 4, &text,
                                  nullptr),
            NSACC_OK);
  EXPECT_THAT(nsacc_text_data(text), HasSubstr("nsatile.plan @causal"));
  nsacc_text_destroy(text);

  nsacc_error *error = nullptr;
  EXPECT_EQ(nsacc_program_tile_ir(result.program.get(), names, sizes, 3, &text,
                                  &error),
            NSACC_ERROR_USER);
  EXPECT_THAT(text, IsNull());
  EXPECT_THAT(nsacc_error_message(error), HasSubstr("expected those of 'DV'"));
  nsacc_error_destroy(error);
}

TEST(Query, NullsGiveNothing) {
  EXPECT_THAT(nsacc_program_kernel(nullptr), IsNull());
  EXPECT_EQ(nsacc_program_num_inputs(nullptr), 0u);
  EXPECT_THAT(nsacc_program_input(nullptr, 0), IsNull());
  EXPECT_THAT(nsacc_value_name(nullptr), IsNull());
  EXPECT_THAT(nsacc_value_dim(nullptr, 0), IsNull());
  EXPECT_EQ(nsacc_dim_len(nullptr), 0);
  EXPECT_THAT(nsacc_dim_tail(nullptr), IsNull());
  EXPECT_THAT(nsacc_error_message(nullptr), IsNull());
  EXPECT_EQ(nsacc_diagnostic_line(nullptr), 0u);
  EXPECT_EQ(nsacc_shapes_dim(nullptr, "T"), -1);
  EXPECT_EQ(nsacc_program_ir(nullptr, "nsa", nullptr, nullptr),
            NSACC_ERROR_USAGE);
}

TEST(Splits, AreWhatAProgramComputesApart) {
  Compiled result = compile(causal);
  const nsacc_program *program = result.program.get();
  ASSERT_THAT(program, NotNull()) << result.message();
  ASSERT_EQ(nsacc_program_num_splits(program), 2u);
  ASSERT_EQ(nsacc_program_split_size(program, 0), 1u);
  EXPECT_STREQ(nsacc_program_split_dim(program, 0, 0), "B");
  ASSERT_EQ(nsacc_program_split_size(program, 1), 2u);
  EXPECT_STREQ(nsacc_program_split_dim(program, 1, 0), "HQ");
  EXPECT_STREQ(nsacc_program_split_dim(program, 1, 1), "H");
}

TEST(Splits, AreNoneWhereThereIsNothing) {
  Compiled result = compile(causal);
  const nsacc_program *program = result.program.get();
  EXPECT_THAT(nsacc_program_split_dim(program, 1, 2), IsNull());
  EXPECT_THAT(nsacc_program_split_dim(program, 2, 0), IsNull());
  EXPECT_EQ(nsacc_program_split_size(program, 2), 0u);
  EXPECT_EQ(nsacc_program_num_splits(nullptr), 0u);
  EXPECT_EQ(nsacc_program_split_size(nullptr, 0), 0u);
  EXPECT_THAT(nsacc_program_split_dim(nullptr, 0, 0), IsNull());
}
