//===- CompiledTest.h - Compiled programs and the oracle --------*- C++ -*-===//

#ifndef NSACC_UNITTESTS_COMPILED_COMPILEDTEST_H
#define NSACC_UNITTESTS_COMPILED_COMPILEDTEST_H

#include "NSA/IR/NSAOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Target/CPU/CPU.h"
#include "nsacc/Tensor/Signature.h"
#include "gtest/gtest.h"
#include <limits>
#include <map>

namespace nsacc {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Sizes = std::map<std::string, int64_t>;

/// A program of one kernel, for the oracle and compiled for this machine.
class Program {
public:
  /// Sizes of dimensions; numbers of tokens stay open in the code. `schedule`
  /// is settings in text, or empty.
  Program(const std::string &source, Sizes sizes, std::string dtype = "f32",
          std::string schedule = "", cpu::Options options = {});

  bool isValid() const { return executable != nullptr; }
  const Signature &getSignature() const { return signature; }
  /// Standard normal reals, and integers of known domains.
  std::vector<Tensor> makeInputs(uint64_t seed = 0) const;
  Tensor &find(std::vector<Tensor> &inputs, llvm::StringRef name) const;

  llvm::Expected<std::vector<Tensor>> interpret(llvm::ArrayRef<Tensor> inputs);
  llvm::Expected<std::vector<Tensor>> run(llvm::ArrayRef<Tensor> inputs,
                                          const cpu::RunOptions &options = {});

  /// Expects agreement of results: NaN with NaN, infinite with equal or, if
  /// `loose`, any other non-finite number. Errors are relative for results
  /// above 1.
  void expectAgreement(llvm::ArrayRef<Tensor> inputs, double tolerance,
                       bool loose = false);
  /// Expects that both fail with the same message; returns it.
  std::string expectSameError(llvm::ArrayRef<Tensor> inputs,
                              const cpu::RunOptions &options = {});

private:
  llvm::Error compile(const std::string &source, const std::string &dtype,
                      const std::string &schedule, const cpu::Options &options);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Signature signature;
  Sizes sizes;
  std::unique_ptr<cpu::Executable> executable;
};

/// Overwrites single elements.
void setElement(Tensor &tensor, llvm::ArrayRef<int64_t> index, double value);

} // namespace nsacc

#endif // NSACC_UNITTESTS_COMPILED_COMPILEDTEST_H
