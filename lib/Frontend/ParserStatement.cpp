//===- ParserStatement.cpp - Statements of a kernel -----------------------===//

#include "Parser.h"
#include "Spellings.h"

using namespace llvm;
using namespace nsacc::frontend;
using namespace nsacc::frontend::ast;

void Parser::parseBody(Kernel &kernel) {
  Token open = take();
  while (!token.isAny(Kind::RBrace, Kind::kw_kernel, Kind::EndOfFile) &&
         !problems.full())
    parseStatement(kernel);
  kernel.end = token.range;
  if (takeIf(Kind::RBrace) || problems.full())
    return;
  problems.error(token.range, "expected '}', found " + describeFound())
      .note(open.range, "this '{' has no '}'");
}

void Parser::parseStatement(Kernel &kernel) {
  if (takeIf(Kind::Semicolon)) {
    problems.error({lastEnd - 1, lastEnd}, "expected a statement, found ';'")
        .note("remove it");
    return;
  }
  Statement statement{};
  statement.isReturn = at(Kind::kw_return);
  uint32_t begin = token.range.begin;
  SmallVector<Name> names;
  SmallVector<Expr *> values;
  bool parsed = true;
  if (statement.isReturn)
    take();
  else
    parsed = parseTargets(names);
  if (parsed) {
    do
      values.push_back(parseExpr());
    while (values.back() && takeIf(Kind::Comma));
    parsed = values.back();
  }
  // The names exist even where their values are wrong.
  statement.names = file.copy(ArrayRef(names));
  statement.values = file.copy(ArrayRef(values));
  statement.range = {begin, std::max(begin, lastEnd)};
  if (statement.isReturn || !names.empty())
    kernel.body.push_back(statement);
  if (parsed && !at(Kind::Semicolon) && !reportReserved()) {
    Problem &problem = problems.error(
        getGap(), "expected ';' after the statement, found " + describeFound());
    if (at(Kind::Equal))
      problem.note("equality is written '=='");
    else if (at(Kind::Identifier) || atClause())
      problem.note({lastEnd, lastEnd}, "insert ';' or an operator here");
    else
      problem.note({lastEnd, lastEnd}, "insert ';' here");
    if (onNewLine())
      return;
  }
  finishStatement();
}

bool Parser::parseTargets(SmallVectorImpl<Name> &names) {
  do {
    Name name;
    if (!expectName(name, names.empty() ? "a statement" : "a name"))
      return false;
    names.push_back(name);
  } while (takeIf(Kind::Comma));
  if (takeIf(Kind::Equal))
    return true;
  Name target = names.front();
  Problem &problem =
      problems.error(token.range, "expected '=' after " + quote(target.text) +
                                      ", found " + describeFound());
  StringRef known = explainStatement(target.text);
  if (!known.empty()) {
    problem.note(target.range, known);
    names.clear();
    // Behind a word too many, what was meant is read as it stands.
    return at(Kind::Identifier) && ahead.is(Kind::Equal) && parseTargets(names);
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
  else
    problem.note(target.range, "a statement is 'name = expression;' or 'return "
                               "expression;'");
  names.clear();
  return false;
}

void Parser::finishStatement() {
  while (!token.isAny(Kind::RBrace, Kind::kw_return, Kind::kw_kernel,
                      Kind::EndOfFile)) {
    if (takeIf(Kind::Semicolon))
      return;
    if (onNewLine() && at(Kind::Identifier) && ahead.is(Kind::Equal))
      return;
    take();
  }
}
