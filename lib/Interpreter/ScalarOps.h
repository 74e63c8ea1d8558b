//===- ScalarOps.h - Steps of operations of scalar code ---------*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_SCALAROPS_H
#define NSACC_LIB_INTERPRETER_SCALAROPS_H

#include "ScalarProgram.h"
#include <array>
#include <tuple>
#include <utility>

namespace mlir {
class Operation;
} // namespace mlir

namespace nsacc::interpreter {

using StepFunction = std::function<void(Frame &)>;

/// elementwise<double(double, int64_t)>(f) makes steps that apply `f` to each
/// lane.
template <typename Signature> class Elementwise;
template <typename Out, typename... In> class Elementwise<Out(In...)> {
public:
  template <typename F>
  static StepFunction make(F f, unsigned result,
                           llvm::ArrayRef<unsigned> operands) {
    std::array<unsigned, sizeof...(In)> in;
    std::copy_n(operands.begin(), in.size(), in.begin());
    return [=](Frame &frame) {
      run(f, frame, result, in, std::index_sequence_for<In...>());
    };
  }

private:
  template <typename F, size_t... I>
  static void run(F f, Frame &frame, unsigned result,
                  const std::array<unsigned, sizeof...(In)> &in,
                  std::index_sequence<I...>) {
    Out *out = frame.getRegister<Out>(result);
    std::tuple<const In *...> values(frame.getRegister<In>(in[I])...);
    for (size_t lane = 0, e = frame.getLanes(); lane != e; ++lane)
      out[lane] = f(std::get<I>(values)[lane]...);
  }
};

/// The step of an arith or math operation; null if there is none.
StepFunction makeArithStep(mlir::Operation *op, unsigned result,
                           llvm::ArrayRef<unsigned> operands);
StepFunction makeMathStep(mlir::Operation *op, unsigned result,
                          llvm::ArrayRef<unsigned> operands);

/// The steps of nsa.dim and nsa.table_read.
StepFunction makeDimStep(mlir::Operation *op, unsigned result,
                         const Context &context);
StepFunction makeTableReadStep(mlir::Operation *op, unsigned result,
                               llvm::ArrayRef<unsigned> operands,
                               const Context &context);

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_SCALAROPS_H
