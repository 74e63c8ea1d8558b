//===- Programs.h - Which ops of a kernel share a program -------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_PROGRAMS_H
#define NSACC_SCHEDULE_PROGRAMS_H

#include "NSATile/IR/ScheduleFields.h"
#include "nsacc/Schedule/QueryShape.h"

namespace nsacc::schedule {

/// An op with a schedule.
struct ScheduledOp {
  mlir::Operation *op;
  OpKind kind;
  /// The name that the program gives its value; "importance.2" for the second
  /// importance of a kernel where it has none.
  std::string name;
};

std::optional<OpKind> getKind(mlir::Operation *op);
/// In the kernel's order.
std::vector<ScheduledOp> getScheduledOps(nsa::KernelOp kernel);

/// One program over tiles, and the ops that it computes.
struct Program {
  /// "pool", "select", "importance", "attend" or "map".
  llvm::StringLiteral what;
  llvm::SetVector<mlir::Operation *> ops;
};

/// How a kernel is cut into programs. Pooled keys and selections have programs
/// of their own, and so have ops that others read from memory; the results are
/// computed from their readers backwards, those over the same query tiles in
/// one program.
class ProgramCut {
public:
  /// An op that is to have a program of its own, and why.
  struct Own {
    mlir::Operation *op;
    llvm::StringLiteral reason;
  };
  ProgramCut(nsa::KernelOp kernel, llvm::ArrayRef<Own> own);

  llvm::ArrayRef<Program> getPrograms() const { return programs; }
  /// Why an op has a program of its own; empty where it has none.
  llvm::StringRef getReason(mlir::Operation *op) const {
    return reasons.lookup(op);
  }
  /// Ops that agree on the fields of programs: those that `op` shares one with,
  /// itself among them. A top-k's rows have tiles of their own.
  llvm::ArrayRef<mlir::Operation *> getSharing(mlir::Operation *op) const;

private:
  bool isInMemory(mlir::Value value) const;
  void putInMemory(mlir::Operation *op, llvm::StringRef reason);
  void readFromMemory(mlir::Value value);
  /// Puts what isn't of the tensor's query tiles in memory.
  void separate(mlir::Value tensor);
  void addPrograms();
  void addProgram(llvm::StringLiteral what,
                  llvm::ArrayRef<mlir::Value> tensors);
  void share();

  nsa::KernelOp kernel;
  /// In the order in which they were found to be.
  llvm::SetVector<mlir::Value> memory;
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> reasons;
  std::vector<Program> programs;
  std::vector<llvm::SmallVector<mlir::Operation *>> sharing;
};

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_PROGRAMS_H
