//===- TokenMutator.cpp - Mutations of programs by tokens -----------------===//

#include "TokenMutator.h"
#include <cctype>
#include <random>
#include <vector>

static constexpr std::string_view words[] = {
    "kernel",     "return",
    "in",         "where",
    "score",      "weight",
    "normalize",  "sink",
    "scale",      "keep",
    "plus",       "first",
    "last",       "share",
    "tokens",     "heads",
    "by",         "count",
    "ragged",     "and",
    "or",         "not",
    "floordiv",   "ceildiv",
    "mod",        "true",
    "false",      "inf",
    "rotary",     "f8",
    "attend",     "topk",
    "pool",       "pooled",
    "blocks",     "prob",
    "activation", "lse",
    "merge",      "indices",
    "selection",  "select",
    "min",        "max",
    "silu",       "softcap",
    "int",        "float",
    "start",      "end",
    "visible",    "sum",
    "mean",       "none",
    "identity",   "overlap",
    "zeros_left", "average",
    "drop",       "softmax",
    "i",          "j",
    "t",          "h",
    "b",          "s",
    "G",          "B",
    "T",          "S",
    "H",          "HQ",
    "D",          "DV",
    "q",          "k",
    "v",          "bf16",
    "f32",        "i32",
    "bool",       "dtype",
    "map",        "of",
    "memory",     "offset",
    "tail",       "0",
    "1",          "2",
    "64",         "0.5",
    "1e300",      "9223372036854775807",
    "->",         "==",
    "<=",         "<",
    ">",          "+",
    "-",          "*",
    "/",          "(",
    ")",          "[",
    "]",          "{",
    "}",          ",",
    ";",          ":",
    "="};

static bool isWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

/// Tokens, roughly, each with the blanks behind it.
static std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at++;
    if (isWordPart(text[begin]))
      while (at < text.size() && isWordPart(text[at]))
        ++at;
    while (at < text.size() &&
           std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
    tokens.emplace_back(text.substr(begin, at - begin));
  }
  return tokens;
}

std::string nsacc::fuzz::mutateTokens(std::string_view program, unsigned seed) {
  std::minstd_rand random(seed);
  auto below = [&](size_t limit) { return limit ? random() % limit : 0; };
  auto pickWord = [&] {
    return std::string(words[below(std::size(words))]) + " ";
  };
  std::vector<std::string> tokens = split(program);
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    size_t at = below(tokens.size() + 1), from = below(tokens.size());
    bool has = at < tokens.size();
    switch (below(6)) {
    case 0:
      tokens.insert(tokens.begin() + at, pickWord());
      break;
    case 1:
      if (has)
        tokens[at] = pickWord();
      break;
    case 2:
      if (has)
        tokens.erase(tokens.begin() + at);
      break;
    case 3:
      if (has)
        tokens[at] = tokens[from];
      break;
    case 4:
      if (has)
        std::swap(tokens[at], tokens[from]);
      break;
    case 5:
      if (has) {
        size_t length = 1 + below(std::min<size_t>(8, tokens.size() - at));
        std::vector<std::string> copy(tokens.begin() + at,
                                      tokens.begin() + at + length);
        tokens.insert(tokens.begin() + below(tokens.size() + 1), copy.begin(),
                      copy.end());
      }
      break;
    }
  }
  std::string text;
  for (const std::string &token : tokens)
    text += token;
  return text;
}
