//===- ParserTest.cpp - Precedence, associativity and recovery ------------===//

#include "Parser.h"
#include "gtest/gtest.h"

using namespace nsacc::frontend;
using namespace nsacc::frontend::ast;

/// The expression with all its parentheses.
static std::string spell(const Expr *expr) {
  if (!expr)
    return "?";
  if (const auto *name = llvm::dyn_cast<NameExpr>(expr))
    return name->name.str();
  if (const auto *integer = llvm::dyn_cast<IntegerExpr>(expr))
    return std::to_string(integer->value);
  if (const auto *unary = llvm::dyn_cast<UnaryExpr>(expr))
    return "(" + getSpelling(unary->op).str() + " " + spell(unary->operand) +
           ")";
  if (const auto *binary = llvm::dyn_cast<BinaryExpr>(expr))
    return "(" + spell(binary->lhs) + " " + getSpelling(binary->op).str() +
           " " + spell(binary->rhs) + ")";
  if (const auto *chain = llvm::dyn_cast<ComparisonExpr>(expr)) {
    std::string text = "(" + spell(chain->operands.front());
    for (size_t i = 0; i < chain->ops.size(); ++i)
      text += " " + getSpelling(chain->ops[i]).str() + " " +
              spell(chain->operands[i + 1]);
    return text + ")";
  }
  return "…";
}

static std::string parse(llvm::StringRef text) {
  Source source(llvm::MemoryBufferRef(text, "test.nsa"));
  Problems problems;
  File file;
  std::string spelled = spell(Parser(source, problems, file).parseWholeExpr());
  EXPECT_FALSE(problems.hasErrors()) << text.str();
  return spelled;
}

TEST(Parser, Precedence) {
  EXPECT_EQ(parse("a or b and not c < d + e * -f"),
            "(a or (b and (not (c < (d + (e * (- f)))))))");
  EXPECT_EQ(parse("a floordiv b mod c / d"), "(((a floordiv b) mod c) / d)");
  EXPECT_EQ(parse("not a and b"), "((not a) and b)");
  EXPECT_EQ(parse("not a == b"), "(not (a == b))");
}

TEST(Parser, LeftAssociative) {
  EXPECT_EQ(parse("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(parse("a or b or c"), "((a or b) or c)");
}

TEST(Parser, ComparisonsChain) {
  EXPECT_EQ(parse("0 <= i - j < w"), "(0 <= (i - j) < w)");
  EXPECT_EQ(parse("a < b == c"), "(a < b == c)");
}

static size_t countErrors(llvm::StringRef text) {
  Source source(llvm::MemoryBufferRef(text, "test.nsa"));
  Problems problems;
  File file;
  Parser(source, problems, file).parseFile();
  return problems.getNumErrors();
}

TEST(Parser, OneErrorForEachBrokenStatement) {
  EXPECT_EQ(countErrors("kernel a(q: [B]) -> [B] { x = ; y = (; return q; }"),
            2u);
  // A missing ';', a missing '}' and a broken header.
  EXPECT_EQ(countErrors("kernel a() -> [B] { return 1 kernel b( { }"), 3u);
}

TEST(Parser, ReportsAScreenfulAtMost) {
  std::string text = "kernel a(q: [B]) -> [B] {";
  for (int i = 0; i < 1000; ++i)
    text += "x = ;";
  EXPECT_EQ(countErrors(text + "return q; }"), Problems::limit);
}
