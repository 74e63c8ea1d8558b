//===- CompareCheck.cpp - Compiled programs against the oracle ------------===//

#include "CompareCheck.h"
#include "nsacc/Interpreter/Accuracy.h"
#include "nsacc/Signature/Signature.h"
#include "nsacc/Tensor/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;
using Verdict = CheckResult::Verdict;

static llvm::Expected<CheckResult>
checkThreads(llvm::StringRef kernel, const CompiledProgram &program,
             RunOptions options, llvm::ArrayRef<Tensor> inputs,
             llvm::ArrayRef<Tensor> results) {
  unsigned used = options.threads;
  options.threads = used == 1 ? 3 : 1;
  auto again = program.run(kernel, inputs, options);
  if (!again)
    return again.takeError();
  bool areSame = llvm::all_of(llvm::zip(results, *again), [](auto pair) {
    return haveSameBits(std::get<0>(pair), std::get<1>(pair));
  });
  return CheckResult{"threads", areSame ? Verdict::Pass : Verdict::Fail,
                     llvm::formatv("{0} bits with {1} and {2} threads",
                                   areSame ? "the same" : "different", used,
                                   options.threads)};
}

static CheckResult describe(const interpreter::Accuracy &accuracy, DType dtype,
                            const Difference &difference) {
  CheckResult check;
  check.name = "error of '" + accuracy.name + "'";
  bool isGood = accuracy.isWithin && !accuracy.isIllConditioned();
  check.verdict = isGood ? Verdict::Pass : Verdict::Fail;
  if (isReal(dtype))
    check.detail = llvm::formatv(
        "{0:e2} at most, {1:e2} relative rms against the oracle (the formula "
        "in f32: {2:e2} at most)",
        accuracy.error, accuracy.relativeRms, accuracy.eagerError);
  else
    check.detail = llvm::formatv("{0} of {1} elements differ from the oracle's",
                                 difference.differing, difference.elements);
  if (accuracy.rows)
    check.detail += llvm::formatv(
        "; left out: {0} of {1} query rows, where rounding decides which "
        "blocks are selected",
        accuracy.undecidedRows, accuracy.rows);
  if (!accuracy.message.empty())
    check.detail += "; " + accuracy.message;
  if (accuracy.isIllConditioned() && accuracy.overflows)
    check.detail += llvm::formatv(
        "; {0} of {1} elements aren't finite though the formula's are: "
        "rounding alone makes them so; weights, and tensors that are computed "
        "from, have the type of the program's tensors, of which f16 ends at "
        "65504",
        accuracy.overflows, difference.elements);
  else if (accuracy.isIllConditioned())
    check.detail += llvm::formatv(
        "; the program is ill-conditioned for these inputs: rounding alone, of "
        "sums to f32 and of tensors and weights to their types, moves '{0}' "
        "this far, so that the error, above {1:e2} relative rms, doesn't tell "
        "a right program from a wrong one; look for scores above 10000, "
        "weights below 6e-8 with values of f16, differences of nearly equal "
        "numbers, and int(), floor() or comparisons of computed reals",
        accuracy.name, interpreter::Accuracy::mostRelativeRms);
  return check;
}

llvm::Expected<CompareChecks>
nsacc::checkCompiled(nsa::KernelOp kernel, const CompiledProgram &program,
                     const RunOptions &options, llvm::ArrayRef<Tensor> inputs,
                     llvm::ArrayRef<Tensor> results) {
  CompareChecks found;
  auto threads =
      checkThreads(kernel.getSymName(), program, options, inputs, results);
  if (!threads)
    return threads.takeError();
  found.checks.push_back(*threads);
  auto checker =
      interpreter::AccuracyChecker::create(kernel, inputs, options.threads);
  if (!checker)
    return checker.takeError();
  found.checks.push_back(
      checkNaN(getSignature(kernel), inputs, results, checker->getExpected()));
  found.usefulOperations = checker->getUsefulOperations();
  for (auto [accuracy, result, exact] : llvm::zip_equal(
           checker->check(results), results, checker->getExpected()))
    found.checks.push_back(
        describe(accuracy, result.getDType(), compare(result, exact)));
  return found;
}
