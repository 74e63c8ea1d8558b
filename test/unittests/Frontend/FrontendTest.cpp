//===- FrontendTest.cpp - Programs that nobody would write ----------------===//

#include "CompileForTest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace nsacc::frontend;
using testing::HasSubstr;

/// Compiles a wrong program and returns its first message.
static std::string getFirstError(llvm::StringRef text,
                                 const Options &options = {}) {
  Compiled result = compileForTest(text, options);
  EXPECT_FALSE(result.succeeded);
  for (const DiagnosticData &diagnostic : result.diagnostics) {
    EXPECT_TRUE(diagnostic.hasPlace());
    EXPECT_FALSE(diagnostic.notes.empty()) << diagnostic.message;
  }
  return result.diagnostics.empty() ? "" : result.diagnostics.front().message;
}

TEST(Frontend, EmptyFiles) {
  EXPECT_THAT(getFirstError(""), HasSubstr("expected a kernel"));
  EXPECT_THAT(getFirstError(" \n// nothing\n"), HasSubstr("expected a kernel"));
  EXPECT_THAT(getFirstError(llvm::StringRef("\0\0", 2)),
              HasSubstr("unexpected character '\\x00'"));
}

TEST(Frontend, TextThatIsNotUTF8) {
  EXPECT_EQ(getFirstError("kernel \xff"),
            "this file is not UTF-8: byte 7 is 0xFF");
  EXPECT_EQ(getFirstError("kernel \xe2\x89"),
            "this file is not UTF-8: byte 7 is 0xE2");
}

static std::string repeat(llvm::StringRef text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

TEST(Frontend, NestingBombs) {
  const std::string head = "kernel a(x: [B]) -> [B] { return ";
  for (llvm::StringRef open : {"(", "-", "not ", "exp(", "pool(", "x[", "x*("})
    EXPECT_EQ(getFirstError(head + repeat(open, 200000)), "nested too deeply")
        << open.str();
  EXPECT_EQ(getFirstError(head + "x" + repeat(" + x", 100000) + "; }"),
            "nested too deeply");
  EXPECT_FALSE(getFirstError(repeat("{", 200000)).empty());
  EXPECT_FALSE(getFirstError(repeat("kernel a<", 100000)).empty());
}

TEST(Frontend, LargeFiles) {
  constexpr size_t large = 10 << 20;
  // One token, one line, one comment, one list: compile time isn't quadratic.
  EXPECT_FALSE(getFirstError(std::string(large, 'a')).empty());
  EXPECT_FALSE(getFirstError(std::string(large, '9')).empty());
  EXPECT_FALSE(getFirstError(std::string(large, '@')).empty());
  EXPECT_FALSE(getFirstError("/*" + std::string(large, '*')).empty());
  EXPECT_FALSE(getFirstError("\"" + std::string(large, 'a')).empty());
  EXPECT_FALSE(getFirstError("kernel a(" + repeat("a, ", large / 3)).empty());
  EXPECT_FALSE(getFirstError("kernel a(x: [B]) -> [B] { return min(" +
                             repeat("x, ", large / 3))
                   .empty());
}

TEST(Frontend, LargeProgramsCompile) {
  std::string text = "kernel a(x: f32[B]) -> f32[B] {\n";
  std::string last = "x";
  for (int i = 0; i < 20000; ++i) {
    std::string name = "x" + std::to_string(i);
    text += "  " + name + " = 0.5 * " + last + ";\n";
    last = name;
  }
  Compiled result = compileForTest(text + "  return " + last + ";\n}\n");
  EXPECT_TRUE(result.succeeded);
  EXPECT_TRUE(result.diagnostics.empty());
}

TEST(Frontend, CopiesOfClausesAreBounded) {
  std::string text = "kernel a(q: [B, T, HQ, D], k: [B, S, H, D]) -> f32[B, T, "
                     "H, N] {\n  c = attend(q, pool(k, 64)) where true";
  text += repeat(" and 0" + repeat(" < i - j * 2", 200), 25) + ";\n";
  for (int i = 0; i < 5000; ++i)
    text += "  p" + std::to_string(i) + " = prob(c);\n";
  EXPECT_EQ(getFirstError(text + "  return p0;\n}\n"),
            "this program is too large");
}

TEST(Frontend, StopsAfterAScreenfulOfErrors) {
  Compiled result = compileForTest("kernel a(q: [B]) -> [B] {" +
                                   repeat("x = y;", 1000) + "return q; }");
  ASSERT_EQ(result.diagnostics.size(), 20u);
  EXPECT_THAT(result.diagnostics.back().notes.back().message,
              HasSubstr("only the first 20 errors"));
}

TEST(Frontend, ParametersFromOutside) {
  llvm::StringRef text = "kernel a<n = 4, x = 0.5, d: dtype = f32, c = true>"
                         "(q: d[B, n]) -> d[B, n] { return q; }";
  Options options;
  auto give = [&](llvm::StringRef name, llvm::StringRef value) {
    options.params.clear();
    options.params[name] = value.str();
    return compileForTest(text, options).succeeded;
  };
  EXPECT_TRUE(give("n", "8"));
  EXPECT_TRUE(give("n", "1_000"));
  EXPECT_TRUE(give("x", "-2"));
  EXPECT_TRUE(give("x", "1e-3"));
  EXPECT_TRUE(give("x", "inf"));
  EXPECT_TRUE(give("d", "f16"));
  EXPECT_TRUE(give("c", "false"));
  for (llvm::StringRef value : {"", "0.5", "true", "bf16", "x", "0", "4 4",
                                "99999999999999999999", "\xff", "(", "-1"})
    EXPECT_FALSE(give("n", value)) << value.str();
  EXPECT_FALSE(give("d", "i8"));
  EXPECT_FALSE(give("c", "1"));
  EXPECT_FALSE(give("m", "1"));

  options.params.clear();
  options.params["bolck"] = "1";
  EXPECT_EQ(getFirstError(text, options),
            "kernel 'a' has no parameter 'bolck'");
}

TEST(Frontend, ChoosesAKernel) {
  llvm::StringRef text = "kernel a(x: [N]) -> [N] { return x; }\n"
                         "kernel b(x: [N]) -> [N] { return y; }\n";
  Options options;
  options.kernel = "a";
  EXPECT_TRUE(compileForTest(text, options).succeeded);
  options.kernel = "b";
  EXPECT_EQ(getFirstError(text, options), "unknown name 'y'");
  options.kernel = "c";
  EXPECT_EQ(getFirstError(text, options), "the program has no kernel 'c'");
}

TEST(Frontend, RejectsUnknownStorageTypes) {
  Options options;
  options.dtype = "f64";
  EXPECT_EQ(getFirstError("kernel a(x: [N]) -> [N] { return x; }", options),
            "the storage type 'f64' isn't supported");
}
