//===- ProcessTest.cpp - The host's signals and timers --------------------===//

#include "../Support/ProcessState.h"
#include "Handles.h"
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>

using testing::HasSubstr;

namespace {

/// A folder with a cache and a slow ptxas.
class ProcessTest : public ::testing::Test {
protected:
  ProcessTest() {
    EXPECT_TRUE(::mkdtemp(folder.data()));
    std::ofstream(getPath("ptxas"))
        << "#!/bin/sh\nsleep 0.1\n"
           "while [ \"$1\" != -o ]; do shift; done\necho code > \"$2\"\n";
    ::chmod(getPath("ptxas").c_str(), 0700);
  }
  ~ProcessTest() override {
    EXPECT_EQ(std::system(("rm -r " + folder).c_str()), 0);
  }

  std::string getPath(const std::string &name) const {
    return folder + "/" + name;
  }
  Compiled compileFor(const char *target) const {
    Handle<nsacc_options> options(nsacc_options_create());
    nsacc_options_set_dtype(options.get(), "f32");
    nsacc_options_set_target(options.get(), target);
    nsacc_options_add_ptxas(options.get(), getPath("ptxas").c_str());
    nsacc_options_set_cache(options.get(), "readwrite",
                            getPath("cache").c_str(), 1 << 20);
    nsacc_options_set_tuning(options.get(), "off", getPath("tuned").c_str());
    for (const char *argument : {"/bin/sh", "-c", "sleep 0.1; exit 3"})
      nsacc_options_add_worker(options.get(), argument);
    Compiled result;
    nsacc_program *program = nullptr;
    nsacc_error *error = nullptr;
    result.status = nsacc_compile(causal, std::strlen(causal), "test.nsa",
                                  options.get(), &program, &error);
    result.program.reset(program);
    result.error.reset(error);
    return result;
  }

  std::string folder = ::testing::TempDir() + "nsacc-process-XXXXXX";
};

struct Text : Outcome {
  ~Text() { nsacc_text_destroy(text); }
  nsacc_text *text = nullptr;
};

/// Calls a function that gives a text.
template <typename Get> Outcome ask(Text &result, Get get) {
  nsacc_error *error = nullptr;
  Outcome outcome;
  outcome.status = get(&result.text, &error);
  outcome.error.reset(error);
  return outcome;
}

Outcome package(const nsacc_program *program, Text &result) {
  const char *names[] = {"HQ", "H", "D", "DV"};
  const int64_t sizes[] = {2, 1, 16, 16};
  const size_t lengths[] = {4};
  return ask(result, [&](nsacc_text **text, nsacc_error **error) {
    return nsacc_program_package(program, names, sizes, lengths, 1, text,
                                 error);
  });
}

constexpr const char *request =
    R"({"sizes": {"B": 1, "T": 3, "S": 3, "HQ": 2, "H": 1, "D": 16, "DV": 16}})";

void runOnce(const nsacc_program *program) {
  Floats q({1, 3, 2, 16}, 1), k({1, 3, 1, 16}, 1), v({1, 3, 1, 16}, 2);
  Floats out({1, 3, 2, 16});
  Outcome outcome = run(program, {q.get(), k.get(), v.get()}, {out.get()});
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  EXPECT_EQ(out.data.front(), 2);
}

} // namespace

TEST_F(ProcessTest, CompilationsForGPUsLeaveItAsItWas) {
  ProcessState state;
  Compiled compiled = compileFor("sm_90a");
  ASSERT_EQ(compiled.status, NSACC_OK) << compiled.message();
  Text packaged, explained;
  Outcome outcome = package(compiled.program.get(), packaged);
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  outcome = ask(explained, [&](nsacc_text **text, nsacc_error **error) {
    return nsacc_program_explain(compiled.program.get(), request, text, error);
  });
  EXPECT_EQ(outcome.status, NSACC_OK) << outcome.message();
  state.expectUnchanged();
}

TEST_F(ProcessTest, RunsAndPackagesLeaveItAsItWas) {
  ProcessState state;
  Compiled compiled = compileFor("cpu");
  ASSERT_EQ(compiled.status, NSACC_OK) << compiled.message();
  runOnce(compiled.program.get());
  Text packaged;
  Outcome outcome = package(compiled.program.get(), packaged);
  ASSERT_EQ(outcome.status, NSACC_OK) << outcome.message();
  nsacc_program *pointer = nullptr;
  nsacc_error *error = nullptr;
  ASSERT_EQ(nsacc_load_package(nsacc_text_data(packaged.text),
                               nsacc_text_size(packaged.text), &pointer,
                               &error),
            NSACC_OK);
  Handle<nsacc_program> loaded(pointer);
  runOnce(loaded.get());
  Compiled oracle = compileFor("oracle");
  ASSERT_EQ(oracle.status, NSACC_OK) << oracle.message();
  runOnce(oracle.program.get());
  state.expectUnchanged();
}

TEST_F(ProcessTest, TuningLeavesItAsItWas) {
  ProcessState state;
  Compiled compiled = compileFor("cpu");
  ASSERT_EQ(compiled.status, NSACC_OK) << compiled.message();
  Text tuned;
  Outcome outcome = ask(tuned, [&](nsacc_text **text, nsacc_error **error) {
    return nsacc_program_tune(compiled.program.get(), request, nullptr, nullptr,
                              text, error);
  });
  // The worker measures nothing.
  EXPECT_THAT(outcome.message(), HasSubstr("exit status 3"));
  state.expectUnchanged();
}
