//===- Parts.h - What an explanation is put together of ---------*- C++ -*-===//

#ifndef NSACC_LIB_EXPLAIN_PARTS_H
#define NSACC_LIB_EXPLAIN_PARTS_H

#include "nsacc/Explain/Explanation.h"

namespace nsacc::explain {

/// Where an op comes from.
Place findPlace(mlir::Location loc);

/// A program over tiles, as phase `tile` leaves it.
struct TileProgram {
  std::string name;
  /// "attend", "union"
  std::string what;
  Place place;
  /// Names of the ops that it computes in tiles of their schedules.
  std::vector<std::string> ops;
  /// The program that computes again what isn't finite; empty: none.
  std::string exact;
};

/// What phases leave of a kernel for a goal, and say of it. The kernel's module
/// is lowered: nothing of it is to be used again.
struct LoweredKernel {
  std::vector<TileProgram> programs;
  std::vector<Remark> remarks;
  std::vector<PhaseText> phases;
};
llvm::Expected<LoweredKernel> lower(nsa::KernelOp kernel,
                                    const schedule::Goal &goal,
                                    const schedule::Settings &schedule,
                                    llvm::ArrayRef<OpExplanation> ops);

/// The code of a package as a phase, each kernel with the lines of its program.
PhaseText makeCodePhase(const rt::Package &package,
                        const std::vector<TileProgram> &programs,
                        llvm::ArrayRef<OpExplanation> ops);

/// Sets buffers, workspaces and programs with their launches.
llvm::Error addLaunches(Explanation &explanation, const Signature &signature,
                        const DimSizes &sizes, const CodeDetails &details);

/// Sets which ops each program computes, and its work and time.
void addWork(Explanation &explanation, nsa::KernelOp kernel,
             const schedule::KernelChoice &choice,
             const tuning::CallSizes &sizes,
             const std::vector<TileProgram> &programs);

} // namespace nsacc::explain

#endif // NSACC_LIB_EXPLAIN_PARTS_H
