//===- DiagnosticsTest.cpp - Diagnostics as data and as text --------------===//

#include "CompileForTest.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace nsacc::frontend;

static std::string printErrors(llvm::StringRef text) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(text, "test.nsa"), llvm::SMLoc());
  mlir::MLIRContext context;
  std::string printed;
  llvm::raw_string_ostream os(printed);
  DiagnosticPrinter printer(sources, context, os);
  auto module =
      compile(sources.getMemoryBuffer(1)->getMemBufferRef(), {}, context);
  EXPECT_FALSE(module);
  EXPECT_GT(printer.getNumErrors(), 0u);
  return printed;
}

TEST(Diagnostics, PrintsLineCaretAndNote) {
  EXPECT_EQ(printErrors("kernel a(query: [B]) -> [B] {\n"
                        "\treturn qury;\n"
                        "}\n"),
            "test.nsa:2:9: error: unknown name 'qury'\n"
            "   return qury;\n"
            "          ^~~~\n"
            "test.nsa:2:9: note: did you mean 'query'?\n");
}

TEST(Diagnostics, NotesElsewhereShowTheirLine) {
  EXPECT_EQ(printErrors("kernel a(q: [B],\n"
                        "         q: [B]) -> [B] { return q; }\n"),
            "test.nsa:2:10: error: 'q' is already defined\n"
            "           q: [B]) -> [B] { return q; }\n"
            "           ^\n"
            "test.nsa:1:10: note: the first one is here; a name stands for one "
            "thing: choose another one\n"
            "  kernel a(q: [B],\n"
            "           ^\n");
}

TEST(Diagnostics, CutsLongLinesAroundTheCaret) {
  std::string blanks(100000, ' ');
  std::string printed = printErrors("kernel a(q: [B]) -> [B] {" + blanks +
                                    "return p;" + blanks + "}");
  EXPECT_LT(printed.size(), 500u);
  EXPECT_NE(printed.find("return p;"), std::string::npos);
  EXPECT_NE(printed.find("…"), std::string::npos);
}

TEST(Diagnostics, AlignsBehindWideCharacters) {
  std::string printed =
      printErrors("kernel a(q: [B]) -> [B] { /* \u00e9\u4e2d */ return p; }");
  size_t line = printed.find("  kernel"), caret = printed.find("^");
  ASSERT_NE(caret, std::string::npos);
  size_t start = printed.rfind('\n', caret) + 1;
  // Two columns for the wide character, one for the other; the names in the
  // line are ASCII.
  size_t p = printed.find("p; }", line) - line;
  EXPECT_EQ(caret - start, p - 2);
}

TEST(Diagnostics, CollectsPlainData) {
  Compiled result = compileForTest("kernel a(q: [B]) -> [B] {\n return p; }");
  ASSERT_EQ(result.diagnostics.size(), 1u);
  const DiagnosticData &data = result.diagnostics.front();
  EXPECT_EQ(data.severity, DiagnosticData::Severity::Error);
  EXPECT_EQ(data.file, "test.nsa");
  EXPECT_EQ(data.line, 2u);
  EXPECT_EQ(data.column, 9u);
  EXPECT_EQ(data.endLine, 2u);
  EXPECT_EQ(data.endColumn, 10u);
  EXPECT_EQ(data.notes.size(), 1u);
}

TEST(Diagnostics, OrderedByPlace) {
  // The parser finds the last one first.
  Compiled result = compileForTest("kernel a(q: [B]) -> [B] {\n"
                                   "  x = nothing;\n"
                                   "  y = ;\n"
                                   "  return q;\n"
                                   "}");
  ASSERT_EQ(result.diagnostics.size(), 2u);
  EXPECT_EQ(result.diagnostics[0].line, 2u);
  EXPECT_EQ(result.diagnostics[1].line, 3u);
}
