//===- ParserCall.cpp - Calls and their clauses ---------------------------===//

#include "Parser.h"
#include "Spellings.h"
#include "nsacc/Support/Suggestions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;
using namespace nsacc::frontend;
using namespace nsacc::frontend::ast;

/// The function with clauses that `callee` is or probably means: its clauses
/// cause no further errors. Empty for others.
static StringRef getClauseOwner(StringRef callee) {
  StringRef known = explainFunction(callee);
  if (known == explainFunction("attention"))
    return "attend";
  if (known == explainFunction("topp"))
    return "topk";
  return nsacc::findNearest(callee, {"attend", "topk"});
}

Expr *Parser::parseCall(Name callee) {
  SmallVector<ast::Argument> arguments;
  if (!parseArguments(callee, arguments))
    return nullptr;
  SmallVector<Clause> clauses;
  StringRef owner = getClauseOwner(callee.text);
  if (owner == "attend" && is_contained(openCalls, "attend")) {
    problems
        .error(callee.range,
               "this 'attend' is part of a clause of the 'attend' "
               "in front, which reaches as far as it can")
        .note("end the clause with parentheses: (attend(…) where …) - x * "
              "(attend(…) where …)");
    // Clauses inside of brackets belong to no outer call.
    SaveAndRestore alone(openCalls, {});
    parseClauses({owner, callee.range}, clauses);
    return nullptr;
  }
  if (!owner.empty())
    parseClauses({owner, callee.range}, clauses);
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

bool Parser::parseArguments(Name callee,
                            SmallVectorImpl<ast::Argument> &arguments) {
  SaveAndRestore inBrackets(openCalls, {});
  take();
  while (!at(Kind::RParen) && !atClauseInside(callee.text)) {
    if (!parseArgument(arguments))
      return false;
    if (!takeIf(Kind::Comma))
      break;
  }
  if (atClause()) {
    reportClauseInside(callee);
    return false;
  }
  if (token.isAny(Kind::Identifier, Kind::Integer, Kind::Real) &&
      !startsStatement()) {
    problems
        .error(getGap(), "expected ')' after the arguments of " +
                             quote(callee.text) + ", found " + describeFound())
        .note({lastEnd, lastEnd},
              "insert ',' or an operator here: arguments have commas between "
              "them");
    return false;
  }
  return expect(Kind::RParen, "after the arguments of " + quote(callee.text));
}

static bool takesClauses(StringRef callee) {
  return callee == "attend" || callee == "topk";
}

bool Parser::atClauseInside(StringRef callee) const {
  bool isCall =
      ahead.is(Kind::LParen) && (at(Kind::kw_score) || !takesClauses(callee));
  return atClause() && !ahead.is(Kind::Equal) && !isCall &&
         !keywordNames.contains(source.getText(token.range));
}

void Parser::reportClauseInside(Name callee) {
  StringRef word = source.getText(token.range);
  problems
      .error(token.range, "expected ')' after the arguments of " +
                              quote(callee.text) + ", found " + quote(word))
      .note("clauses stand behind the brackets of attend and topk: " +
            (takesClauses(callee.text) ? callee.text : "attend") + "(…) " +
            word + " …");
}

bool Parser::parseArgument(SmallVectorImpl<ast::Argument> &arguments) {
  std::optional<Name> label;
  if (isWord(token.kind) && ahead.is(Kind::Equal)) {
    label = getName(take());
    take();
  }
  // `map=max` and `by=first` name options, some of which are keywords.
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

/// The clause that a word starts; the word after `share` selects one of two.
static std::optional<Clause::Kind> getClauseKind(Token::Kind word) {
  switch (word) {
  case Token::Kind::kw_in:
    return Clause::Kind::In;
  case Token::Kind::kw_where:
    return Clause::Kind::Where;
  case Token::Kind::kw_score:
    return Clause::Kind::Score;
  case Token::Kind::kw_scale:
    return Clause::Kind::Scale;
  case Token::Kind::kw_weight:
    return Clause::Kind::Weight;
  case Token::Kind::kw_normalize:
    return Clause::Kind::Normalize;
  case Token::Kind::kw_sink:
    return Clause::Kind::Sink;
  case Token::Kind::kw_keep:
    return Clause::Kind::Keep;
  case Token::Kind::kw_plus:
    return Clause::Kind::Plus;
  case Token::Kind::kw_count:
    return Clause::Kind::Count;
  case Token::Kind::kw_share:
    return Clause::Kind::ShareTokens;
  default:
    return std::nullopt;
  }
}

bool Parser::atClause() const { return getClauseKind(token.kind).has_value(); }

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

/// The objects that a `where` of `callee` is evaluated for.
static StringRef describeSubject(StringRef callee) {
  return callee == "topk" ? "its j is a block" : "its j is a key";
}

void Parser::reportAmbiguous(Name callee, StringRef outer) {
  constexpr size_t longest = 60;
  StringRef call = source.getText({callee.range.begin, lastEnd});
  std::string shown = call.size() <= longest && !call.contains('\n')
                          ? call.str()
                          : callee.text.str() + "(…)";
  StringRef word = source.getText(token.range);
  bool where = at(Kind::kw_where);
  auto meaning = [&](StringRef name) {
    return "in " + quote(name) +
           (where ? " " + describeSubject(name).str() : std::string()) +
           ": write ";
  };
  problems
      .error(token.range,
             quote(word) + " could belong to " +
                 (callee.text == outer
                      ? "either " + quote(outer)
                      : quote(callee.text) + " or to " + quote(outer)))
      .note(meaning(callee.text) + "(" + shown + " " + word + " …)")
      .note(meaning(outer) + "(" + shown + ") " + word + " …, or give " +
            quote(callee.text) + " a name in a statement of its own");
}

void Parser::parseClauses(Name call, SmallVectorImpl<Clause> &clauses) {
  StringRef callee = call.text;
  openCalls.push_back(callee);
  llvm::scope_exit close([&] { openCalls.pop_back(); });
  // After text that couldn't be parsed, or after an unknown function, it isn't
  // known which call owns the next clause.
  bool isKnown = checkClauseEnd(callee) && source.getText(call.range) == callee;
  while (atClause() && !problems.full()) {
    auto takes = [kind = *getClauseKind(token.kind)](StringRef name) {
      return isAllowed(name, kind);
    };
    auto outer = find_if(reverse(ArrayRef(openCalls).drop_back()), takes);
    bool outerTakes = outer != ArrayRef(openCalls).drop_back().rend();
    if (outerTakes && !takes(callee))
      return;
    if (outerTakes && isKnown)
      reportAmbiguous(call, *outer);
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
    // A clause that continues in another language's syntax isn't complete.
    bool isKept = parsed && !problem && earlier == clauses.end();
    if (!parsed)
      skipToClause();
    bool isWhole = parsed && checkClauseEnd(callee);
    isKnown &= isWhole;
    if (isWhole && isKept)
      clauses.push_back(clause);
  }
}

static ArrayRef<StringRef> getClauseNames(StringRef callee) {
  static constexpr StringRef ofTopK[] = {"keep", "plus", "count", "where",
                                         "share"};
  static constexpr StringRef ofAttend[] = {
      "in", "where", "score", "scale", "weight", "normalize", "sink"};
  return callee == "topk" ? ArrayRef(ofTopK) : ArrayRef(ofAttend);
}

bool Parser::isJoinedStatement(StringRef callee) const {
  StringRef word = source.getText(token.range);
  return at(Kind::Identifier) && ahead.is(Kind::Equal) &&
         explainClause(word).empty() &&
         nsacc::findNearest(word, getClauseNames(callee)).empty();
}

bool Parser::checkClauseEnd(StringRef callee) {
  if (!token.isAny(Kind::Identifier, Kind::Integer, Kind::Real, Kind::kw_not,
                   Kind::kw_true, Kind::kw_false, Kind::kw_first,
                   Kind::kw_last) ||
      startsStatement() || isJoinedStatement(callee))
    return true;
  if (at(Kind::kw_not) && ahead.is(Kind::kw_in)) {
    problems.error(token.range, "expected an operator, found 'not in'")
        .note("nothing is searched: compare with an element, as in 'doc[b, j] "
              "!= 0', or with bounds, as in 'not (4 <= j < 8)'");
    take();
    take();
    skipToClause();
    return false;
  }
  StringRef word = source.getText(token.range);
  Problem &problem =
      problems.error(token.range, "expected a clause of " + quote(callee) +
                                      " or an end, found " + quote(word));
  StringRef known = explainClause(word);
  if (!known.empty())
    problem.note(known);
  else if (token.isAny(Kind::kw_first, Kind::kw_last))
    problem.note("blocks are forced by clauses of topk: 'keep " + word +
                 " 1' within top, 'plus " + word + " 1' on top of it");
  else
    problem.suggest(word, getClauseNames(callee));
  if (problem.notes.empty())
    problem.note("a condition stands behind 'where', as in 'where " +
                 (callee == "topk" ? StringRef("end(j) <= i") : "j <= i") +
                 "'; insert ';' or an operator if the statement ends or goes "
                 "on here");
  skipToClause();
  return false;
}

bool Parser::parseClause(Clause &clause) {
  Token keyword = take();
  clause.keyword = keyword.range;
  clause.kind = *getClauseKind(keyword.kind);
  if (token.isAny(Kind::Equal, Kind::Colon)) {
    problems
        .error(token.range,
               "expected the value of the clause, found " + describeFound())
        .note("leave it out: a value stands right behind '" +
              source.getText(keyword.range) + "'");
    take();
  }
  if (keyword.isAny(Kind::kw_keep, Kind::kw_plus))
    return parseForced(clause);
  if (keyword.is(Kind::kw_share))
    return parseShare(clause);
  clause.value = parseExpr();
  return clause.value;
}

Expr *Parser::parseCount(const Twine &what, StringRef words) {
  if (!atClause() && !token.isAny(Kind::Semicolon, Kind::RParen, Kind::Comma,
                                  Kind::RBrace, Kind::kw_by))
    return parseExpr();
  problems.error(token.range, "expected " + what + ", found " + describeFound())
      .note("write, for example, " + quote((words + " 4").str()));
  return nullptr;
}

bool Parser::parseForced(Clause &clause) {
  SmallVector<Forced> forced;
  do {
    // The list continues only with `first` or `last`: in `a, b = topk(…) keep
    // first 1, …` the comma may end it.
    if (!token.isAny(Kind::kw_first, Kind::kw_last)) {
      problems
          .error(token.range,
                 "expected 'first' or 'last', found " + describeFound())
          .note("write, for example, 'keep first 1, last 2'");
      return false;
    }
    Token which = take();
    Expr *count = parseCount("how many blocks",
                             source.getText(join(clause.keyword, which.range)));
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
  clause.value =
      parseCount("how many share a selection", getSpelling(clause.kind));
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
