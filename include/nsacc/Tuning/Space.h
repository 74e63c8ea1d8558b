//===- Space.h - Schedules that may be faster -------------------*- C++ -*-===//

#ifndef NSACC_TUNING_SPACE_H
#define NSACC_TUNING_SPACE_H

#include "nsacc/Schedule/Choose.h"
#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// A schedule beyond the given fields.
struct Candidate {
  /// Its fields; empty: the compiler's choice.
  schedule::Settings schedule;
  /// All fields of all ops. Candidates with equal fields are one.
  std::string whole;
  /// Seconds by the model.
  double predicted = 0;
};

/// Fields that are varied.
enum class Grid {
  /// Ops that get separate programs, and the order in which selections are
  /// walked.
  Programs,
  /// Sizes of tiles, warps that share a tile, and tiles that a multiprocessor
  /// has at a time: all combinations.
  Tiles,
  /// Order and buffers of steps, field by field.
  Steps
};

/// The compiler's choice with the given fields, and its time by the model.
llvm::Expected<Candidate> makeCandidate(nsa::KernelOp kernel,
                                        const schedule::Goal &goal,
                                        const schedule::Settings &given,
                                        const schedule::Settings &schedule,
                                        const DimSizes &sizes,
                                        const ModelOptions &options = {});

/// The ops whose fields are varied together: the ops of one program.
struct Group {
  std::vector<std::string> ops;
  /// Seconds by the model.
  double predicted = 0;
};

/// The groups of a kernel with this schedule; groups with the most time come
/// first.
llvm::Expected<std::vector<Group>>
listGroups(nsa::KernelOp kernel, const schedule::Goal &goal,
           const schedule::Settings &given, const schedule::Settings &schedule,
           const DimSizes &sizes, const ModelOptions &options = {});

/// Candidates that a grid makes from a schedule by other values of one group's
/// fields; given fields stay. Candidates that are invalid for the kernel are
/// left out, and none appears twice. The fastest by the model come first.
std::vector<Candidate> listCandidates(nsa::KernelOp kernel,
                                      const schedule::Goal &goal,
                                      const schedule::Settings &given,
                                      const schedule::Settings &schedule,
                                      const Group &group, Grid grid,
                                      const DimSizes &sizes,
                                      const ModelOptions &options = {});

} // namespace nsacc::tuning

#endif // NSACC_TUNING_SPACE_H
