//===- Check.cpp - What `nsacc run --check` looks at ----------------------===//

#include "Check.h"
#include "nsacc/Runtime/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"
#include <cmath>

using namespace nsacc;
using Verdict = CheckResult::Verdict;

llvm::StringRef nsacc::getName(Verdict verdict) {
  switch (verdict) {
  case Verdict::Pass:
    return "pass";
  case Verdict::Fail:
    return "FAIL";
  case Verdict::Report:
    return "report";
  }
  llvm_unreachable("not a verdict");
}

//===-- Threads -----------------------------------------------------------===//

static llvm::Expected<CheckResult> checkThreads(nsa::KernelOp kernel,
                                                llvm::ArrayRef<Tensor> inputs,
                                                llvm::ArrayRef<Tensor> results,
                                                interpreter::Options options) {
  unsigned used = options.threads;
  options.threads = used == 1 ? 2 : 1;
  auto again = interpreter::run(kernel, inputs, options);
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

//===-- NaN ---------------------------------------------------------------===//

static bool isFinite(const Tensor &tensor) {
  return !isReal(tensor.getDType()) ||
         llvm::all_of(tensor.toReals(),
                      [](double value) { return std::isfinite(value); });
}

static CheckResult checkNaN(const Signature &signature,
                            llvm::ArrayRef<Tensor> inputs,
                            llvm::ArrayRef<Tensor> results) {
  std::vector<std::string> found;
  for (auto [argument, result] : llvm::zip(signature.results, results))
    if (int64_t nans = summarize(result).nans)
      found.push_back(llvm::formatv("{0} in '{1}'", nans, argument.name));
  if (found.empty())
    return {"NaN", Verdict::Pass, "none in the results"};
  std::string detail = llvm::join(found, ", ");
  if (llvm::all_of(inputs, isFinite))
    return {"NaN", Verdict::Fail, detail + ", though every input is finite"};
  return {"NaN", Verdict::Report, detail + "; the inputs aren't finite either"};
}

//===-- Storage -----------------------------------------------------------===//

/// Half the spacing of the numbers just above 1.
static double getUnitRoundoff(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return 0x1p-11;
  case DType::BF16:
    return 0x1p-8;
  case DType::F32:
    return 0x1p-24;
  default:
    return 0;
  }
}

/// Of the coarsest type that the program takes or gives.
static double getUnitRoundoff(const Signature &signature) {
  double largest = 0;
  for (auto *arguments : {&signature.inputs, &signature.results})
    for (const Argument &argument : *arguments)
      largest = std::max(largest, getUnitRoundoff(argument.dtype));
  return largest;
}

static bool picksByScore(nsa::KernelOp kernel) {
  return kernel.walk([](nsa::TopKOp) { return mlir::WalkResult::interrupt(); })
      .wasInterrupted();
}

static CheckResult judgeRounding(const Argument &argument,
                                 const Difference &difference, double bound,
                                 bool hasBound) {
  CheckResult check;
  check.name = "storage of '" + argument.name + "'";
  if (!isReal(argument.dtype)) {
    check.detail =
        llvm::formatv("{0} of {1} elements change with stored values rounded",
                      difference.differing, difference.elements);
    check.verdict = hasBound && difference.differing > 0 ? Verdict::Fail
                    : hasBound                           ? Verdict::Pass
                                                         : Verdict::Report;
    return check;
  }
  std::string measured =
      llvm::formatv("rounding stored values moves it by {0:e2} relative rms, "
                    "{1:e2} at most",
                    difference.getRelativeRms(), difference.maxAbs);
  if (!hasBound) {
    check.verdict = Verdict::Report;
    check.detail = measured + "; no bound: near ties between blocks may fall "
                              "otherwise";
    return check;
  }
  bool isWithin =
      difference.nonFinite == 0 && difference.getRelativeRms() <= bound;
  check.verdict = isWithin ? Verdict::Pass : Verdict::Fail;
  check.detail = measured + llvm::formatv("; bound {0:e2}", bound).str();
  if (difference.nonFinite)
    check.detail += llvm::formatv("; {0} elements are finite in one alone",
                                  difference.nonFinite);
  return check;
}

static llvm::Error checkStorage(nsa::KernelOp kernel,
                                const Signature &signature,
                                llvm::ArrayRef<Tensor> inputs,
                                interpreter::Options options,
                                std::vector<CheckResult> &checks) {
  options.roundStorage = true;
  options.keepF64 = false;
  auto rounded = interpreter::run(kernel, inputs, options);
  if (!rounded)
    return rounded.takeError();
  options.roundStorage = false;
  options.keepF64 = true;
  auto exact = interpreter::run(kernel, inputs, options);
  if (!exact)
    return exact.takeError();
  // Stored values carry one rounding each, results one more.
  double bound = 4 * getUnitRoundoff(signature);
  bool hasBound = !picksByScore(kernel);
  for (auto [argument, left, right] :
       llvm::zip(signature.results, *rounded, *exact))
    checks.push_back(
        judgeRounding(argument, compare(left, right), bound, hasBound));
  return llvm::Error::success();
}

llvm::Expected<std::vector<CheckResult>>
nsacc::checkOracle(nsa::KernelOp kernel, const Signature &signature,
                   llvm::ArrayRef<Tensor> inputs,
                   llvm::ArrayRef<Tensor> results,
                   const interpreter::Options &options) {
  std::vector<CheckResult> checks;
  auto threads = checkThreads(kernel, inputs, results, options);
  if (!threads)
    return threads.takeError();
  checks.push_back(*threads);
  checks.push_back(checkNaN(signature, inputs, results));
  if (llvm::Error error =
          checkStorage(kernel, signature, inputs, options, checks))
    return error;
  return checks;
}
