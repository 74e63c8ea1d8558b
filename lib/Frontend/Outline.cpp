//===- Outline.cpp - The names of a program and of the language -----------===//

#include "nsacc/Frontend/Outline.h"
#include "Lexer.h"
#include "Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace nsacc::frontend;
using llvm::StringRef;

namespace {

/// The names of one kernel.
class KernelNames {
public:
  KernelNames(const Source &source, const ast::Kernel &kernel, size_t end)
      : source(source), kernel(kernel), begin(kernel.name.range.begin),
        end(end) {}

  std::vector<Definition> list();

private:
  void add(const ast::Name &name, const llvm::Twine &text);
  void addDims(const ast::Input &input);

  const Source &source;
  const ast::Kernel &kernel;
  size_t begin, end;
  llvm::StringSet<> dims;
  std::vector<Definition> found;
};

} // namespace

void KernelNames::add(const ast::Name &name, const llvm::Twine &text) {
  if (!name.text.empty())
    found.push_back({name.text.str(), text.str(), name.range.begin,
                     name.range.end, begin, end});
}

/// A dimension is defined by the first input that has it.
void KernelNames::addDims(const ast::Input &input) {
  for (const ast::Dim &dim : input.type->dims)
    if (StringRef name = dim.getName();
        !name.empty() && dims.insert(name).second)
      add({name, dim.size->range},
          name + ": a dimension of '" + input.name.text + "'");
}

std::vector<Definition> KernelNames::list() {
  for (const ast::Param &param : kernel.params)
    add(param.name,
        param.defaultValue
            ? param.name.text + " = " +
                  source.getText(param.defaultValue->range)
            : param.name.text + ", a parameter that has to be given");
  // A parameter in a type isn't a dimension.
  for (const Definition &param : found)
    dims.insert(param.name);
  for (const ast::Input &input : kernel.inputs) {
    if (!input.type)
      continue;
    add(input.name, input.name.text + ": " + source.getText(input.type->range));
    addDims(input);
  }
  for (const ast::Statement &statement : kernel.body)
    for (const ast::Name &name : statement.names)
      add(name, source.getText(statement.range));
  llvm::sort(found, [](const Definition &lhs, const Definition &rhs) {
    return lhs.begin < rhs.begin;
  });
  return std::move(found);
}

std::vector<Definition> nsacc::frontend::listDefinitions(StringRef text) {
  Source source(llvm::MemoryBufferRef(text, ""));
  Problems problems;
  std::vector<Definition> all;
  if (!checkText(source, problems))
    return all;
  ast::File file;
  Parser(source, problems, file).parseFile();
  for (auto [index, kernel] : llvm::enumerate(file.kernels)) {
    size_t end = index + 1 < file.kernels.size()
                     ? file.kernels[index + 1].name.range.begin
                     : text.size();
    llvm::append_range(all, KernelNames(source, kernel, end).list());
  }
  return all;
}

std::vector<std::pair<size_t, size_t>>
nsacc::frontend::listUses(StringRef text, const Definition &definition) {
  Source source(llvm::MemoryBufferRef(text, ""));
  Problems problems;
  std::vector<std::pair<size_t, size_t>> uses;
  Lexer lexer(source, problems);
  int64_t depth = 0;
  Token token = lexer.next();
  while (!token.is(Token::Kind::EndOfFile)) {
    Token next = lexer.next();
    depth += token.is(Token::Kind::LParen) - token.is(Token::Kind::RParen);
    // In brackets, 'top=' names an argument.
    bool isLabel = depth > 0 && next.is(Token::Kind::Equal);
    if (token.is(Token::Kind::Identifier) && !isLabel &&
        source.getText(token.range) == definition.name &&
        token.range.begin >= definition.kernelBegin &&
        token.range.end <= definition.kernelEnd)
      uses.emplace_back(token.range.begin, token.range.end);
    token = next;
  }
  return uses;
}

llvm::ArrayRef<Word> nsacc::frontend::getWords() {
  static constexpr Word words[] = {
      {"attend", "attend(q, k, v) [in selection] [where mask] [score …] …",
       "attention of queries over keys and values"},
      {"pool", "pool(x, len[, stride][, tail=…][, by=…])",
       "pooled keys or values, one for each window of tokens"},
      {"pooled", "pooled(x, len, stride[, offset=0][, memory=0][, of=S])",
       "an input that is declared to hold pooled keys"},
      {"lse", "lse(a)", "natural log-sum-exp of a softmax attention"},
      {"prob", "prob(a[, heads=…])",
       "importance of each key: its part of the softmax"},
      {"score", "score(a[, heads=…]), or the clause score s + …",
       "importance of each key by its score; as a clause, what becomes of the "
       "scaled score s of a pair"},
      {"activation", "activation(a[, heads=…])",
       "importance of each key by its weight"},
      {"blocks", "blocks(p, block[, map=…])",
       "importance of blocks of tokens, from that of keys"},
      {"topk", "topk(p, top) [plus n] [keep first n, last m] [share …]",
       "the blocks of the greatest importance, exactly"},
      {"selection", "selection(idx, block[, tokens=n][, of=S][, count=c])",
       "blocks that the caller chose, by their indices"},
      {"union", "union(a, b, …)", "blocks that any of several selections has"},
      {"indices", "indices(sel)",
       "a selection's blocks: ascending, padded by -1"},
      {"merge", "merge(a, b, …)",
       "one softmax over the keys of several attentions"},
      {"where", "where j <= i",
       "the keys that a query sees: i and j are positions"},
      {"weight", "weight silu(s)", "the weight of a pair, in place of softmax"},
      {"normalize", "normalize sum",
       "by what a row's sum is divided, where the weight isn't softmax"},
      {"sink", "sink x[h]", "a score that takes part in the softmax alone"},
      {"scale", "scale 0.125", "the factor of q · k; D^-0.5 without it"},
      {"in", "in sel", "the selection whose blocks an attention looks at"},
      {"keep", "keep first n, last m",
       "blocks that count as chosen within top"},
      {"plus", "plus first n, last m", "blocks that are chosen beside top"},
      {"count", "count c", "how many blocks each row of a selection has"},
      {"share", "share tokens n, or share heads n [by mean]",
       "queries that have one selection together"},
      {"kernel", "kernel name<param = value>(input: type, …) -> type { … }",
       "a program: parameters, inputs, results and statements"},
      {"return", "return x, …", "the results, in the order of their types"},
      {"heads", "heads H, in a type",
       "a dimension of heads that stands in front of the tokens"},
      {"ragged", "ragged T, in a type",
       "tokens of rows of different lengths, packed"},
      {"floordiv", "a floordiv b", "a quotient of integers, rounded down"},
      {"ceildiv", "a ceildiv b", "a quotient of integers, rounded up"},
      {"mod", "a mod b", "a - a floordiv b * b"},
      {"inf", "inf", "infinity"},
      {"i", "i",
       "in clauses: the query's position among the keys, t + S - T; the "
       "queries are the last ones"},
      {"t", "t", "in clauses: the query's row in its tensor, from 0"},
      {"j", "j",
       "in clauses of pairs: the position of a key, or the number of a pooled "
       "one or of a block"},
      {"h", "h",
       "in clauses: the query head; in those of topk the head of the "
       "selection"},
      {"b", "b", "in clauses: the row of the batch"},
      {"s", "s", "in 'score' and 'weight': the scaled score of a pair"},
      {"start", "start(j)", "the first token of a key or a block"},
      {"end", "end(j)", "the token behind the last one of a key or a block"},
      {"visible", "visible", "in 'normalize': how many keys the row sees"},
      {"sum", "sum", "in 'normalize': the sum of the row's weights"},
      {"G", "G", "in clauses of attend: query heads of each key head"},
      {"exp", "exp(x)", "e to the power of x"},
      {"exp2", "exp2(x)", "2 to the power of x"},
      {"log", "log(x)", "natural logarithm"},
      {"log2", "log2(x)", "logarithm to the base 2"},
      {"sqrt", "sqrt(x)", "square root"},
      {"tanh", "tanh(x)", "hyperbolic tangent"},
      {"sin", "sin(x)", "sine, of radians"},
      {"cos", "cos(x)", "cosine, of radians"},
      {"erf", "erf(x)", "error function"},
      {"abs", "abs(x)", "absolute value; integers stay integers"},
      {"sigmoid", "sigmoid(x)", "1 / (1 + exp(-x))"},
      {"silu", "silu(x)", "x * sigmoid(x)"},
      {"relu", "relu(x)", "max(x, 0)"},
      {"gelu", "gelu(x)", "x / 2 * (1 + erf(x / sqrt(2)))"},
      {"softcap", "softcap(s, c)", "c * tanh(s / c)"},
      {"pow", "pow(a, b)", "a to the power of b, reals"},
      {"min", "min(a, b, …)", "the least; integers stay integers"},
      {"max", "max(a, b, …)", "the greatest; integers stay integers"},
      {"floor", "floor(x)", "a real rounded down, as a real"},
      {"select", "select(c, a, b)", "a where the condition c holds, else b"},
      {"float", "float(x)", "an integer as a real"},
      {"int", "int(x)", "a real without its fraction, as an integer"}};
  return words;
}

llvm::ArrayRef<llvm::StringLiteral> nsacc::frontend::getKeywords() {
  static constexpr llvm::StringLiteral keywords[] = {
#define KEYWORD(NAME) #NAME,
#define RESERVED(NAME)
#include "Tokens.def"
  };
  return keywords;
}
