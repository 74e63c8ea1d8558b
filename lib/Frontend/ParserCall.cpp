//===- ParserCall.cpp - Calls and their clauses ---------------------------===//

#include "Parser.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace nsacc::frontend;
using namespace nsacc::frontend::ast;

Expr *Parser::parseCall(Name callee) {
  take();
  SmallVector<ast::Argument> arguments;
  while (!at(Kind::RParen)) {
    if (!parseArgument(arguments))
      return nullptr;
    if (!takeIf(Kind::Comma))
      break;
  }
  if (!expect(Kind::RParen, "after the arguments of " + quote(callee.text)))
    return nullptr;

  SmallVector<Clause> clauses;
  if (callee.text == "attend" || callee.text == "topk")
    parseClauses(callee.text, clauses);
  auto *call = file.create<CallExpr>(callee, file.copy(ArrayRef(arguments)),
                                     Range{callee.range.begin, lastEnd},
                                     file.copy(ArrayRef(clauses)));
  SmallVector<Expr *> children;
  for (const ast::Argument &argument : arguments)
    children.push_back(argument.value);
  for (const Clause &clause : clauses) {
    children.push_back(clause.value);
    for (const Forced &forced : clause.forced)
      children.push_back(forced.count);
  }
  return nest(call, children);
}

bool Parser::parseArgument(SmallVectorImpl<ast::Argument> &arguments) {
  std::optional<Name> label;
  if (isWord(token.kind) && ahead.is(Kind::Equal)) {
    label = getName(take());
    take();
  }
  // `map=max` and `by=first` name ways of doing things, some of them keywords.
  if (label && token.isAny(Kind::kw_first, Kind::kw_last)) {
    arguments.push_back({label, file.create<NameExpr>(getName(take()))});
    return true;
  }
  Expr *value = parseExpr();
  arguments.push_back({label, value});
  return value;
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

bool Parser::atClause() const {
  return token.isAny(Kind::kw_in, Kind::kw_where, Kind::kw_score,
                     Kind::kw_scale, Kind::kw_weight, Kind::kw_normalize,
                     Kind::kw_sink, Kind::kw_keep, Kind::kw_plus,
                     Kind::kw_count, Kind::kw_share);
}

void Parser::skipToClause() {
  while (!atClause() &&
         !token.isAny(Kind::Semicolon, Kind::RBrace, Kind::LBrace,
                      Kind::kw_return, Kind::kw_kernel, Kind::EndOfFile) &&
         !(at(Kind::Identifier) && ahead.is(Kind::Equal) && onNewLine()))
    take();
}

static bool isAllowed(StringRef callee, Clause::Kind kind) {
  using Kind = Clause::Kind;
  switch (kind) {
  case Kind::Where:
    return true;
  case Kind::In:
  case Kind::Score:
  case Kind::Scale:
  case Kind::Weight:
  case Kind::Normalize:
  case Kind::Sink:
    return callee == "attend";
  case Kind::Keep:
  case Kind::Plus:
  case Kind::Count:
  case Kind::ShareTokens:
  case Kind::ShareHeads:
    return callee == "topk";
  }
  llvm_unreachable("unknown clause");
}

void Parser::parseClauses(StringRef callee, SmallVectorImpl<Clause> &clauses) {
  while (atClause() && !problems.full()) {
    Clause clause;
    bool parsed = parseClause(clause);
    Problem *problem = nullptr;
    if (parsed && !isAllowed(callee, clause.kind)) {
      problem =
          &problems.error(clause.keyword, quote(callee) + " has no clause " +
                                              quote(getSpelling(clause.kind)));
      problem->note(callee == "topk"
                        ? "the clauses of topk are keep, plus, count, share "
                          "and where"
                        : "the clauses of attend are in, where, score, scale, "
                          "weight, normalize and sink");
    }
    const Clause *earlier = find_if(clauses, [&](const Clause &other) {
      return other.kind == clause.kind;
    });
    if (parsed && !problem && earlier != clauses.end())
      problems
          .error(clause.keyword, "a second clause " +
                                     quote(getSpelling(clause.kind)) +
                                     "; each may be given once")
          .note(earlier->keyword, "the first one is here");
    else if (parsed && !problem)
      clauses.push_back(clause);
    if (!parsed)
      skipToClause();
  }
}

bool Parser::parseClause(Clause &clause) {
  Token keyword = take();
  clause.keyword = keyword.range;
  switch (keyword.kind) {
  case Kind::kw_in:
    clause.kind = Clause::Kind::In;
    break;
  case Kind::kw_where:
    clause.kind = Clause::Kind::Where;
    break;
  case Kind::kw_score:
    clause.kind = Clause::Kind::Score;
    break;
  case Kind::kw_scale:
    clause.kind = Clause::Kind::Scale;
    break;
  case Kind::kw_weight:
    clause.kind = Clause::Kind::Weight;
    break;
  case Kind::kw_normalize:
    clause.kind = Clause::Kind::Normalize;
    break;
  case Kind::kw_sink:
    clause.kind = Clause::Kind::Sink;
    break;
  case Kind::kw_count:
    clause.kind = Clause::Kind::Count;
    break;
  case Kind::kw_keep:
  case Kind::kw_plus:
    clause.kind =
        keyword.is(Kind::kw_keep) ? Clause::Kind::Keep : Clause::Kind::Plus;
    return parseForced(clause);
  case Kind::kw_share:
    return parseShare(clause);
  default:
    llvm_unreachable("not at a clause");
  }
  clause.value = parseExpr();
  return clause.value;
}

bool Parser::parseForced(Clause &clause) {
  SmallVector<Forced> forced;
  do {
    // The list goes on only with `first` or `last`: in `a, b = topk(…) keep
    // first 1, …` the comma may end it.
    if (!token.isAny(Kind::kw_first, Kind::kw_last)) {
      problems
          .error(token.range,
                 "expected 'first' or 'last', found " + describeFound())
          .note("write, for example, 'keep first 1, last 2'");
      return false;
    }
    Token which = take();
    Expr *count = parseExpr();
    if (!count)
      return false;
    forced.push_back(
        {which.is(Kind::kw_last), join(which.range, count->range), count});
  } while (at(Kind::Comma) && ahead.isAny(Kind::kw_first, Kind::kw_last) &&
           (take(), true));
  clause.forced = file.copy(ArrayRef(forced));
  return true;
}

bool Parser::parseShare(Clause &clause) {
  if (!token.isAny(Kind::kw_tokens, Kind::kw_heads)) {
    problems
        .error(token.range,
               "expected 'tokens' or 'heads', found " + describeFound())
        .note("write, for example, 'share tokens 4' or 'share heads 2 by max'");
    return false;
  }
  clause.kind = at(Kind::kw_tokens) ? Clause::Kind::ShareTokens
                                    : Clause::Kind::ShareHeads;
  take();
  clause.value = parseExpr();
  if (!clause.value)
    return false;
  if (!takeIf(Kind::kw_by))
    return true;
  if (!token.isAny(Kind::Identifier, Kind::kw_first, Kind::kw_last)) {
    problems
        .error(token.range, "expected how to reduce, found " + describeFound())
        .note("one of sum, mean, max, first and last");
    return false;
  }
  clause.by = getName(take());
  return true;
}
