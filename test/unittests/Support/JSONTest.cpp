//===- JSONTest.cpp - JSON of other programs ------------------------------===//

#include "nsacc/Support/JSON.h"
#include <gmock/gmock.h>

using namespace nsacc;
using ::testing::HasSubstr;

static std::string fail(llvm::StringRef text) {
  auto value = parseJSON(text);
  return value ? "read" : llvm::toString(value.takeError());
}

static std::string repeat(llvm::StringRef text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

TEST(JSON, ReadsWhatTheParserReads) {
  for (const char *text : {"{}", "[1, 2.5, \"a\"]", "{\"a\": {\"a\": 1}}",
                           "[{\"a\": 1}, {\"a\": 1}]", "\"[[[\"",
                           "{\"a\": \"a\", \"b\": \"a\"}", "\"\\\"[\""})
    EXPECT_EQ(fail(text), "read") << text;
  EXPECT_EQ(fail(repeat("[", 64) + repeat("]", 64)), "read");
  // Brackets in texts, and brackets that were closed.
  EXPECT_EQ(fail("\"" + repeat("[", 1000) + "\""), "read");
  EXPECT_EQ(fail("[" + repeat("[],", 1000) + "[]]"), "read");
}

TEST(JSON, IsAsWrongAsTheParserSays) {
  for (const char *text :
       {"", "[", "]", "}}", "\"", "\"\\", "{\"a\"", "{\"a\":", "{\"\\u12\": 1}",
        "{1: 2}", "[1,]", "nonsense"})
    EXPECT_NE(fail(text), "read") << text;
}

// The parser recurses for each level: these texts would end the process.
TEST(JSON, NestingIsBounded) {
  for (size_t depth : {65u, 100000u, 10000000u})
    for (const char *level : {"[", "{\"a\":", "[{\"a\": ", " [\n"})
      EXPECT_THAT(fail(repeat(level, depth)),
                  HasSubstr("it nests more than 64 deep, which nothing that "
                            "nsacc reads does"));
  EXPECT_THAT(fail("\n " + repeat("[", 65)), HasSubstr("[2:65, byte=66]: "));
}

TEST(JSON, KeysStandOnce) {
  EXPECT_EQ(fail("{\"a\": 1, \"b\": 2, \"a\" : 3}"),
            "[1:17, byte=17]: key 'a' stands twice in an object: leave out one "
            "of them");
  EXPECT_THAT(fail("{\"a\": 1, \"\\u0061\": 2}"), HasSubstr("key 'a'"));
  EXPECT_THAT(fail("{\"\\u001b\": 1, \"\\u001b\": 2}"), HasSubstr("key '?'"));
}

TEST(JSON, TerminalsPrintWhatIsPrintable) {
  for (const char *text : {"", "a b", "\xc3\xa9"}) {
    EXPECT_TRUE(isPrintable(text));
    EXPECT_EQ(makePrintable(text), text);
  }
  for (const char *text : {"\x1b[2J", "a\nb", "\x7f", "\xff"}) {
    EXPECT_FALSE(isPrintable(text));
    EXPECT_TRUE(isPrintable(makePrintable(text)));
  }
  EXPECT_EQ(makePrintable("\x1b[2J\n"), "?[2J?");
}
