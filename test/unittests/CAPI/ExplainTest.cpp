//===- ExplainTest.cpp - Explanations of compiled programs ----------------===//

#include "Handles.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::HasSubstr;
using testing::Not;

namespace {

constexpr const char *kSource =
    "kernel f(q: [B, T, H, D], k, v: [B, S, H, D]) -> [B, T, H, D] {\n"
    "  return attend(q, k, v) where j <= i;\n}";
constexpr const char *kSizes =
    R"("sizes": {"B": 1, "T": 40, "S": 70, "H": 2, "D": 16})";

struct Explained : Outcome {
  std::string text;
};

Explained explain(const nsacc_program *program, const std::string &request) {
  Explained result;
  nsacc_text *text = nullptr;
  nsacc_error *error = nullptr;
  result.status =
      nsacc_program_explain(program, request.c_str(), &text, &error);
  result.error.reset(error);
  if (text)
    result.text = {nsacc_text_data(text), nsacc_text_size(text)};
  nsacc_text_destroy(text);
  return result;
}

std::string ask(const std::string &more = "") {
  return "{" + std::string(kSizes) + more + "}";
}

TEST(Explain, TellsEverythingOrTilesAlone) {
  Compiled compiled = compile(kSource, {}, nullptr, "sm_80");
  ASSERT_EQ(compiled.status, NSACC_OK) << compiled.message();
  Explained all = explain(compiled.program.get(), ask());
  EXPECT_EQ(all.status, NSACC_OK) << all.message();
  for (const char *part : {"\"text\":\"kernel f(", "\"data\":{", "\"page\":",
                           "\"tiles\":\"<iframe", R"(\"name\":\"ptx\")"})
    EXPECT_THAT(all.text, HasSubstr(part));
  Explained tiles =
      explain(compiled.program.get(), ask(R"(, "what": "tiles")"));
  EXPECT_EQ(tiles.status, NSACC_OK) << tiles.message();
  EXPECT_THAT(tiles.text, HasSubstr("<iframe"));
  EXPECT_THAT(tiles.text, Not(HasSubstr("\"page\"")));
}

TEST(Explain, SaysWhatIsWrongWithARequest) {
  Compiled compiled = compile(kSource);
  ASSERT_EQ(compiled.status, NSACC_OK) << compiled.message();
  const nsacc_program *program = compiled.program.get();
  EXPECT_THAT(explain(program, "{}").message(), HasSubstr("has 'sizes'"));
  EXPECT_THAT(explain(program, R"({"sizes": {"T": 1, "S": 1}})").message(),
              HasSubstr("nothing tells the size of 'B', 'H' and 'D', and an "
                        "explanation is of one call's sizes: add them, as "
                        "{'B': …, 'H': …, 'D': …}"));
  EXPECT_THAT(explain(program, R"({"sizes": {"T": 40}})").message(),
              HasSubstr("size of 'B', 'H', 'D' and 'S'"));
  for (const char *size : {"1099511627777", "-1", "1.5", R"("1")", "null"})
    EXPECT_THAT(
        explain(program, R"({"sizes": {"T": )" + std::string(size) + "}}")
            .message(),
        HasSubstr("isn't a size, expected a number from 0 to 2^40"));
  EXPECT_THAT(explain(program, "nothing").kind(), NSACC_ERROR_KIND_ARGUMENT);
  EXPECT_THAT(explain(program, ask(R"(, "what": "all")")).message(),
              HasSubstr("what is 'all', expected everything or tiles"));
  EXPECT_THAT(explain(nullptr, ask()).kind(), NSACC_ERROR_KIND_USAGE);
}

TEST(Explain, RefusesWhatHasNoSchedule) {
  Compiled oracle = compile(kSource, {}, nullptr, "oracle");
  ASSERT_EQ(oracle.status, NSACC_OK) << oracle.message();
  Explained found = explain(oracle.program.get(), ask());
  EXPECT_NE(found.status, NSACC_OK);
  EXPECT_THAT(found.message(),
              HasSubstr("'oracle' has no schedules to tune or to explain"));
}

} // namespace
