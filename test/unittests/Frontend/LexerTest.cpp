//===- LexerTest.cpp - Text to tokens -------------------------------------===//

#include "Lexer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace nsacc::frontend;
using Kind = Token::Kind;
using testing::ElementsAre;

static std::vector<Kind> lex(llvm::StringRef text, unsigned errors = 0) {
  Source source(llvm::MemoryBufferRef(text, "test.nsa"));
  Problems problems;
  Lexer lexer(source, problems);
  std::vector<Kind> kinds;
  for (Token token = lexer.next(); !token.is(Kind::EndOfFile);
       token = lexer.next())
    kinds.push_back(token.kind);
  EXPECT_EQ(problems.getNumErrors(), errors) << text.str();
  return kinds;
}

TEST(Lexer, LongestPunctuationWins) {
  EXPECT_THAT(lex("<= < == = -> - != **"),
              ElementsAre(Kind::LessEqual, Kind::Less, Kind::EqualEqual,
                          Kind::Equal, Kind::Arrow, Kind::Minus, Kind::NotEqual,
                          Kind::StarStar));
}

TEST(Lexer, KeywordsAreWholeWords) {
  EXPECT_THAT(lex("in inner where whereas"),
              ElementsAre(Kind::kw_in, Kind::Identifier, Kind::kw_where,
                          Kind::Identifier));
}

TEST(Lexer, Numbers) {
  EXPECT_THAT(lex("1_000 0.5 1e-3 1E+3 12.5e1"),
              ElementsAre(Kind::Integer, Kind::Real, Kind::Real, Kind::Real,
                          Kind::Real));
  EXPECT_THAT(lex("1. .5 1e 1x", 4),
              ElementsAre(Kind::BadNumber, Kind::BadNumber, Kind::BadNumber,
                          Kind::BadNumber));
}

TEST(Lexer, CommentsAreBlank) {
  EXPECT_THAT(lex("a // b\n/* c /* d */ e"),
              ElementsAre(Kind::Identifier, Kind::Identifier));
  EXPECT_THAT(lex("a /* b", 1), ElementsAre(Kind::Identifier));
}

TEST(Lexer, SkipsAByteOrderMark) {
  EXPECT_THAT(lex("\xEF\xBB\xBFkernel"), ElementsAre(Kind::kw_kernel));
}

TEST(Lexer, UnknownCharactersAreSkippedWhole) {
  EXPECT_THAT(lex("a \u20ac b", 1),
              ElementsAre(Kind::Identifier, Kind::Identifier));
  EXPECT_THAT(lex(llvm::StringRef("a\0b", 3), 1),
              ElementsAre(Kind::Identifier, Kind::Identifier));
}

TEST(Lexer, MathematicsIsReportedAndUnderstood) {
  EXPECT_THAT(lex("a \u2264 b", 1),
              ElementsAre(Kind::Identifier, Kind::LessEqual, Kind::Identifier));
  EXPECT_THAT(lex("a & b", 1),
              ElementsAre(Kind::Identifier, Kind::kw_and, Kind::Identifier));
}

TEST(Source, PositionsCountFromOne) {
  Source source(llvm::MemoryBufferRef("ab\n\nc", "test.nsa"));
  EXPECT_EQ(source.getPosition(0).line, 1u);
  EXPECT_EQ(source.getPosition(1).column, 2u);
  EXPECT_EQ(source.getPosition(3).line, 2u);
  EXPECT_EQ(source.getPosition(4).line, 3u);
  EXPECT_EQ(source.getPosition(5).column, 2u);
}

TEST(Source, QuotesStayShortAndPrintable) {
  EXPECT_EQ(quote("abc"), "'abc'");
  EXPECT_EQ(quote(llvm::StringRef("\0\n", 2)), "'\\x00\\x0A'");
  EXPECT_LT(quote(std::string(1000, 'a')).size(), 50u);
}
