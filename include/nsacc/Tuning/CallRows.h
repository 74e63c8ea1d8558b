//===- CallRows.h - Batch rows and heads that a mask tells apart -*- C++ -*-==//

#ifndef NSACC_TUNING_CALLROWS_H
#define NSACC_TUNING_CALLROWS_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// A number that was drawn, and how many numbers it stands for.
struct Sample {
  int64_t number = 0, count = 1;
};

/// Draws numbers that look random, and are the same on every machine.
class Draws {
public:
  /// Draws a number below `end`.
  int64_t next(int64_t end);
  /// Draws a number of [0, all) within part `part` of `parts` about equal
  /// parts. The counts of all parts add up to `all`.
  Sample nextOf(int64_t all, int64_t part, int64_t parts);

private:
  uint64_t state = 1;
};

/// All numbers below `all`, or one from each of `most` parts.
std::vector<Sample> spread(int64_t all, int64_t most);

/// Batch rows of one size for which a mask says the same, represented by one of
/// them.
struct BatchRows {
  /// Sizes of one row, without ragged dimensions.
  DimSizes sizes;
  int64_t number = 0, count = 1;
};

/// The query heads of a key head, which share tiles and keys.
struct HeadGroup {
  /// Only one head if the mask says the same for all of them.
  std::vector<Sample> heads;
  /// Number of key heads that the group stands for.
  int64_t count = 1;
};

/// The batch rows and heads of a call that an op's mask tells apart, or a
/// sample of them. A number that is counted in each and weighted by its count
/// adds up to the number of the whole call, or to an estimate that is as often
/// too high as too low.
class CallRows {
public:
  /// Collects about `most` batch rows, and as many heads.
  CallRows(nsa::ScoringOpInterface op, const CallSizes &sizes, int64_t most);

  /// Ragged rows of known lengths are in order, the longest first.
  std::vector<BatchRows> rows;
  std::vector<HeadGroup> groups;
  /// Whether no row is left out and all lengths are known; and whether groups
  /// have all of their heads.
  bool areAll = true, haveAllHeads = true;
  int64_t batch = 1, keyHeads = 1;

  /// Number of pairs of a batch row and a head that are examined.
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
