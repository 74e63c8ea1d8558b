//===- RandomProgram.h - The parts of a random program ----------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_RANDOMPROGRAM_H
#define NSACC_TEST_DIFFERENTIAL_RANDOMPROGRAM_H

#include "ProgramText.h"
#include "Runs.h"

namespace nsacc::differential {

struct Attention {
  Text name;
  KeyText keys;
  bool softmax = true, hasValues = true;
  /// Whether its output is an average of values, with weights above 0.
  bool averages = false;
};

struct Selection {
  Text name, rows, heads;
  int64_t width = 0, block = 0;
  int64_t tokens = 0; ///< number that share a list; 0: each query has one
};

/// Makes one program: its sizes and runs (Generator.cpp), attentions
/// (Attentions.cpp), selections (Selections.cpp) and results (Results.cpp).
class RandomProgram {
public:
  explicit RandomProgram(Choices &choices) : c(choices), program(choices) {}

  Case run();

private:
  void chooseSizes();
  void chooseSchedule();
  void declareInputs();

  KeyText getTokens();
  Text getQuery(KeyText &keys);
  KeyText makePooled();
  Text makePool(const Text &input, const Text &clauses);
  Attention makeAttention(const KeyText &keys, const Text &selection,
                          bool hasValues);
  Attention makeBranch();
  Attention getGist();
  Selection makeSelection();
  /// Properties that a selection from an input must share with another.
  struct Alike {
    int64_t block;
    Text heads;
    int64_t tokens; ///< divides the other's tokens, or 0
  };
  Selection makeHandedIn(const std::optional<Alike> &alike = std::nullopt);
  /// Makes inputs with lists of different lengths, and their dimension of rows.
  void makePackedLists(Selection &selection, const Text &index,
                       const Text &type);
  Selection makeUnion(const Selection &first);
  Text makeBlocks(const Attention &gist, const Text &heads, int64_t &block);
  Text makeTopKClauses(Selection &selection, int64_t top);
  int64_t getNumHeads(const Text &name) { return result.sizes.at(name); }

  void combine();
  void reuseResult(const Text &type);
  void addImportance(const Attention &gist);
  void addImportances();
  Text getGate(size_t index);
  void addMoreResults();

  Choices &c;
  ProgramText program;
  Case result;
  std::vector<Attention> branches;
  std::vector<Selection> selections;
  std::vector<Attention> gists;
  std::vector<DerivedSize> derived;
};

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_RANDOMPROGRAM_H
