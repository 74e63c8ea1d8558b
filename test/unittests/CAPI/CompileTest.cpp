//===- CompileTest.cpp - Compiling through the C interface ----------------===//

#include "Handles.h"
#include <cstdio>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::AllOf;
using testing::HasSubstr;
using testing::IsNull;
using testing::NotNull;

TEST(Compile, GivesAProgram) {
  Compiled result = compile(causal);
  EXPECT_EQ(result.status, NSACC_OK) << result.message();
  EXPECT_THAT(result.error, IsNull());
  ASSERT_THAT(result.program, NotNull());
  EXPECT_STREQ(nsacc_program_kernel(result.program.get()), "causal");
  EXPECT_STREQ(nsacc_program_target(result.program.get()), "cpu");
}

TEST(Compile, ReportsTheFirstErrorAndAllOfThem) {
  Compiled result = compile("kernel f(q: [B, T, H, D]) -> [B, T, H, D] {\n"
                            "  x = nothing;\n"
                            "  y = nowhere;\n"
                            "  return q;\n"
                            "}\n");
  EXPECT_EQ(result.status, NSACC_ERROR_USER);
  EXPECT_THAT(result.program, IsNull());
  ASSERT_THAT(result.error, NotNull());
  EXPECT_EQ(nsacc_error_status(result.error.get()), NSACC_ERROR_USER);
  EXPECT_EQ(result.kind(), NSACC_ERROR_KIND_COMPILE);
  ASSERT_EQ(nsacc_error_num_diagnostics(result.error.get()), 2u);
  const nsacc_diagnostic *first = nsacc_error_diagnostic(result.error.get(), 0);
  EXPECT_EQ(nsacc_diagnostic_severity(first), NSACC_SEVERITY_ERROR);
  EXPECT_STREQ(nsacc_diagnostic_file(first), "test.nsa");
  EXPECT_EQ(nsacc_diagnostic_line(first), 2u);
  EXPECT_EQ(nsacc_diagnostic_column(first), 7u);
  EXPECT_EQ(nsacc_diagnostic_end_line(first), 2u);
  EXPECT_EQ(nsacc_diagnostic_end_column(first), 14u);
  EXPECT_THAT(nsacc_diagnostic_message(first), HasSubstr("nothing"));
  EXPECT_EQ(result.message(), nsacc_diagnostic_message(first));
  EXPECT_EQ(
      nsacc_diagnostic_line(nsacc_error_diagnostic(result.error.get(), 1)), 3u);
  EXPECT_THAT(nsacc_error_diagnostic(result.error.get(), 2), IsNull());
}

TEST(Compile, ProgramsKeepTheirWarnings) {
  Compiled result = compile("kernel f(q: [B, H, T, D]) -> [B, H, T, D] {\n"
                            "  return attend(q, q, q);\n"
                            "}\n");
  ASSERT_THAT(result.program, NotNull()) << result.message();
  ASSERT_EQ(nsacc_program_num_diagnostics(result.program.get()), 1u);
  const nsacc_diagnostic *warning =
      nsacc_program_diagnostic(result.program.get(), 0);
  EXPECT_EQ(nsacc_diagnostic_severity(warning), NSACC_SEVERITY_WARNING);
  EXPECT_EQ(nsacc_diagnostic_line(warning), 1u);
  EXPECT_EQ(nsacc_diagnostic_column(warning), 17u);
  EXPECT_THAT(nsacc_diagnostic_text(warning),
              AllOf(HasSubstr("test.nsa:1:17: warning: dimension 'H'"),
                    HasSubstr("^"), HasSubstr("write 'heads H'")));
  ASSERT_EQ(nsacc_diagnostic_num_notes(warning), 1u);
  EXPECT_STREQ(nsacc_diagnostic_text(nsacc_diagnostic_note(warning, 0)), "");
  EXPECT_THAT(nsacc_diagnostic_text(nullptr), IsNull());
}

// Warnings of a program with errors come after the errors.
TEST(Compile, ErrorsComeWithWarnings) {
  Compiled result = compile("kernel f(q: [B, H, T, D]) -> [B, H, T, D] {\n"
                            "  x = attend(q, q, q);\n"
                            "  return nothing;\n"
                            "}\n");
  ASSERT_THAT(result.error, NotNull());
  EXPECT_THAT(result.message(), HasSubstr("nothing"));
  ASSERT_EQ(nsacc_error_num_diagnostics(result.error.get()), 2u);
  EXPECT_EQ(
      nsacc_diagnostic_severity(nsacc_error_diagnostic(result.error.get(), 0)),
      NSACC_SEVERITY_ERROR);
  EXPECT_THAT(nsacc_error_text(result.error.get()),
              AllOf(HasSubstr("warning: "), HasSubstr("error: ")));
}

TEST(Compile, ErrorTextPointsIntoTheSource) {
  Compiled result = compile("kernel f(q: [B, T, H, D]) -> [B, T, H, D] {\n"
                            "  return nothing;\n"
                            "}\n");
  ASSERT_THAT(result.error, NotNull());
  EXPECT_THAT(nsacc_error_text(result.error.get()),
              AllOf(HasSubstr("test.nsa:2:10: error: "),
                    HasSubstr("return nothing;\n"), HasSubstr("^")));
}

TEST(Compile, NotesBelongToTheirDiagnostic) {
  Compiled result = compile("kernel f(q: [B, T, H, D]) -> [B, T, H, D] {\n"
                            "  q = q;\n"
                            "  return q;\n"
                            "}\n");
  ASSERT_THAT(result.error, NotNull());
  const nsacc_diagnostic *first = nsacc_error_diagnostic(result.error.get(), 0);
  ASSERT_GE(nsacc_diagnostic_num_notes(first), 1u);
  const nsacc_diagnostic *note = nsacc_diagnostic_note(first, 0);
  EXPECT_EQ(nsacc_diagnostic_severity(note), NSACC_SEVERITY_NOTE);
  EXPECT_EQ(nsacc_diagnostic_num_notes(note), 0u);
}

TEST(Compile, SeveralKernelsNeedAName) {
  std::string two = std::string(causal) +
                    "kernel second(q: [B, T, H, D]) -> [B, T, H, D] {\n"
                    "  return q + q;\n"
                    "}\n";
  Compiled unnamed = compile(two);
  EXPECT_EQ(unnamed.status, NSACC_ERROR_USER);
  EXPECT_THAT(unnamed.message(),
              AllOf(HasSubstr("'causal'"), HasSubstr("'second'")));
  Compiled named = compile(two, {}, "second");
  ASSERT_EQ(named.status, NSACC_OK) << named.message();
  EXPECT_STREQ(nsacc_program_kernel(named.program.get()), "second");
  EXPECT_EQ(compile(two, {}, "third").status, NSACC_ERROR_USER);
}

TEST(Compile, BadSourcesAreUserErrors) {
  std::string deep = "kernel f(q: [B, T, H, D]) -> [B, T, H, D] { return " +
                     std::string(100000, '(');
  std::string withNul = std::string("kernel f(") + '\0' + ")";
  for (const std::string &source :
       {std::string(), std::string("kernel"), std::string("\xff\xfe"), deep,
        withNul, std::string(causal) + "}"}) {
    Compiled result = compile(source);
    EXPECT_EQ(result.status, NSACC_ERROR_USER) << source.substr(0, 40);
    EXPECT_THAT(result.program, IsNull());
    EXPECT_THAT(result.error, NotNull());
  }
}

TEST(Compile, UnknownOptionsAreErrors) {
  nsacc_program *program = nullptr;
  nsacc_error *error = nullptr;
  Handle<nsacc_options> options(nsacc_options_create());
  std::string source = causal;

  nsacc_options_set_target(options.get(), "sm_75");
  EXPECT_EQ(nsacc_compile(source.data(), source.size(), nullptr, options.get(),
                          &program, &error),
            NSACC_ERROR_USER);
  EXPECT_EQ(nsacc_error_get_kind(error), NSACC_ERROR_KIND_TARGET);
  EXPECT_THAT(nsacc_error_message(error),
              AllOf(HasSubstr("'sm_75'"), HasSubstr("'oracle'")));
  nsacc_error_destroy(error);

  nsacc_options_set_target(options.get(), "oracle");
  nsacc_options_set_dtype(options.get(), "f64");
  EXPECT_EQ(nsacc_compile(source.data(), source.size(), nullptr, options.get(),
                          &program, &error),
            NSACC_ERROR_USER);
  EXPECT_EQ(nsacc_error_get_kind(error), NSACC_ERROR_KIND_ARGUMENT);
  EXPECT_THAT(nsacc_error_message(error), HasSubstr("'f64'"));
  nsacc_error_destroy(error);

  Compiled unknown = compile(causal, {{"blok", "3"}});
  EXPECT_EQ(unknown.kind(), NSACC_ERROR_KIND_COMPILE);
  EXPECT_THAT(unknown.message(), HasSubstr("blok"));
}

TEST(Compile, DevicesOfFilesAreChecked) {
  Handle<nsacc_options> options(nsacc_options_create());
  auto compileFor = [&](const char *target, const std::string &path) {
    EXPECT_EQ(nsacc_options_set_target(options.get(), target), NSACC_OK);
    EXPECT_EQ(nsacc_options_set_device(options.get(), path.c_str()), NSACC_OK);
    nsacc_program *program = nullptr;
    nsacc_error *error = nullptr;
    std::string source = causal;
    nsacc_compile(source.data(), source.size(), nullptr, options.get(),
                  &program, &error);
    std::string message = error ? nsacc_error_message(error) : "";
    if (error)
      EXPECT_EQ(nsacc_error_get_kind(error), NSACC_ERROR_KIND_ARGUMENT);
    nsacc_error_destroy(error);
    nsacc_program_destroy(program);
    return message;
  };
  std::string path = testing::TempDir() + "nsacc-capi-device.json";
  auto write = [&](const char *text) {
    FILE *file = std::fopen(path.c_str(), "w");
    ASSERT_THAT(file, NotNull());
    std::fputs(text, file);
    std::fclose(file);
  };
  write(R"({"name": "A100", "compute_capability": "8.0",
            "shared_bytes_per_block": 166912,
            "shared_bytes_per_multiprocessor": 167936,
            "registers_per_multiprocessor": 65536,
            "multiprocessors": 108, "l2_bytes": 41943040})");
  EXPECT_EQ(compileFor("cuda", path), "");
  EXPECT_THAT(compileFor("cpu", path),
              HasSubstr("a device's file goes with target 'cuda', found "
                        "target 'cpu'"));
  write("{}");
  EXPECT_THAT(compileFor("cuda", path),
              AllOf(HasSubstr(path), HasSubstr("key 'name' is missing")));
  EXPECT_THAT(compileFor("cuda", path + ".none"), HasSubstr("can't read"));
  EXPECT_EQ(nsacc_options_set_device(options.get(), nullptr),
            NSACC_ERROR_USAGE);
}

TEST(Compile, NullsAreUsageErrors) {
  nsacc_program *program = nullptr;
  nsacc_error *error = nullptr;
  EXPECT_EQ(nsacc_compile(nullptr, 3, nullptr, nullptr, &program, &error),
            NSACC_ERROR_USAGE);
  EXPECT_EQ(nsacc_error_get_kind(error), NSACC_ERROR_KIND_USAGE);
  nsacc_error_destroy(error);
  EXPECT_EQ(nsacc_compile("", 0, nullptr, nullptr, nullptr, nullptr),
            NSACC_ERROR_USAGE);
  EXPECT_EQ(nsacc_compile_file(nullptr, nullptr, &program, nullptr),
            NSACC_ERROR_USAGE);
  EXPECT_EQ(nsacc_options_set_dtype(nullptr, "f32"), NSACC_ERROR_USAGE);
  Handle<nsacc_options> options(nsacc_options_create());
  EXPECT_EQ(nsacc_options_set_dtype(options.get(), nullptr), NSACC_ERROR_USAGE);
  EXPECT_EQ(nsacc_options_set_threads(nullptr, 1), NSACC_ERROR_USAGE);
  EXPECT_EQ(nsacc_options_set_param(options.get(), nullptr, "1"),
            NSACC_ERROR_USAGE);
  nsacc_program_destroy(nullptr);
  nsacc_error_destroy(nullptr);
  nsacc_options_destroy(nullptr);
}

TEST(Compile, ErrorsNeedNotBeWanted) {
  nsacc_program *program = nullptr;
  EXPECT_EQ(nsacc_compile("x", 1, nullptr, nullptr, &program, nullptr),
            NSACC_ERROR_USER);
  EXPECT_THAT(program, IsNull());
}

TEST(Compile, ReadsFiles) {
  std::string path = testing::TempDir() + "nsacc-capi-causal.nsa";
  FILE *file = std::fopen(path.c_str(), "w");
  ASSERT_THAT(file, NotNull());
  std::fputs(causal, file);
  std::fclose(file);
  nsacc_program *program = nullptr;
  EXPECT_EQ(nsacc_compile_file(path.c_str(), nullptr, &program, nullptr),
            NSACC_OK);
  ASSERT_THAT(program, NotNull());
  EXPECT_EQ(nsacc_value_dtype(nsacc_program_input(program, 0)),
            NSACC_DTYPE_BF16);
  nsacc_program_destroy(program);
  std::remove(path.c_str());

  nsacc_error *error = nullptr;
  EXPECT_EQ(nsacc_compile_file(path.c_str(), nullptr, &program, &error),
            NSACC_ERROR_USER);
  EXPECT_EQ(nsacc_error_get_kind(error), NSACC_ERROR_KIND_FILE);
  EXPECT_THAT(nsacc_error_message(error), HasSubstr(path));
  nsacc_error_destroy(error);
}

TEST(Compile, ThreadsAreOfAnyNumber) {
  for (uint32_t threads : {0u, 1u, 3u}) {
    Handle<nsacc_options> options(nsacc_options_create());
    EXPECT_EQ(nsacc_options_set_threads(options.get(), threads), NSACC_OK);
    std::string source = causal;
    nsacc_program *program = nullptr;
    ASSERT_EQ(nsacc_compile(source.data(), source.size(), nullptr,
                            options.get(), &program, nullptr),
              NSACC_OK);
    nsacc_program_destroy(program);
  }
}
