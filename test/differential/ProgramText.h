//===- ProgramText.h - A random program under way ---------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_PROGRAMTEXT_H
#define NSACC_TEST_DIFFERENTIAL_PROGRAMTEXT_H

#include "Case.h"
#include "Choices.h"

namespace nsacc::differential {

using Text = std::string;

inline Text number(int64_t value) { return std::to_string(value); }

/// Names of dimensions, and the text written so far.
struct ProgramText {
  explicit ProgramText(Choices &choices) : choices(choices) {}

  Choices &choices;
  bool ragged = false;
  /// "B, T" or "ragged T"; "B, S", "ragged S" or "ragged T".
  std::string queryRows, keyRows;
  /// The names of the token dimensions.
  std::string queryTokens = "T", keyTokens = "S";
  std::string queryHeads = "HQ", keyHeads = "H";
  /// Whether keys and values are computed: then no input of keys has the
  /// dimension of blocks.
  bool computesKeys = false;
  std::string getOf() const {
    return computesKeys ? ", of=" + keyTokens : std::string();
  }
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;

  /// Declares an input unless it is declared; returns `name`.
  std::string addInput(const std::string &name, const std::string &type);
  /// Declares an input of integers from `low` to `high`.
  std::string addIntegers(const std::string &name, const std::string &type,
                          int64_t low, int64_t high);
  /// Binds a new name to a value.
  std::string bind(const std::string &expression);
  void addResult(const std::string &value, const std::string &type);
  /// `value`, or a value computed from it, if an input may be replaced: each of
  /// `forms` has '_' for it.
  std::string maybeCompute(const std::string &value, uint32_t percent,
                           std::initializer_list<const char *> forms);

  std::string getText() const;

  std::vector<std::pair<std::string, std::string>> inputs, results;
  std::vector<std::string> statements;
  /// The results that are averages of values alone; for values of 1 they are 1.
  std::vector<std::string> averages;
};

/// The keys of an attention, for its clauses.
struct KeyText {
  std::string keys, values;
  bool pooled = false;
  /// Whether they are an input: then they can't be blocks.
  bool declared = false;
  /// Whether values are averages of inputs.
  bool averages = true;
  int64_t len = 1, stride = 1;
};

/// Clauses of an attention (Clauses.cpp). Each begins with a space, or is
/// empty.
std::string makeMask(ProgramText &program, const KeyText &keys);
std::string makeScore(ProgramText &program, const KeyText &keys);
std::string makeScale(ProgramText &program);
std::string makeSink(ProgramText &program);
std::string makeWeight(ProgramText &program, const KeyText &keys);

/// A constant from 2^31 to 2^63.
std::string makeGreatInteger(Choices &choices);
/// A mask whose integers exceed 64 bits (Wrapping.cpp).
std::string makeWrappingMask(ProgramText &program, const KeyText &keys);

/// Scalar expressions over positions (Scalars.cpp).
std::string makeBool(ProgramText &program, const KeyText &keys, int depth);
std::string makeInteger(ProgramText &program, const KeyText &keys, int depth);
/// An expression that may use `score`, too.
std::string makeReal(ProgramText &program, const KeyText &keys, int depth,
                     const std::string &score);

/// Results of arithmetic on tensors without attention (Maps.cpp).
void addMaps(ProgramText &program);

/// Moves heads before tokens, in some of the programs (HeadsFirst.cpp).
void putHeadsFirst(ProgramText &program);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_PROGRAMTEXT_H
