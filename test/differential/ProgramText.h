//===- ProgramText.h - A random program under way ---------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_PROGRAMTEXT_H
#define NSACC_TEST_DIFFERENTIAL_PROGRAMTEXT_H

#include "Case.h"
#include "Choices.h"

namespace nsacc::differential {

using Text = std::string;

inline Text number(int64_t value) { return std::to_string(value); }

/// Names of dimensions and what has been written so far.
struct ProgramText {
  explicit ProgramText(Choices &choices) : choices(choices) {}

  Choices &choices;
  bool ragged = false;
  /// "B, T" or "ragged T"; "B, S", "ragged S" or "ragged T".
  std::string queryRows, keyRows;
  /// The names of the token dimensions.
  std::string queryTokens = "T", keyTokens = "S";
  std::string queryHeads = "HQ", keyHeads = "H";
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;

  /// Declares an input unless it is declared; returns `name`.
  std::string addInput(const std::string &name, const std::string &type);
  /// The same for integers from `low` to `high`.
  std::string addIntegers(const std::string &name, const std::string &type,
                          int64_t low, int64_t high);
  /// Binds a new name to a value.
  std::string bind(const std::string &expression);
  void addResult(const std::string &value, const std::string &type);

  std::string getText() const;

  std::vector<std::pair<std::string, std::string>> inputs, results;
  std::vector<std::string> statements;
};

/// What an attention is to, for its clauses.
struct KeyText {
  std::string keys, values;
  bool pooled = false;
  /// Handed in: they can't be blocks.
  bool declared = false;
  int64_t len = 1, stride = 1;
};

/// Clauses of an attention (Clauses.cpp). Each begins with a blank, or is
/// empty.
std::string makeMask(ProgramText &program, const KeyText &keys);
std::string makeScore(ProgramText &program, const KeyText &keys);
std::string makeScale(ProgramText &program);
std::string makeSink(ProgramText &program);
std::string makeWeight(ProgramText &program, const KeyText &keys);

/// Scalar expressions over positions (Scalars.cpp).
std::string makeBool(ProgramText &program, const KeyText &keys, int depth);
std::string makeInteger(ProgramText &program, const KeyText &keys, int depth);
/// Over `score`, too.
std::string makeReal(ProgramText &program, const KeyText &keys, int depth,
                     const std::string &score);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_PROGRAMTEXT_H
