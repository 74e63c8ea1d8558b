//===- Case.h - A program with sizes, a schedule and inputs -----*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_CASE_H
#define NSACC_TEST_DIFFERENTIAL_CASE_H

#include "nsacc/Tensor/Signature.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace nsacc::differential {

/// Values of inputs of reals.
enum class Values {
  Normal,
  Equal,    ///< all equal
  Few,      ///< -1, 0 and 1: many ties
  Large,    ///< 30 times standard normal
  NaN,      ///< some NaN
  Infinite, ///< some infinities
  Mixed,    ///< some NaN, infinities and zeros of both signs
  Ones,     ///< values of attentions are 1, scores up to 1e30
  Ties      ///< same as Ones, and all scores are equal
};

/// Memory layout of tensors.
enum class Layout {
  Plain,
  Padded,     ///< rows end in padding elements
  Misaligned, ///< begins one element after an aligned address
  Transposed, ///< the first dimension varies fastest
  Spread,     ///< every other element of the last dimension
  Reversed    ///< negative strides
};

/// One run of a compiled program.
struct Run {
  std::map<std::string, int64_t> sizes;
  /// Lengths of the rows of ragged dimensions.
  std::map<std::string, std::vector<int64_t>> rows;
  uint64_t seed = 0;
  Values values = Values::Normal;
  Layout layout = Layout::Plain;
};

struct Schedule {
  std::string order = "query_major";
  int64_t tokens = 0, keys = 0, splits = 1;
  /// Method of top-ks.
  std::string method = "sort";
  /// "own": a separate program for all ops that may have one; empty: the
  /// compiler's choice.
  std::string program = {};
};

struct Case {
  std::string program;
  /// Storage type.
  std::string dtype = "f32";
  /// Sizes that are known at compile time.
  std::map<std::string, int64_t> sizes;
  std::optional<Schedule> schedule;
  /// Values of compile-time parameters.
  std::map<std::string, std::string> params;
  /// Lowest and highest element of integer inputs.
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
  /// Results that are averages: 1 if values are 1, and 0 in rows that see
  /// nothing.
  std::vector<std::string> averages;
  std::vector<Run> runs;
};

/// The program after comments with the other fields, which parseCase reads:
///
///   // CASE: dtype=f32 D=8 DV=8 H=2 HQ=4
///   // SET: block=16
///   // SCHEDULE: order=union tokens=4 keys=16 splits=1
///   // RANGE: doc=0..3
///   // AVERAGES: r0
///   // AT: B=1 S=7 T=5 seed=3 values=nan layout=padded
///   // AT: T=[0,3,1] seed=4 values=normal layout=plain
std::string print(const Case &testCase);
llvm::Expected<Case> parseCase(llvm::StringRef text);

/// The sizes of all dimensions in a run.
DimSizes getSizes(const Case &testCase, const Run &run);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_CASE_H
