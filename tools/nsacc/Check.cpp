//===- Check.cpp - The checks of `nsacc run --check` ----------------------===//

#include "Check.h"
#include "StorageCheck.h"
#include "nsacc/Tensor/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
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

/// Whether the formula is NaN wherever the result is.
static bool hasNaNsOf(const Tensor &result, const Tensor &exact) {
  return llvm::all_of(llvm::zip_equal(result.toReals(), exact.toReals()),
                      [](auto pair) {
                        auto [value, wanted] = pair;
                        return !std::isnan(value) || std::isnan(wanted);
                      });
}

CheckResult nsacc::checkNaN(const Signature &signature,
                            llvm::ArrayRef<Tensor> inputs,
                            llvm::ArrayRef<Tensor> results,
                            llvm::ArrayRef<Tensor> exact) {
  std::vector<std::string> found;
  bool areExpected = !exact.empty();
  for (auto [index, result] : llvm::enumerate(results))
    if (int64_t nans = summarize(result).nans) {
      found.push_back(
          llvm::formatv("{0} in '{1}'", nans, signature.results[index].name));
      areExpected &= !exact.empty() && hasNaNsOf(result, exact[index]);
    }
  if (found.empty())
    return {"NaN", Verdict::Pass, "none in the results"};
  std::string detail = llvm::join(found, ", ");
  if (areExpected)
    return {"NaN", Verdict::Report, detail + ", where the formula has them"};
  if (llvm::all_of(inputs, isFinite))
    return {"NaN", Verdict::Fail, detail + ", though every input is finite"};
  return {"NaN", Verdict::Report, detail + "; the inputs aren't finite either"};
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
  if (llvm::Error error = checkStorage(kernel, inputs, options, checks))
    return error;
  return checks;
}
