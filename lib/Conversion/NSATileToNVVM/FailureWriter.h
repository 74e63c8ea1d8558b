//===- FailureWriter.h - Records of failures --------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_FAILUREWRITER_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_FAILUREWRITER_H

#include "ThreadMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace nsacc {

/// Writes code for failures, which a successful run never reaches.
/// include/nsacc-rt/failures.h describes the records.
class FailureWriter {
public:
  FailureWriter(CodeBuilder &b, mlir::Value record, int64_t assertion)
      : b(b), record(record), assertion(assertion) {}

  /// Adds a value of 32 or 64 bits to the next failure; `sum` is the sum that
  /// it was computed as, without overflow.
  void addValue(mlir::Value value, const IndexSum &sum);
  /// Adds a failure at one of the elements, with the values added since the
  /// last failure. Neighbours share most values, which are then compared less
  /// often. Sums aren't compared if their constants say which is less.
  void add(mlir::Value isFailure);
  /// Waits for the record and writes the least failure into it, unless the
  /// recorded one is less.
  void write();

private:
  /// `base` plus a constant from `least` to `most`.
  struct Number {
    mlir::Value value, base;
    int64_t least = 0, most = 0;
  };
  struct Candidate {
    mlir::Value found;
    llvm::SmallVector<Number> values;
  };
  static bool isAlwaysLess(const Number &lhs, const Number &rhs);
  mlir::Value isLess(const Candidate &lhs, const Candidate &rhs,
                     bool &isAlways);
  Number select(mlir::Value isRight, const Number &left, const Number &right);
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
  llvm::SmallVector<Number> added;
  llvm::SmallVector<Candidate> candidates;
  llvm::SmallVector<mlir::Value> least;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_FAILUREWRITER_H
