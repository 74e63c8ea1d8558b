//===- ProblemsTest.cpp - Errors and warnings of one run ------------------===//

#include "Problems.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Frontend/Diagnostics.h"
#include "gtest/gtest.h"

using namespace nsacc::frontend;
using Severity = DiagnosticData::Severity;

namespace {
struct ProblemsTest : testing::Test {
  std::vector<DiagnosticData> emit() {
    mlir::MLIRContext context;
    DiagnosticCollector collector(context);
    problems.emit(Source(llvm::MemoryBufferRef("0123456789", "test.nsa")),
                  context);
    return collector.take();
  }

  Problems problems;
};
} // namespace

TEST_F(ProblemsTest, WarningsAreNoErrors) {
  problems.warning({1, 2}, "odd").note("mend it");
  EXPECT_FALSE(problems.hasErrors());
  EXPECT_EQ(problems.getNumErrors(), 0u);
  std::vector<DiagnosticData> diagnostics = emit();
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].severity, Severity::Warning);
  EXPECT_EQ(diagnostics[0].message, "odd");
  EXPECT_EQ(diagnostics[0].column, 2u);
  ASSERT_EQ(diagnostics[0].notes.size(), 1u);
  EXPECT_EQ(diagnostics[0].notes[0].message, "mend it");
}

TEST_F(ProblemsTest, ErrorsAndWarningsStandInTheOrderOfTheirPlaces) {
  problems.warning({5, 6}, "behind an error").note("isn't shown");
  problems.warning({1, 2}, "first");
  problems.error({9, 10}, "last");
  problems.error({3, 4}, "middle");
  problems.warning({0, 1}, "found behind an error").note("isn't kept");
  EXPECT_TRUE(problems.hasErrors());
  std::vector<DiagnosticData> diagnostics = emit();
  ASSERT_EQ(diagnostics.size(), 3u);
  EXPECT_EQ(diagnostics[0].message, "first");
  EXPECT_EQ(diagnostics[1].message, "middle");
  EXPECT_EQ(diagnostics[2].message, "last");
}

// A clause may be checked more than once.
TEST_F(ProblemsTest, OneWarningOfOnePlaceIsKeptOnce) {
  problems.warning({1, 2}, "odd").note("mend it");
  problems.warning({1, 2}, "odd").note("mend it");
  problems.warning({1, 2}, "strange");
  problems.warning({2, 3}, "odd");
  std::vector<DiagnosticData> diagnostics = emit();
  ASSERT_EQ(diagnostics.size(), 3u);
  EXPECT_EQ(diagnostics[0].notes.size(), 1u);
}

TEST_F(ProblemsTest, ManyWarningsDontHideErrors) {
  for (unsigned i = 0; i < Problems::limit + 5; ++i)
    problems.warning({i % 10, 10}, "warning " + std::to_string(i)).note("why");
  EXPECT_FALSE(problems.full());
  problems.error({9, 10}, "wrong");
  EXPECT_EQ(problems.getNumErrors(), 1u);
  std::vector<DiagnosticData> diagnostics = emit();
  ASSERT_EQ(diagnostics.size(), Problems::limit + 1u);
  EXPECT_EQ(diagnostics.back().severity, Severity::Error);
  EXPECT_TRUE(diagnostics.back().notes.empty());
  const auto &notes = diagnostics[Problems::limit - 1].notes;
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[1].message,
            "stopped here: only the first 20 warnings are shown");
}

TEST_F(ProblemsTest, TheLastErrorSaysThatThereAreMore) {
  for (unsigned i = 0; i < Problems::limit + 1; ++i)
    problems.error({0, 1}, "error " + std::to_string(i)).note("why");
  EXPECT_TRUE(problems.full());
  std::vector<DiagnosticData> diagnostics = emit();
  ASSERT_EQ(diagnostics.size(), Problems::limit);
  EXPECT_EQ(diagnostics.back().notes.back().message,
            "stopped here: only the first 20 errors are shown");
}
