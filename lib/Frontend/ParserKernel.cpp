//===- ParserKernel.cpp - Files, and kernels with their headers -----------===//

#include "Parser.h"
#include "Spellings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace nsacc::frontend;
using namespace nsacc::frontend::ast;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

Token Parser::take() {
  Token taken = token;
  lastEnd = token.range.end;
  token = ahead;
  if (!ahead.is(Kind::EndOfFile))
    ahead = lexer.next();
  return taken;
}

bool Parser::takeIf(Kind kind) {
  if (!at(kind))
    return false;
  take();
  return true;
}

std::string Parser::describeFound() const {
  return at(Kind::EndOfFile) ? "the end of the file"
                             : quote(source.getText(token.range));
}

Range Parser::getGap() const {
  return onNewLine() ? Range{lastEnd, lastEnd} : token.range;
}

bool Parser::onNewLine() const {
  // Only up to the token: a line may be as long as the file.
  StringRef between = source.getText().slice(lastEnd, token.range.begin);
  return findLineEnd(between, 0) < between.size();
}

bool Parser::startsStatement() const {
  return onNewLine() && at(Kind::Identifier) &&
         ahead.isAny(Kind::Equal, Kind::Comma);
}

/// Whether a comment continues as a division would: with an integer and an
/// operator or an end, or with a name and a comparison or a closing bracket.
static bool readsAsDivisor(StringRef comment) {
  static const Regex divisor("^[ \t]*([0-9][0-9_]*[ \t]*($|[-+*/%<>=!,;)]|]|"
                             "(and|or|mod|floordiv|ceildiv)[^A-Za-z0-9_])|"
                             "[A-Za-z_][A-Za-z0-9_]*[ \t]*([<>=!]=|[<>;)]|]))");
  return divisor.match(comment);
}

/// A comment that is only a parameter's name is a divisor, too.
bool Parser::isParam(StringRef comment) const {
  return !file.kernels.empty() &&
         llvm::is_contained(llvm::map_range(file.kernels.back().params,
                                            [](const Param &param) {
                                              return param.name.text;
                                            }),
                            comment.trim());
}

void Parser::checkComment() {
  StringRef text = source.getText();
  // A line may be as long as the file, so its end is searched after // only.
  if (!text.substr(lastEnd).ltrim(" \t").starts_with("//"))
    return;
  StringRef line = text.slice(lastEnd, findLineEnd(text, lastEnd));
  if (!line.ltrim().starts_with("//"))
    return;
  StringRef comment = line.ltrim().drop_front(2);
  if (!readsAsDivisor(comment) && !isParam(comment))
    return;
  uint32_t begin = lastEnd + line.find("//");
  problems.error({begin, begin + 2}, "'//' starts a comment")
      .note("the division of integers is written 'floordiv'; if a comment is "
            "meant, put it on a line of its own");
  lexer.restart(begin + 2);
  token = {Kind::kw_floordiv, {begin, begin + 2}};
  ahead = lexer.next();
}

/// Advice on code to write while a feature is missing.
static StringRef getSubstitute(Token::Kind kind) {
  switch (kind) {
  case Token::Kind::kw_rotary:
    return "rotate q and k before the kernel";
  case Token::Kind::kw_paged:
    return "a page table is a selection of blocks: attend(q, k, v) in "
           "selection(table, page), as in examples/paged_decode.nsa";
  case Token::Kind::kw_tree:
    return "pool the keys once, with pool(k, len, stride)";
  case Token::Kind::kw_f8:
    return "element types are bf16, f16, f32, i32, i64 and bool";
  case Token::Kind::kw_gradient:
    return "programs compute forwards only";
  default:
    return "choose another name";
  }
}

bool Parser::reportReserved() {
  switch (token.kind) {
#define RESERVED(NAME) case Kind::kw_##NAME:
#include "Tokens.def"
    problems
        .error(token.range,
               quote(source.getText(token.range)) + " isn't supported yet")
        .note(getSubstitute(token.kind));
    return true;
  default:
    return false;
  }
}

bool Parser::expect(Kind kind, const Twine &where) {
  if (takeIf(kind))
    return true;
  // In either case there is an error already.
  if (at(Kind::BadNumber) || reportReserved())
    return false;
  Problem &problem =
      problems.error(getGap(), "expected " + describe(kind) + " " + where +
                                   ", found " + describeFound());
  if (kind == Kind::Arrow && token.isAny(Kind::EqualGreater, Kind::Colon))
    problem.note("write '->'");
  else if (kind == Kind::Colon && at(Kind::RParen))
    problem.note("inputs have types, each its own or several one: q: [B, T, "
                 "HQ, D], k, v: [B, S, H, D]");
  else if (kind == Kind::LBrace && at(Kind::Colon))
    problem.note("statements stand between '{' and '}'");
  else if (kind == Kind::RBracket && (isWord(token.kind) || at(Kind::Integer)))
    problem.note({lastEnd, lastEnd},
                 "insert ',' between two, or an operator here");
  else if (kind == Kind::RParen || kind == Kind::RBracket)
    problem.note({lastEnd, lastEnd},
                 "insert " + describe(kind) + " or an operator here");
  else
    problem.note({lastEnd, lastEnd}, "insert " + describe(kind) + " here");
  return false;
}

bool Parser::atKeywordAsName() const {
  return isWord(token.kind) && !at(Kind::Identifier) &&
         ahead.isAny(Kind::Equal, Kind::Comma, Kind::Colon, Kind::LParen,
                     Kind::Less, Kind::Greater, Kind::RParen, Kind::RBracket,
                     Kind::PlusEqual, Kind::MinusEqual, Kind::StarEqual,
                     Kind::SlashEqual);
}

Name Parser::takeNewName() {
  Name name = getName(token.range);
  if (!at(Kind::Identifier) && keywordNames.insert(name.text).second)
    problems
        .error(name.range,
               quote(name.text) + " is a keyword and can't be a name")
        .note("choose another name, such as '" +
              source.findFreeName(name.text) + "'");
  knownNames.insert(name.text);
  take();
  return name;
}

bool Parser::expectName(Name &name, const Twine &what) {
  if (at(Kind::Identifier) || atKeywordAsName()) {
    name = takeNewName();
    return true;
  }
  if (at(Kind::BadNumber))
    return false;
  Problem &problem = problems.error(
      token.range, "expected " + what + ", found " + describeFound());
  if (atClause())
    problem.note({lastEnd, lastEnd},
                 "clauses stand behind the attend or topk that they belong to, "
                 "in front of its ';'");
  else if (isWord(token.kind))
    problem.note(quote(source.getText(token.range)) +
                 " is a keyword and can't be a name");
  else
    problem.note("names are letters, digits and '_', not starting with a "
                 "digit");
  return false;
}

//===----------------------------------------------------------------------===//
// Files and kernels
//===----------------------------------------------------------------------===//

void Parser::parseFile() {
  while (!at(Kind::EndOfFile) && !problems.full()) {
    if (at(Kind::kw_kernel)) {
      parseKernel();
      continue;
    }
    if (at(Kind::BadNumber)) {
      skipToKernel();
      continue;
    }
    Problem &problem = problems.error(token.range, "expected 'kernel', found " +
                                                       describeFound());
    StringRef word = source.getText(token.range);
    StringRef known =
        at(Kind::RBrace) ? "it closes nothing: remove it" : explainImport(word);
    problem.suggest(word, {"kernel"});
    problem.note(known.empty() ? "a program is a list of kernels: kernel "
                                 "name(q: [B, T, H, D]) -> [B, T, H, D] { … }"
                               : known);
    skipToKernel();
  }
  if (file.kernels.empty() && !problems.hasErrors())
    problems.error({0, 0}, "expected a kernel, found nothing")
        .note("the smallest program is: kernel copy(x: [N]) -> [N] { return "
              "x; }");
}

/// Whether a line begins a kernel, after characters that may close the one
/// before it.
static bool startsKernel(StringRef line) {
  line = line.ltrim(" \t};");
  return line.consume_front("kernel") &&
         (line.empty() || line.front() == ' ' || line.front() == '\t');
}

void Parser::skipToKernel() {
  // A file that isn't a program may have strings and comments of another
  // language. It is searched line by line, and not lexed.
  StringRef text = source.getText();
  size_t from = token.range.begin;
  while (from < text.size()) {
    size_t end = findLineEnd(text, from);
    if (startsKernel(text.slice(from, end))) {
      lexer.restart(text.find("kernel", from));
      break;
    }
    from = end + 1;
  }
  if (from >= text.size())
    lexer.restart(text.size());
  token = lexer.next();
  ahead = lexer.next();
}

void Parser::parseKernel() {
  take();
  knownNames.clear();
  keywordNames.clear();
  Kernel &kernel = file.kernels.emplace_back();
  kernel.broken = !parseHeader(kernel);
  if (kernel.broken)
    while (!token.isAny(Kind::LBrace, Kind::kw_kernel, Kind::EndOfFile))
      take();
  if (at(Kind::LBrace))
    parseBody(kernel);
}

bool Parser::parseHeader(Kernel &kernel) {
  if (!expectName(kernel.name, "the kernel's name"))
    return false;
  if (at(Kind::Less) && !parseParams(kernel))
    return false;
  if (at(Kind::LBracket)) {
    problems
        .error(token.range,
               "expected '(' before the kernel's inputs, found '['")
        .note("parameters stand in angle brackets: kernel " + kernel.name.text +
              "<w = 4>(…)");
    return false;
  }
  if (!expect(Kind::LParen, "before the kernel's inputs") ||
      !parseInputs(kernel) || !checkInputEnd(kernel) ||
      !expect(Kind::RParen, "after the kernel's inputs") ||
      !expect(Kind::Arrow, "before the kernel's results") ||
      !parseResults(kernel))
    return false;
  if (at(Kind::LBrace))
    return true;
  return expect(Kind::LBrace, "before the kernel's statements");
}

bool Parser::checkInputEnd(const Kernel &kernel) {
  if (token.isAny(Kind::RParen, Kind::BadNumber))
    return true;
  Problem &problem =
      problems.error(token.range, "expected ')' after the kernel's inputs, "
                                  "found " +
                                      describeFound());
  if (at(Kind::Equal))
    problem.note("inputs have no defaults; parameters have: kernel " +
                 kernel.name.text + "<w = 4>(…)");
  else if (at(Kind::Colon) || (at(Kind::Identifier) && !ahead.is(Kind::Colon) &&
                               !ahead.is(Kind::Comma)))
    problem.note("the type of elements stands in front of the dimensions, as "
                 "in f32[B, T]");
  else if (isWord(token.kind))
    problem.note({lastEnd, lastEnd},
                 "insert ',' here: inputs have commas between them");
  else if (at(Kind::Dot))
    problem.note("element types have no module in front, as in f32[B, T]");
  else
    problem.note({lastEnd, lastEnd}, "insert ')' here");
  return false;
}

bool Parser::parseParams(Kernel &kernel) {
  take();
  while (!at(Kind::Greater)) {
    if (!parseParam(kernel))
      return false;
    if (!takeIf(Kind::Comma))
      break;
  }
  return expect(Kind::Greater, "after the kernel's parameters");
}

bool Parser::parseParam(Kernel &kernel) {
  Param param{};
  if (!expectName(param.name, "a parameter's name"))
    return false;
  if (at(Kind::Identifier)) {
    problems
        .error(token.range, "expected ':' or '=' after the parameter " +
                                quote(param.name.text) + ", found " +
                                describeFound())
        .note("a parameter's type stands behind its name, as in <w: int = 4>");
    return false;
  }
  if (takeIf(Kind::Colon)) {
    Name type;
    if (!expectName(type, "int, real, bool or dtype"))
      return false;
    param.type = type;
  }
  if (takeIf(Kind::Equal)) {
    param.defaultValue = parseSum();
    if (!param.defaultValue)
      return false;
  }
  kernel.params.push_back(param);
  return true;
}

bool Parser::parseInputs(Kernel &kernel) {
  while (!at(Kind::RParen)) {
    if (!parseInputGroup(kernel))
      return false;
    if (!takeIf(Kind::Comma))
      break;
  }
  return true;
}

static bool isElementType(StringRef name) {
  return is_contained({"bf16", "f16", "f32", "i32", "i64", "bool"}, name) ||
         !explainType(name).empty();
}

bool Parser::parseInputGroup(Kernel &kernel) {
  SmallVector<Name> names;
  do {
    if (!expectName(names.emplace_back(), "an input's name"))
      return false;
  } while (takeIf(Kind::Comma));
  if (at(Kind::Equal)) {
    problems
        .error(token.range, "expected ':' after the names of inputs, found '='")
        .note("inputs have no defaults; parameters have, in angle brackets: "
              "kernel " +
              kernel.name.text + "<" + names.back().text + " = …>(…)");
    return false;
  }
  if (at(Kind::LBracket) && isElementType(names.back().text)) {
    problems
        .error(token.range, "expected ':' after the names of inputs, found '['")
        .note("a name and ':' stand in front of a type, as in q: " +
              names.back().text + "[B, T, H, D]");
    return false;
  }
  if (!expect(Kind::Colon, "after the names of inputs"))
    return false;
  auto *type = file.create<ast::Type>();
  if (!parseType(*type))
    return false;
  for (const Name &name : names)
    kernel.inputs.push_back({name, type});
  return true;
}

bool Parser::parseResults(Kernel &kernel) {
  if (!takeIf(Kind::LParen))
    return parseResult(kernel);
  while (!at(Kind::RParen)) {
    if (!parseResult(kernel))
      return false;
    if (!takeIf(Kind::Comma))
      break;
  }
  if (!expect(Kind::RParen, "after the kernel's results"))
    return false;
  // Each result takes separate code.
  constexpr size_t most = 256;
  size_t found = kernel.results.size();
  if (found > most) {
    problems
        .error(kernel.results[most].type.range,
               "kernel " + quote(kernel.name.text) + " has " + Twine(found) +
                   " results, more than " + Twine(most))
        .note("split it into several kernels");
    return false;
  }
  if (found > 0)
    return true;
  problems.error({lastEnd - 1, lastEnd}, "expected a result, found none")
      .note("a kernel has at least one result: -> ([B, T, H, D])");
  return false;
}

bool Parser::parseResult(Kernel &kernel) {
  Result result{};
  if (isWord(token.kind) && ahead.is(Kind::Colon)) {
    result.name = takeNewName();
    take();
  }
  if (!parseType(result.type))
    return false;
  kernel.results.push_back(result);
  return true;
}

bool Parser::parseType(ast::Type &type) {
  uint32_t begin = token.range.begin;
  // A future element type is reported along with unknown ones.
  if (token.isAny(Kind::Identifier, Kind::kw_f8))
    type.dtype = getName(take());
  SmallVector<Dim> dims;
  if (at(Kind::LBracket)) {
    take();
    while (!at(Kind::RBracket)) {
      if (!parseDim(dims))
        return false;
      if (!takeIf(Kind::Comma))
        break;
    }
    if (!expect(Kind::RBracket, "after the dimensions"))
      return false;
  } else if (type.dtype && token.isAny(Kind::Less, Kind::LParen)) {
    problems
        .error(token.range,
               "expected '[' before the dimensions, found " + describeFound())
        .note("dimensions stand in square brackets: " + type.dtype->text +
              "[B, T, H, D]");
    return false;
  } else if (!type.dtype) {
    if (at(Kind::BadNumber) || reportReserved())
      return false;
    problems.error(token.range, "expected a type, found " + describeFound())
        .note("types look like bf16[B, T, H, D], [B, T] (the program's storage "
              "type) or f32 (one number)");
    return false;
  }
  type.dims = file.copy(ArrayRef(dims));
  type.range = {begin, lastEnd};
  return true;
}

bool Parser::parseDim(SmallVectorImpl<Dim> &dims) {
  uint32_t begin = token.range.begin;
  bool ragged = false, heads = false;
  while (token.isAny(Kind::kw_ragged, Kind::kw_heads) && !atKeywordAsName())
    (take().is(Kind::kw_ragged) ? ragged : heads) = true;
  if (token.isAny(Kind::Dot, Kind::Question, Kind::Star, Kind::Colon)) {
    problems
        .error(token.range, "expected a dimension, found " + describeFound())
        .note("each dimension has a name or a number, as in [B, T, H, D]; a "
              "name stands for any size");
    return false;
  }
  Expr *size =
      atKeywordAsName() ? file.create<NameExpr>(takeNewName()) : parseSum();
  if (!size)
    return false;
  if (ragged && heads) {
    problems
        .error({begin, size->range.end},
               "a dimension is 'ragged' or 'heads', found both")
        .note("tokens are ragged: [heads H, ragged T, D]");
    return false;
  }
  dims.push_back({{begin, size->range.end}, ragged, heads, size});
  return true;
}
