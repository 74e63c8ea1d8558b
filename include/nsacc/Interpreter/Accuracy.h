//===- Accuracy.h - Error bounds of results ----------------------*- C++ -*-==//

#ifndef NSACC_INTERPRETER_ACCURACY_H
#define NSACC_INTERPRETER_ACCURACY_H

#include "nsacc/Tensor/Tensor.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace nsacc::nsa {
class KernelOp;
} // namespace nsacc::nsa

namespace nsacc::interpreter {

/// Errors of one result of a compiled program against the oracle.
struct Accuracy {
  /// The result's name.
  std::string name;
  bool isWithin = true;
  /// The largest error, and the largest error of the formula evaluated in f32
  /// with tensors and weights in their declared types.
  double error = 0, eagerError = 0;
  /// The root mean square of the judged elements' errors, relative to that of
  /// the exact results.
  double relativeRms = 0;
  /// Elements that aren't finite although the exact value is, only because of
  /// rounding.
  int64_t overflows = 0;
  /// Query rows left out because rounding decides which blocks they select, and
  /// the number of all query rows.
  int64_t undecidedRows = 0, rows = 0;
  /// The worst element beyond its bound; empty if there is none.
  std::string message;

  /// Whether results are within their bounds only because the bounds are wide:
  /// with such errors, a wrong program can't be told from a right one.
  bool isIllConditioned() const {
    return isWithin && (overflows > 0 || !(relativeRms <= mostRelativeRms));
  }
  /// Four roundings to bf16, the coarsest type.
  static constexpr double mostRelativeRms = 0x1p-6;
};

/// Compares compiled results with the oracle under the bounds of
/// docs/Numerics.md.
class AccuracyChecker {
public:
  /// Runs the oracle. Fails if the oracle does.
  static llvm::Expected<AccuracyChecker> create(nsa::KernelOp kernel,
                                                llvm::ArrayRef<Tensor> inputs,
                                                unsigned threads = 0);
  AccuracyChecker(AccuracyChecker &&);
  ~AccuracyChecker();

  /// The results in fp64.
  llvm::ArrayRef<Tensor> getExpected() const;

  /// Number of operations of q·k and p·v over visible pairs.
  int64_t getUsefulOperations() const;

  /// Judges results in the order of the kernel's.
  std::vector<Accuracy> check(llvm::ArrayRef<Tensor> results);

private:
  class State;
  explicit AccuracyChecker(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace nsacc::interpreter

#endif // NSACC_INTERPRETER_ACCURACY_H
