//===- Space.h - Schedules that may be faster -------------------*- C++ -*-===//

#ifndef NSACC_TUNING_SPACE_H
#define NSACC_TUNING_SPACE_H

#include "nsacc/Schedule/Choose.h"
#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// One schedule beside what is given.
struct Candidate {
  /// Its fields, as schedule::Settings read them; empty: the compiler's choice.
  std::string schedule;
  /// All fields of all ops. Candidates with equal ones are one.
  std::string whole;
  /// What the model says of it.
  double predicted = 0;
};

/// Which fields are varied.
enum class Grid {
  /// Which ops have programs of their own, and in which order selections are
  /// walked.
  Programs,
  /// Sizes of tiles, the warps that share one, and how many tiles a
  /// multiprocessor has at a time: all of them with each other.
  Tiles,
  /// How steps are ordered and buffered, field by field.
  Steps
};

/// The compiler's choice with what is given, and its time by the model.
llvm::Expected<Candidate>
makeCandidate(nsa::KernelOp kernel, const schedule::Goal &goal,
              const schedule::Settings &given, llvm::StringRef schedule,
              const DimSizes &sizes, const ModelOptions &options = {});

/// The ops whose fields are varied together: those of one program.
struct Group {
  std::vector<std::string> ops;
  schedule::OpKind kind = schedule::OpKind::Attend;
  /// Seconds by the model.
  double predicted = 0;
};

/// The groups of a kernel with this schedule, those with the most time first.
llvm::Expected<std::vector<Group>>
listGroups(nsa::KernelOp kernel, const schedule::Goal &goal,
           const schedule::Settings &given, llvm::StringRef schedule,
           const DimSizes &sizes, const ModelOptions &options = {});

/// What a grid makes of a schedule by other values of one group's fields;
/// fields that are given stay. Candidates that don't hold for the kernel are
/// left out, and there is none twice. The fastest by the model come first.
std::vector<Candidate>
listCandidates(nsa::KernelOp kernel, const schedule::Goal &goal,
               const schedule::Settings &given, llvm::StringRef schedule,
               const Group &group, Grid grid, const DimSizes &sizes,
               const ModelOptions &options = {});

} // namespace nsacc::tuning

#endif // NSACC_TUNING_SPACE_H
