//===- ParserExpr.cpp - Expressions ---------------------------------------===//

#include "Parser.h"
#include "Spellings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace nsacc::frontend;
using namespace nsacc::frontend::ast;

namespace {
/// From loosest to tightest.
enum Precedence : unsigned {
  PrecedenceOr = 1,
  PrecedenceAnd,
  PrecedenceNot,
  PrecedenceComparison,
  PrecedenceSum,
  PrecedenceProduct
};

struct BinaryOperator {
  Operator op;
  unsigned precedence;    ///< 0: the token isn't a binary operator
  StringRef instead = {}; ///< what to write instead of the token
};
} // namespace

static BinaryOperator getBinaryOperator(Token::Kind kind) {
  using Kind = Token::Kind;
  switch (kind) {
  case Kind::kw_or:
    return {Operator::Or, PrecedenceOr};
  case Kind::PipePipe:
  case Kind::Bar:
    return {Operator::Or, PrecedenceOr, "or"};
  case Kind::kw_and:
    return {Operator::And, PrecedenceAnd};
  case Kind::AmpAmp:
    return {Operator::And, PrecedenceAnd, "and"};
  case Kind::Less:
    return {Operator::Less, PrecedenceComparison};
  case Kind::LessEqual:
    return {Operator::LessEqual, PrecedenceComparison};
  case Kind::Greater:
    return {Operator::Greater, PrecedenceComparison};
  case Kind::GreaterEqual:
    return {Operator::GreaterEqual, PrecedenceComparison};
  case Kind::EqualLess:
    return {Operator::LessEqual, PrecedenceComparison, "<="};
  case Kind::EqualGreater:
    return {Operator::GreaterEqual, PrecedenceComparison, ">="};
  case Kind::EqualEqual:
    return {Operator::Equal, PrecedenceComparison};
  case Kind::Equal:
    return {Operator::Equal, PrecedenceComparison, "=="};
  case Kind::NotEqual:
    return {Operator::NotEqual, PrecedenceComparison};
  case Kind::Plus:
    return {Operator::Add, PrecedenceSum};
  case Kind::Minus:
    return {Operator::Subtract, PrecedenceSum};
  case Kind::Star:
    return {Operator::Multiply, PrecedenceProduct};
  case Kind::Slash:
    return {Operator::Divide, PrecedenceProduct};
  case Kind::kw_floordiv:
    return {Operator::FloorDiv, PrecedenceProduct};
  case Kind::kw_ceildiv:
    return {Operator::CeilDiv, PrecedenceProduct};
  case Kind::kw_mod:
    return {Operator::Mod, PrecedenceProduct};
  case Kind::Percent:
    return {Operator::Mod, PrecedenceProduct, "mod"};
  default:
    return {Operator::Or, 0};
  }
}

Token Parser::takeOperator(StringRef instead) {
  if (at(Kind::Equal))
    problems.error(token.range, "expected an operator, found '='")
        .note("equality is written '=='; a statement gives a value to names, "
              "each of its own");
  else if (!instead.empty())
    problems
        .error(token.range, "expected an operator, found " + describeFound())
        .note("write " + quote(instead));
  return take();
}

/// `<>` and `===` are two tokens here.
bool Parser::takeJoinedOperator(Operator &op) {
  bool isUnequal = at(Kind::Less) && ahead.is(Kind::Greater);
  bool isEqual =
      token.isAny(Kind::EqualEqual, Kind::NotEqual) && ahead.is(Kind::Equal);
  if ((!isUnequal && !isEqual) || token.range.end != ahead.range.begin)
    return false;
  op = isUnequal || at(Kind::NotEqual) ? Operator::NotEqual : Operator::Equal;
  Range whole = join(take().range, token.range);
  take();
  problems
      .error(whole,
             "expected an operator, found " + quote(source.getText(whole)))
      .note("write " + quote(getSpelling(op)));
  return true;
}

Expr *Parser::parseSum() { return parseBinary(PrecedenceSum); }

Expr *Parser::parseBinary(unsigned minPrecedence) {
  Expr *lhs = parseUnary();
  while (lhs) {
    checkComment();
    BinaryOperator found = getBinaryOperator(token.kind);
    if (found.precedence == 0 || found.precedence < minPrecedence)
      return lhs;
    if (found.precedence == PrecedenceComparison) {
      lhs = parseComparison(lhs, found.precedence);
      continue;
    }
    Token op = takeOperator(found.instead);
    Expr *rhs = parseBinary(found.precedence + 1);
    if (!rhs)
      return nullptr;
    lhs =
        nest(file.create<BinaryExpr>(found.op, op.range, lhs, rhs), {lhs, rhs});
  }
  return lhs;
}

Expr *Parser::parseComparison(Expr *first, unsigned precedence) {
  SmallVector<Operator> ops;
  SmallVector<Range> opRanges;
  SmallVector<Expr *> operands = {first};
  while (getBinaryOperator(token.kind).precedence == precedence) {
    BinaryOperator found = getBinaryOperator(token.kind);
    opRanges.push_back(token.range);
    if (!takeJoinedOperator(found.op))
      takeOperator(found.instead);
    ops.push_back(found.op);
    Expr *operand = parseBinary(precedence + 1);
    if (!operand)
      return nullptr;
    operands.push_back(operand);
  }
  if (ops.size() > maxHeight) {
    problems.error(opRanges[maxHeight], "too long a chain of comparisons")
        .note("at most " + Twine(maxHeight) +
              " are one expression, and these are " + Twine(ops.size()) +
              "; join shorter chains with 'and'");
    return nullptr;
  }
  return nest(file.create<ComparisonExpr>(file.copy(ArrayRef(ops)),
                                          file.copy(ArrayRef(opRanges)),
                                          file.copy(ArrayRef(operands))),
              operands);
}

Expr *Parser::parseUnary() {
  if (depth == maxHeight) {
    problems.error(token.range, "nested too deeply")
        .note(
            "expressions nest at most " + Twine(maxHeight) +
            " levels; give a part of it a name in a statement of its own, or, "
            "of what depends on s, i or j, use fewer brackets");
    return nullptr;
  }
  ++depth;
  llvm::scope_exit leave([&] { --depth; });

  bool wrongNot = token.isAny(Kind::Bang, Kind::Tilde);
  if (at(Kind::kw_not) || wrongNot) {
    if (wrongNot)
      problems
          .error(token.range,
                 "expected an expression, found " + describeFound())
          .note("write 'not'");
    Token op = take();
    Expr *operand = parseBinary(PrecedenceNot);
    return operand
               ? nest(file.create<UnaryExpr>(Operator::Not, op.range, operand),
                      {operand})
               : nullptr;
  }
  if (at(Kind::Minus)) {
    Token op = take();
    Expr *operand = parseUnary();
    return operand ? nest(file.create<UnaryExpr>(Operator::Negate, op.range,
                                                 operand),
                          {operand})
                   : nullptr;
  }
  return parsePostfix();
}

Expr *Parser::parsePostfix() {
  Expr *expr = parsePrimary();
  while (expr && at(Kind::LBracket))
    expr = parseIndex(expr);
  if (!expr)
    return nullptr;
  if (StringRef known = explainOperator(token.kind); !known.empty()) {
    StringRef member = at(Kind::Dot) && isWord(ahead.kind)
                           ? explainMember(source.getText(ahead.range))
                           : StringRef();
    problems
        .error(token.range, "expected an operator, found " + describeFound())
        .note(member.empty() ? known : member);
    return nullptr;
  }
  if (at(Kind::LBrace) && isa<NameExpr>(expr) && !onNewLine()) {
    problems.error(token.range, "expected an operator or an end, found '{'")
        .note("arguments stand in round brackets: " +
              cast<NameExpr>(expr)->name + "(…)");
    return nullptr;
  }
  bool isIf = at(Kind::Identifier) && source.getText(token.range) == "if";
  if (isIf && !startsStatement()) {
    problems.error(token.range, "expected an operator, found 'if'")
        .note("x if c else y is written select(c, x, y)");
    return nullptr;
  }
  return expr;
}

Expr *Parser::parseIndex(Expr *base) {
  SaveAndRestore inBrackets(openCalls, {});
  take();
  SmallVector<Expr *> indices;
  do {
    Expr *index = at(Kind::Colon) ? nullptr : parseExpr();
    if (at(Kind::Colon))
      problems.error(token.range, "expected an index, found ':'")
          .note("there are no slices: an index reads one element, and a mask "
                "says which keys are seen");
    if (!index || at(Kind::Colon))
      return nullptr;
    indices.push_back(index);
  } while (takeIf(Kind::Comma));
  if (!expect(Kind::RBracket, "after the indices"))
    return nullptr;
  SmallVector<Expr *> children = indices;
  children.push_back(base);
  return nest(file.create<IndexExpr>(base, file.copy(ArrayRef(indices)),
                                     Range{base->range.begin, lastEnd}),
              children);
}

Expr *Parser::parsePrimary() {
  bool isName = isWord(token.kind) && !ahead.is(Kind::LParen) &&
                keywordNames.contains(source.getText(token.range));
  if (isName)
    return file.create<NameExpr>(getName(take()));
  switch (token.kind) {
  case Kind::Integer:
  case Kind::Real:
  case Kind::BadNumber:
    return parseNumber();
  case Kind::kw_inf:
    return file.create<RealExpr>(take().range,
                                 std::numeric_limits<double>::infinity());
  case Kind::kw_true:
    return file.create<BoolExpr>(take().range, true);
  case Kind::kw_false:
    return file.create<BoolExpr>(take().range, false);
  case Kind::LParen:
    return parseParenthesized();
  case Kind::Bar:
    return parseBars();
  case Kind::Identifier: {
    if (reportForeignExpr())
      return nullptr;
    Name name = getName(take());
    if (at(Kind::LParen))
      return parseCall(name);
    if (reportNoBracket(name))
      return nullptr;
    return file.create<NameExpr>(name);
  }
  case Kind::kw_score:
    if (ahead.is(Kind::LParen))
      return parseCall(getName(take()));
    return reportNoExpr();
  case Kind::kw_where:
    return ahead.is(Kind::LParen) ? reportKeywordCall() : reportNoExpr();
  case Kind::kw_and:
  case Kind::kw_or:
  case Kind::kw_floordiv:
  case Kind::kw_ceildiv:
  case Kind::kw_mod:
    return ahead.is(Kind::LParen) ? reportKeywordCall() : reportNoExpr();
  default:
    return reportNoExpr();
  }
}

/// Names of functions are known later; these two aren't values.
bool Parser::reportNoBracket(Name callee) {
  bool takesClauses = callee.text == "attend" || callee.text == "topk";
  if (!takesClauses || !at(Kind::Identifier) || startsStatement())
    return false;
  problems
      .error(getGap(), "expected '(' before the arguments of " +
                           quote(callee.text) + ", found " + describeFound())
      .note("write " + callee.text +
            (callee.text == "topk" ? "(p, 16)" : "(q, k, v)"));
  return true;
}

bool Parser::reportForeignExpr() {
  StringRef word = source.getText(token.range);
  bool isLambda =
      word == "lambda" && (isWord(ahead.kind) || ahead.is(Kind::Colon));
  bool isIf = word == "if" && (isWord(ahead.kind) || ahead.is(Kind::LParen));
  if (!isLambda && !isIf)
    return false;
  problems.error(token.range, "expected an expression, found " + quote(word))
      .note(isIf ? "if (c) x else y is written select(c, x, y)"
                 : explainName(word));
  return true;
}

Expr *Parser::reportKeywordCall() {
  StringRef word = source.getText(token.range);
  problems.error(token.range, quote(word) + " is a keyword and no function")
      .note(at(Kind::kw_where)
                ? explainFunction(word)
                : "it stands between its operands: a " + word.str() + " b");
  take();
  SmallVector<ast::Argument> ignored;
  parseArguments({word, token.range}, ignored);
  return nullptr;
}

Expr *Parser::reportNoExpr() {
  if (reportReserved())
    return nullptr;
  Problem &problem = problems.error(
      token.range, "expected an expression, found " + describeFound());
  bool behindComma = lastEnd > 0 && source.getText()[lastEnd - 1] == ',';
  if (atClause() && behindComma)
    problem.note({lastEnd - 1, lastEnd},
                 "clauses follow each other without a comma; remove this one");
  else if (isWord(token.kind))
    problem.note(quote(source.getText(token.range)) +
                 " is a keyword and can't name a value");
  else if (token.isAny(Kind::LBracket, Kind::LBrace))
    problem.note("there are no lists: '[' stands behind the name of a table, "
                 "'{' around the statements of a kernel");
  else
    problem.note("an expression starts with a name, a number, '(', '-' or "
                 "'not'");
  return nullptr;
}

Expr *Parser::parseNumber() {
  Token number = take();
  if (number.is(Kind::BadNumber))
    return nullptr;
  SmallString<32> digits;
  for (char c : source.getText(number.range))
    if (c != '_')
      digits.push_back(c);

  if (number.is(Kind::Integer)) {
    int64_t value;
    if (!StringRef(digits).getAsInteger(10, value))
      return file.create<IntegerExpr>(number.range, value);
    problems
        .error(number.range, "this integer is too large: " +
                                 quote(source.getText(number.range)))
        .note("the largest integer is " +
              Twine(std::numeric_limits<int64_t>::max()));
    return nullptr;
  }
  double value;
  if (!StringRef(digits).getAsDouble(value) && !std::isinf(value))
    return file.create<RealExpr>(number.range, value);
  problems
      .error(number.range,
             "this number is too large: " + quote(source.getText(number.range)))
      .note("infinity is written 'inf'");
  return nullptr;
}

Expr *Parser::parseParenthesized() {
  SaveAndRestore inBrackets(openCalls, {});
  uint32_t begin = take().range.begin;
  Expr *expr = parseExpr();
  if (expr && at(Kind::Comma)) {
    problems.error(token.range, "expected ')' to close the '(', found ','")
        .note("several values stand without brackets, as in 'return a, b;'");
    return nullptr;
  }
  if (!expr || !expect(Kind::RParen, "to close the '('"))
    return nullptr;
  expr->range = {begin, lastEnd};
  return expr;
}

/// |x|, as mathematicians write it.
Expr *Parser::parseBars() {
  Problem &problem =
      problems.error(take().range, "expected an expression, found '|'");
  uint32_t begin = token.range.begin;
  Expr *expr = parseSum();
  problem.note("write abs(" +
               (expr ? source.getText({begin, lastEnd}) : StringRef("x")) +
               ")");
  takeIf(Kind::Bar);
  return expr;
}

Expr *Parser::nest(Expr *expr, ArrayRef<Expr *> children) {
  for (Expr *child : children)
    if (child)
      expr->height = std::max(expr->height, child->height + 1);
  if (expr->height <= maxHeight)
    return expr;
  problems.error(expr->range, "nested too deeply")
      .note("an expression has at most " + Twine(maxHeight) +
            " levels of operators; split it into several statements");
  return nullptr;
}

Expr *Parser::parseWholeExpr() {
  Expr *expr = parseExpr();
  if (expr && !at(Kind::EndOfFile)) {
    problems.error(token.range, "expected the end, found " + describeFound());
    return nullptr;
  }
  return expr;
}
