//===- ScalarProgram.h - Scalar code of regions, run on lanes ---*- C++ -*-===//
//
// A region is compiled once into a list of steps over registers. A frame runs
// the list on many lanes at a time, one lane for each (query, key) pair, say.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_INTERPRETER_SCALARPROGRAM_H
#define NSACC_LIB_INTERPRETER_SCALARPROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace mlir {
class Region;
} // namespace mlir

namespace nsacc::interpreter {

struct Context;
class Frame;

/// One operation on registers.
struct Step {
  /// The operands that the result needs: `and`, `or` and `select` don't
  /// evaluate operands that can't change it.
  enum class Needs { All, And, Or, Select };

  Needs needs = Needs::All;
  unsigned result = 0;
  llvm::SmallVector<unsigned, 3> operands;
  std::function<void(Frame &)> run;
};

/// Compiled scalar code. It has no state, so threads can share it.
class ScalarProgram {
public:
  /// Tables that the code reads must live in `context` and outlive the program.
  static llvm::Expected<ScalarProgram> compile(mlir::Region &region,
                                               const Context &context);

private:
  friend class Frame;
  friend class ScalarCompiler;

  std::vector<std::optional<unsigned>> arguments;
  std::vector<bool> registerIsReal;
  /// For each register, the step that computes it, or -1.
  std::vector<int> stepOf;
  std::vector<Step> constants;
  std::vector<Step> steps;
  unsigned result = 0;
};

/// Why code has no value on some lane (a table read outside of the table, …).
struct FailedAssertion {
  size_t lane;
  std::string message;
};

/// Registers for up to `capacity` lanes. Reals are fp64; integers, positions
/// and booleans (0 and 1) are int64.
class Frame {
public:
  Frame(const ScalarProgram &program, size_t capacity);

  size_t getCapacity() const { return capacity; }

  /// Sets an argument of the region: on all lanes, or on the first ones.
  void fill(unsigned argument, int64_t value);
  void fill(unsigned argument, double value);
  void assign(unsigned argument, llvm::ArrayRef<int64_t> values);
  void assign(unsigned argument, llvm::ArrayRef<double> values);

  /// Evaluates the first lanes. An operation without a value (a table read out
  /// of range, a division by zero) is a failed assertion only if the lane's
  /// result needs it.
  std::optional<FailedAssertion> run(size_t lanes, int64_t batchRow);

  bool resultIsReal() const { return program.registerIsReal[program.result]; }
  llvm::ArrayRef<double> getReals() const;
  llvm::ArrayRef<int64_t> getIntegers() const;

  /// Used by steps.
  template <typename T> T *getRegister(unsigned index) {
    if constexpr (std::is_same_v<T, double>)
      return reals[index].data();
    else
      return integers[index].data();
  }
  size_t getLanes() const { return lanes; }
  int64_t getBatchRow() const { return batchRow; }
  /// Records that the running step has no value on a lane.
  void fail(size_t lane, llvm::function_ref<std::string()> message);

private:
  template <typename T> void fillRegister(unsigned argument, T value);
  template <typename T>
  void assignRegister(unsigned argument, llvm::ArrayRef<T> values);
  std::optional<FailedAssertion> runFailedLanes();
  void runOnlyLane(size_t lane, Frame &all);
  bool need(unsigned index);

  const ScalarProgram &program;
  size_t capacity;
  size_t lanes = 0;
  int64_t batchRow = 0;
  std::vector<std::vector<double>> reals;
  std::vector<std::vector<int64_t>> integers;
  std::vector<size_t> failedLanes;

  /// Runs a lane that failed an assertion once more, computing only values that
  /// the result needs.
  std::unique_ptr<Frame> single;
  std::vector<bool> known;
  std::string failureMessage;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_SCALARPROGRAM_H
