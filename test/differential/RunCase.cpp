//===- RunCase.cpp - Runs a case compiled and on the oracle ---------------===//

#include "RunCase.h"
#include "Compiled.h"
#include "Inputs.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Interpreter/Accuracy.h"
#include "nsacc/Interpreter/Interpreter.h"
#include "nsacc/Signature/Signature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::differential;

static Verdict fail(llvm::StringRef what, llvm::StringRef message) {
  return {Verdict::Kind::Failed, (what + ": " + message).str()};
}

/// Whether the message says that a feature isn't supported yet.
static bool isRefusal(llvm::StringRef message) {
  return message.contains("yet") || message.contains("isn't compiled for") ||
         message.contains("use smaller tiles");
}

static std::vector<Tensor> allocateResults(const Signature &signature,
                                           const DimSizes &sizes,
                                           llvm::ArrayRef<Tensor> expected,
                                           Layout layout) {
  std::vector<Tensor> results;
  for (size_t n = 0; n < signature.results.size(); ++n) {
    const Argument &argument = signature.results[n];
    std::vector<int64_t> shape = expected.empty()
                                     ? llvm::cantFail(getShape(argument, sizes))
                                     : expected[n].getShape().vec();
    results.push_back(allocate(argument.dtype, shape, layout));
  }
  return results;
}

/// Judges an error of a compilation: unsupported features are refused.
static Verdict judgeError(llvm::Error error) {
  std::string message;
  error = llvm::handleErrors(
      std::move(error), [&](const CompileError &compileError) {
        for (const auto &diagnostic : compileError.getDiagnostics())
          if (message.empty() &&
              diagnostic.severity == frontend::DiagnosticData::Severity::Error)
            message = diagnostic.message;
      });
  if (error)
    message = llvm::toString(std::move(error));
  if (isRefusal(message))
    return {Verdict::Kind::Refused, message};
  return fail("the compiler", message);
}

/// Weights of a softmax add up to 1: averages of ones are 1, and 0 in rows that
/// see nothing. Formulas with large scores have a wide error bound; this check
/// has a narrow one. Probabilities are rounded to the type of the values. NaN
/// passes, since scores of arithmetic on queries may be beyond f32.
static Verdict judgeAverages(const Case &testCase, const Signature &signature,
                             llvm::ArrayRef<Tensor> expected,
                             llvm::ArrayRef<Tensor> results) {
  for (size_t n = 0; n < signature.results.size(); ++n) {
    const std::string &name = signature.results[n].name;
    if (!llvm::is_contained(testCase.averages, name))
      continue;
    for (double x : expected[n].toReals()) // in fp64
      if (!(x == 0 || std::fabs(x - 1) <= 1e-12))
        return fail("the oracle's average of ones",
                    llvm::formatv("'{0}' has {1}", name, x).str());
    bool isWide = llvm::all_of(signature.inputs, [](const Argument &input) {
      return !isReal(input.dtype) || input.dtype == DType::F32;
    });
    double bound =
        isWide && results[n].getDType() == DType::F32 ? 1e-5 : 0x1p-7;
    for (double x : results[n].toReals())
      if (!(x == 0 || std::isnan(x) || std::fabs(x - 1) <= bound))
        return fail("an average of ones",
                    llvm::formatv("'{0}' has {1}", name, x).str());
  }
  return {};
}

static Verdict judge(nsa::KernelOp kernel, const Case &testCase, const Run &run,
                     const CompiledProgram &program) {
  Signature signature = getSignature(kernel);
  auto inputs = makeInputs(testCase, run, signature);
  if (!inputs)
    return fail("the generator's inputs", llvm::toString(inputs.takeError()));
  auto sizes = bindDimensions(signature, *inputs);
  if (!sizes)
    return fail("the generator's sizes", llvm::toString(sizes.takeError()));
  if (llvm::Error error = program.prepare("", *inputs))
    return judgeError(std::move(error));
  auto checker =
      interpreter::AccuracyChecker::create(kernel, *inputs, /*threads=*/1);
  std::vector<Tensor> results = allocateResults(
      signature, *sizes,
      checker ? checker->getExpected() : llvm::ArrayRef<Tensor>(), run.layout);
  RunOptions options;
  options.threads = 2;
  llvm::Error error = program.runInto("", *inputs, results, options);
  if (!checker) {
    std::string expected = llvm::toString(checker.takeError());
    if (error) {
      llvm::consumeError(std::move(error));
      return {};
    }
    return fail("no error", "the oracle says " + expected);
  }
  if (error)
    return fail("an error", llvm::toString(std::move(error)));
  for (const interpreter::Accuracy &accuracy : checker->check(results))
    if (!accuracy.isWithin)
      return fail("wrong results", accuracy.message);
  if (run.values == Values::Ones || run.values == Values::Ties)
    return judgeAverages(testCase, signature, checker->getExpected(), results);
  return {};
}

Verdict nsacc::differential::runCase(const Case &testCase) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importProgram(testCase, context);
  if (!module)
    return fail("the front end", llvm::toString(module.takeError()));
  auto program = compile(testCase, **module);
  if (!program)
    return judgeError(program.takeError());
  nsa::KernelOp kernel = *(*module)->getOps<nsa::KernelOp>().begin();
  Verdict verdict;
  for (const Run &run : testCase.runs) {
    Verdict one = judge(kernel, testCase, run, **program);
    ++verdict.runs;
    if (one.kind != Verdict::Kind::Passed) {
      one.runs = verdict.runs;
      return one;
    }
  }
  return verdict;
}
