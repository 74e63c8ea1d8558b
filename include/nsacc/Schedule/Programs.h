//===- Programs.h - Programs that a kernel is cut into ----------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_PROGRAMS_H
#define NSACC_SCHEDULE_PROGRAMS_H

#include "nsacc/Schedule/QueryShape.h"
#include "nsacc/Schedule/ScheduleOpInterface.h"

namespace nsacc::schedule {

/// An op with a schedule.
struct ScheduledOp {
  mlir::Operation *op;
  /// Name of the op's value in the source. A value without a name is called by
  /// its op's name and number: "importance.2" for the second importance of a
  /// kernel.
  std::string name;

  ScheduleOpInterface getInterface() const {
    return llvm::cast<ScheduleOpInterface>(op);
  }
};

/// Whether an op has a schedule.
bool hasSchedule(mlir::Operation *op);
/// Ops with schedules, in the kernel's order.
std::vector<ScheduledOp> getScheduledOps(nsa::KernelOp kernel);

/// A program over tiles, and the ops that it computes.
struct Program {
  /// "importance", "attend", "map", or the name of a shared op's programs.
  llvm::StringRef what;
  llvm::SetVector<mlir::Operation *> ops;
};

/// A kernel cut into programs. Pooled keys, selections, and ops that others
/// read from memory have their own programs. Results are followed backwards to
/// the values that they are computed from. Results over the same query tiles
/// share a program.
class ProgramCut {
public:
  /// An op that gets its own program, and the reason.
  struct Own {
    mlir::Operation *op;
    llvm::StringLiteral reason;
  };
  ProgramCut(nsa::KernelOp kernel, llvm::ArrayRef<Own> own);

  llvm::ArrayRef<Program> getPrograms() const { return programs; }
  /// Reason that an op has its own program; empty where it has none.
  llvm::StringRef getReason(mlir::Operation *op) const {
    return reasons.lookup(op);
  }
  /// Attends that share a program with `op`, itself included, and therefore
  /// agree on the fields of programs. A top-k's rows have their own tiles, so
  /// its program doesn't count.
  llvm::ArrayRef<mlir::Operation *> getSharing(mlir::Operation *op) const;

private:
  bool isInMemory(mlir::Value value) const;
  void putInMemory(mlir::Operation *op, llvm::StringRef reason);
  void readFromMemory(mlir::Value value);
  /// Puts values that aren't computed over the tensor's query tiles in memory.
  void separate(mlir::Value tensor);
  void addPrograms();
  void addProgram(llvm::StringRef what, llvm::ArrayRef<mlir::Value> tensors);
  void share();

  nsa::KernelOp kernel;
  /// Values in memory, in the order in which they were found.
  llvm::SetVector<mlir::Value> memory;
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> reasons;
  std::vector<Program> programs;
  std::vector<llvm::SmallVector<mlir::Operation *>> sharing;
};

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_PROGRAMS_H
