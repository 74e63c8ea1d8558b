//===- CallRows.h - Batch rows and heads that a mask tells apart -*- C++ -*-==//

#ifndef NSACC_TUNING_CALLROWS_H
#define NSACC_TUNING_CALLROWS_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// One of several, all of which it stands for.
struct Sample {
  int64_t number = 0, count = 1;
};

/// Numbers that look random, and are the same everywhere.
class Draws {
public:
  /// Below `end`.
  int64_t next(int64_t end);
  /// One of [0, all), within part `part` of `parts` about equal ones. Counts of
  /// all parts add up to `all`.
  Sample nextOf(int64_t all, int64_t part, int64_t parts);

private:
  uint64_t state = 1;
};

/// All numbers below `all`, or one of each of `most` parts.
std::vector<Sample> spread(int64_t all, int64_t most);

/// Batch rows of one size for which a mask says the same, by one of them.
struct BatchRows {
  /// Of one row, in which nothing is ragged.
  DimSizes sizes;
  int64_t number = 0, count = 1;
};

/// The query heads of a key head, which share tiles and keys.
struct HeadGroup {
  /// One, where the mask says the same for all of them.
  std::vector<Sample> heads;
  /// Key heads that it stands for.
  int64_t count = 1;
};

/// The batch rows and heads of a call that an op's mask tells apart, or some of
/// them. What is counted in each, times its count, is what all have, or an
/// estimate that is as often too high as too low.
class CallRows {
public:
  /// About `most` batch rows, and heads.
  CallRows(nsa::ScoringOpInterface op, const CallSizes &sizes, int64_t most);

  /// Of ragged rows of known lengths, the longest come first.
  std::vector<BatchRows> rows;
  std::vector<HeadGroup> groups;
  /// Whether none is left out, and the lengths of all are known; and whether
  /// groups have all of their heads.
  bool areAll = true, haveAllHeads = true;
  int64_t batch = 1, keyHeads = 1;

  /// Pairs of a batch row and a head that are looked at.
  int64_t countLooks() const;

private:
  void addRows(nsa::ScoringOpInterface op, const CallSizes &sizes,
               bool readsRow, int64_t most);
  void addAverages(const CallSizes &sizes, llvm::ArrayRef<std::string> names,
                   bool readsRow, int64_t most);
  void addListed(const CallSizes &sizes, llvm::ArrayRef<std::string> names,
                 bool readsRow, int64_t most);
  void addHeads(nsa::ScoringOpInterface op, const CallSizes &sizes,
                bool readsHead, int64_t most);
};

} // namespace nsacc::tuning

#endif // NSACC_TUNING_CALLROWS_H
