//===- ParserStatement.cpp - Statements of a kernel -----------------------===//

#include "Parser.h"
#include "Spellings.h"
#include "nsacc/Support/Suggestions.h"

using namespace llvm;
using namespace nsacc::frontend;
using namespace nsacc::frontend::ast;

static constexpr StringRef plainStatement =
    "a statement is 'name = expression;' or 'return expression;'";

/// Whether the token begins an expression and can't continue one.
static bool startsValue(Token::Kind kind) {
  return is_contained({Token::Kind::Identifier, Token::Kind::Integer,
                       Token::Kind::Real, Token::Kind::kw_score,
                       Token::Kind::LParen},
                      kind);
}

void Parser::parseBody(Kernel &kernel) {
  Token open = take();
  while (
      !token.isAny(Kind::RBrace, Kind::EndOfFile) && !problems.full() &&
      (!at(Kind::kw_kernel) || ahead.is(Kind::Equal) || isNestedKernel(kernel)))
    parseStatement(kernel);
  kernel.end = token.range;
  if (takeIf(Kind::RBrace) || problems.full())
    return;
  kernel.incomplete = true;
  problems.error(token.range, "expected '}', found " + describeFound())
      .note(open.range, "this '{' has no '}'");
}

void Parser::parseStatement(Kernel &kernel) {
  if (takeIf(Kind::Semicolon)) {
    problems.error({lastEnd - 1, lastEnd}, "expected a statement, found ';'")
        .note("remove it");
    return;
  }
  if (parseForeignStatement(kernel))
    return;
  Statement statement{};
  statement.isReturn = atReturn();
  // The skipped text may have been meant as the returned value.
  kernel.incomplete |= at(Kind::Identifier) && startsValue(ahead.kind);
  uint32_t begin = token.range.begin;
  SmallVector<Name> names;
  SmallVector<Expr *> values;
  bool parsed = true;
  if (statement.isReturn)
    take();
  else
    parsed = parseTargets(names);
  if (statement.isReturn && at(Kind::Semicolon)) {
    problems.error(token.range, "expected what 'return' gives, found ';'")
        .note("write the values of the kernel's results, as in 'return x;'");
    parsed = false;
  }
  if (parsed) {
    do
      values.push_back(parseExpr());
    while (values.back() && takeIf(Kind::Comma));
    parsed = values.back();
  }
  // The names exist even if their values are wrong.
  if (values.empty())
    values.push_back(nullptr);
  statement.names = file.copy(ArrayRef(names));
  statement.values = file.copy(ArrayRef(values));
  statement.range = {begin, std::max(begin, lastEnd)};
  if (statement.isReturn || !names.empty())
    kernel.body.push_back(statement);
  if (parsed && !token.isAny(Kind::Semicolon, Kind::BadNumber) &&
      !reportReserved()) {
    Problem &problem = problems.error(
        getGap(), "expected ';' after the statement, found " + describeFound());
    if (atClause())
      problem.note("clauses stand right behind the brackets of the attend or "
                   "topk that they belong to");
    else if (at(Kind::Identifier))
      problem.note({lastEnd, lastEnd}, "insert ';' or an operator here");
    else
      problem.note({lastEnd, lastEnd}, "insert ';' here");
    if (onNewLine() || (at(Kind::Identifier) && ahead.is(Kind::Equal)))
      return;
  }
  finishStatement(kernel);
}

bool Parser::isAssigned() const {
  return ahead.isAny(Kind::Equal, Kind::Comma, Kind::Colon, Kind::PlusEqual,
                     Kind::MinusEqual, Kind::StarEqual, Kind::SlashEqual);
}

bool Parser::atReturn() {
  if (at(Kind::kw_return))
    return !ahead.is(Kind::Equal);
  StringRef word = source.getText(token.range);
  bool isMisspelt = at(Kind::Identifier) && !isAssigned() &&
                    !nsacc::findNearest(word, {"return"}).empty();
  if (isMisspelt)
    problems.error(token.range, "expected a statement, found " + quote(word))
        .note("did you mean 'return'?");
  return isMisspelt;
}

bool Parser::parseTargets(SmallVectorImpl<Name> &names) {
  bool isTuple = at(Kind::LParen) && isWord(ahead.kind);
  if (isTuple) {
    problems.error(token.range, "expected a statement, found '('")
        .note("names stand without brackets, as in 'a, b = …;'");
    take();
  }
  do {
    Name name;
    if (!expectName(name, names.empty() ? "a statement" : "a name"))
      return false;
    names.push_back(name);
  } while (takeIf(Kind::Comma));
  if (isTuple)
    takeIf(Kind::RParen);
  if (takeIf(Kind::Equal))
    return true;
  Name target = names.back();
  Problem &problem =
      problems.error(token.range, "expected '=' after " + quote(target.text) +
                                      ", found " + describeFound());
  StringRef known = explainStatement(target.text);
  // After an extra word, the statement is parsed without it.
  bool isWordTooMany = at(Kind::Identifier) && ahead.is(Kind::Equal);
  if (isWordTooMany || !known.empty()) {
    problem.note(target.range, known.empty() ? plainStatement : known);
    names.clear();
    return isWordTooMany && parseTargets(names);
  }
  bool isArrow = at(Kind::Less) && ahead.is(Kind::Minus);
  bool isPair = isArrow || (at(Kind::Colon) && ahead.is(Kind::Equal));
  if (isPair ||
      token.isAny(Kind::EqualEqual, Kind::Arrow, Kind::EqualGreater)) {
    problem.note("a value is given with '=': '" + target.text + " = …;'");
    take();
    if (isPair)
      take();
    return true;
  }
  if (at(Kind::Colon)) {
    problem.note("values have no declared types: leave out what stands between "
                 "the name and '='");
    ast::Type ignored{};
    take();
    return parseType(ignored) && takeIf(Kind::Equal);
  }
  if (token.isAny(Kind::PlusEqual, Kind::MinusEqual, Kind::StarEqual,
                  Kind::SlashEqual))
    problem.note("a name keeps its value: give the new one a name of its own, "
                 "as in 'b = " +
                 target.text + " " + source.getText(token.range).drop_back() +
                 " …;'");
  else if (at(Kind::LParen))
    problem.note(target.range,
                 "a value has a name, or is returned: 'x = " + target.text +
                     "(…);' or 'return " + target.text + "(…);'");
  else
    problem.note(target.range, plainStatement);
  // The name's value follows.
  if (startsValue(token.kind) && !at(Kind::LParen))
    return true;
  names.clear();
  return false;
}

//===----------------------------------------------------------------------===//
// Statements of other languages
//===----------------------------------------------------------------------===//

bool Parser::isNestedKernel(const Kernel &outer) const {
  if (!outer.body.empty() && outer.body.back().isReturn)
    return false;
  // If the outer kernel's brace is missing, another kernel or the end follows.
  Problems ignored;
  Lexer probe(source, ignored);
  probe.restart(token.range.end);
  unsigned open = 0;
  for (Token next = probe.next(); !next.is(Kind::EndOfFile);
       next = probe.next()) {
    open += next.is(Kind::LBrace);
    if (!next.is(Kind::RBrace))
      continue;
    if (open > 1)
      --open;
    else
      return open == 1 && !probe.next().isAny(Kind::kw_kernel, Kind::EndOfFile);
  }
  return false;
}

bool Parser::parseForeignStatement(Kernel &kernel) {
  bool isKernel = at(Kind::kw_kernel);
  StringRef word = source.getText(token.range);
  bool isElse = word == "else" || word == "elif";
  if ((!isKernel && !at(Kind::Identifier)) || (isAssigned() && !isElse))
    return false;
  StringRef known = explainBlock(word);
  if (known.empty())
    return false;
  // It belongs to a statement that was reported.
  if (!isElse || !kernel.incomplete)
    problems.error(token.range, "expected a statement, found " + quote(word))
        .note(known);
  kernel.incomplete = true;
  skipForeignStatement(kernel);
  return true;
}

void Parser::skip(Kernel &kernel) {
  Token word = take();
  if (!word.is(Kind::Identifier) || !at(Kind::Equal))
    return;
  Name name = getName(word);
  if (!knownNames.insert(name.text).second)
    return;
  Expr *unknown = nullptr;
  kernel.body.push_back({/*isReturn=*/false, word.range,
                         file.copy(ArrayRef(name)),
                         file.copy(ArrayRef(unknown))});
}

void Parser::skipForeignStatement(Kernel &kernel) {
  unsigned column = source.getPosition(token.range.begin).column;
  unsigned brackets = 0;
  take();
  while (!token.isAny(Kind::RBrace, Kind::EndOfFile)) {
    if (at(Kind::LBrace)) {
      skipBraces(kernel);
      takeIf(Kind::Semicolon);
      return;
    }
    if (brackets == 0 && takeIf(Kind::Semicolon))
      return;
    if (brackets == 0 && takeIf(Kind::Colon))
      return skipIndented(kernel, column);
    // A line of a language without ';'.
    if (brackets == 0 && onNewLine())
      return;
    brackets += token.isAny(Kind::LParen, Kind::LBracket);
    if (token.isAny(Kind::RParen, Kind::RBracket) && brackets > 0)
      --brackets;
    skip(kernel);
  }
}

void Parser::skipBraces(Kernel &kernel) {
  unsigned open = 0;
  do {
    open += at(Kind::LBrace);
    open -= at(Kind::RBrace);
    skip(kernel);
  } while (open > 0 && !at(Kind::EndOfFile));
}

void Parser::skipIndented(Kernel &kernel, unsigned column) {
  while (!token.isAny(Kind::RBrace, Kind::EndOfFile)) {
    if (onNewLine() && source.getPosition(token.range.begin).column <= column)
      return;
    skip(kernel);
  }
}

void Parser::finishStatement(Kernel &kernel) {
  while (!token.isAny(Kind::RBrace, Kind::kw_return, Kind::kw_kernel,
                      Kind::EndOfFile)) {
    if (takeIf(Kind::Semicolon))
      return;
    if (onNewLine() && at(Kind::Identifier) && ahead.is(Kind::Equal))
      return;
    // Braces within a statement don't end the kernel.
    if (at(Kind::LBrace))
      skipBraces(kernel);
    else
      take();
  }
}
