//===- Parts.h - Parts of an explanation ------------------------*- C++ -*-===//

#ifndef NSACC_LIB_EXPLAIN_PARTS_H
#define NSACC_LIB_EXPLAIN_PARTS_H

#include "nsacc/Explain/Explanation.h"

namespace nsacc::explain {

/// The source place of an op.
Place findPlace(mlir::Location loc);

/// A program over tiles, after phase `tile`.
struct TileProgram {
  std::string name;
  /// "attend", "union"
  std::string what;
  Place place;
  /// Names of the ops that it computes in tiles of their schedules.
  std::vector<std::string> ops;
  /// The program that recomputes results that aren't finite; empty: none.
  std::string exact;
};

/// Results and remarks of phases for a kernel and a goal. The kernel's module
/// is lowered and must not be used again.
struct LoweredKernel {
  std::vector<TileProgram> programs;
  std::vector<Remark> remarks;
  std::vector<PhaseText> phases;
};
llvm::Expected<LoweredKernel> lower(nsa::KernelOp kernel,
                                    const schedule::Goal &goal,
                                    const schedule::Settings &schedule,
                                    llvm::ArrayRef<OpExplanation> ops);

/// The code of a package as a phase. Each kernel has the source lines of its
/// program.
PhaseText makeCodePhase(const rt::Package &package,
                        const std::vector<TileProgram> &programs,
                        llvm::ArrayRef<OpExplanation> ops);

/// Sets buffers, workspaces and programs with their launches.
llvm::Error addLaunches(Explanation &explanation, const Signature &signature,
                        const DimSizes &sizes, const CodeDetails &details);

/// Sets the ops that each program computes, and its work and time.
void addWork(Explanation &explanation, nsa::KernelOp kernel,
             const schedule::KernelChoice &choice,
             const tuning::CallSizes &sizes,
             const std::vector<TileProgram> &programs);

} // namespace nsacc::explain

#endif // NSACC_LIB_EXPLAIN_PARTS_H
