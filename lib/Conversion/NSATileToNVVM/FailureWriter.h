//===- FailureWriter.h - Records of failures --------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_FAILUREWRITER_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_FAILUREWRITER_H

#include "CodeBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace nsacc {

/// Code for failures, which no run that goes well comes to
/// (include/nsacc-rt/failures.h says how records are kept).
class FailureWriter {
public:
  FailureWriter(CodeBuilder &b, mlir::Value record, int64_t assertion)
      : b(b), record(record), assertion(assertion) {}

  /// A failure at one of the elements: values where there is one. Neighbours
  /// share most values, which are then compared less often.
  void add(mlir::Value isFailure, llvm::ArrayRef<mlir::Value> values);
  /// Waits for the record and writes the least failure into it, unless what is
  /// there is less.
  void write();

private:
  struct Candidate {
    mlir::Value found;
    llvm::SmallVector<mlir::Value> values;
  };
  Candidate getLess(const Candidate &lhs, const Candidate &rhs);
  Candidate findLeast(llvm::ArrayRef<Candidate> candidates);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value lhs,
                      mlir::Value rhs);
  mlir::Value negate(mlir::Value flag);
  mlir::Value getWord(int64_t index);
  mlir::Value read(int64_t index);
  mlir::Value readFirst(int64_t index);
  void write(int64_t index, mlir::Value value);
  mlir::Value isBehindRecord();
  mlir::Value isLessThanRecord();
  mlir::Value tryToWrite();
  void writeRecord();

  CodeBuilder &b;
  mlir::Value record;
  int64_t assertion;
  llvm::SmallVector<Candidate> candidates;
  llvm::SmallVector<mlir::Value> least;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_FAILUREWRITER_H
