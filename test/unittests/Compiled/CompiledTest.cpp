//===- CompiledTest.cpp - Compiled programs and the oracle ----------------===//

#include "CompiledTest.h"
#include "NSA/Transforms/Passes.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Interpreter/Interpreter.h"
#include "nsacc/Pipelines/Phases.h"
#include "nsacc/Signature/Signature.h"
#include "nsacc/Tensor/RandomInputs.h"
#include <cmath>

using namespace nsacc;
using llvm::Error;
using llvm::Expected;

Program::Program(const std::string &source, Sizes sizes, std::string dtype,
                 std::string schedule, cpu::Options options)
    : context(mlir::MLIRContext::Threading::DISABLED), sizes(std::move(sizes)) {
  if (Error error = compile(source, dtype, schedule, options))
    ADD_FAILURE() << llvm::toString(std::move(error)) << "\n" << source;
}

/// Sizes that programs are compiled for: all except numbers of tokens.
static std::string getFixedSizes(const Sizes &sizes) {
  std::string text;
  for (auto &[name, size] : sizes)
    if (name != "B" && name != "T" && name != "S")
      text += (text.empty() ? "" : ",") + name + "=" + std::to_string(size);
  return text;
}

Error Program::compile(const std::string &source, const std::string &dtype,
                       const std::string &schedule,
                       const cpu::Options &options) {
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        diagnostics += diagnostic.str() + "\n";
      });
  frontend::Options frontendOptions;
  frontendOptions.dtype = dtype;
  module = frontend::compile(llvm::MemoryBufferRef(source, "test.nsa"),
                             frontendOptions, context);
  if (!module || mlir::failed(runPhases(*module, Phase::NSA)))
    return llvm::createStringError(diagnostics);
  auto kernel = *module->getOps<nsa::KernelOp>().begin();
  signature = nsacc::getSignature(kernel);

  Expected<schedule::Settings> settings = schedule::Settings::parse(schedule);
  if (!settings)
    return settings.takeError();
  mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
  mlir::PassManager passes(&context);
  nsa::NSASpecializeOptions specialize;
  llvm::SmallVector<llvm::StringRef> dims;
  std::string fixed = getFixedSizes(sizes);
  llvm::StringRef(fixed).split(dims, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef dim : dims)
    specialize.dims.push_back(dim.str());
  passes.addPass(nsa::createNSASpecialize(specialize));
  passes.addPass(
      createNSASetSchedule({schedule::SettingsOption(std::move(*settings)),
                            std::nullopt, Queries::Any}));
  passes.addPass(createConvertNSAToNSATile());
  passes.addPass(nsatile::createNSATileOnlineSoftmax());
  if (mlir::failed(passes.run(*copy)))
    return llvm::createStringError(diagnostics);
  Expected<std::unique_ptr<cpu::Executable>> compiled =
      cpu::compile(*copy, options);
  if (!compiled)
    return llvm::joinErrors(compiled.takeError(),
                            llvm::createStringError(diagnostics));
  executable = std::move(*compiled);
  return Error::success();
}

std::vector<Tensor> Program::makeInputs(uint64_t seed) const {
  DimSizes dims;
  for (auto &[name, size] : sizes)
    dims.sizes[name] = size;
  std::vector<Tensor> inputs;
  for (const Argument &input : signature.inputs) {
    if (isReal(input.dtype) || input.domain || input.dtype == DType::Bool) {
      inputs.push_back(llvm::cantFail(makeRandomInput(input, dims, seed)));
      continue;
    }
    inputs.push_back(
        Tensor::zeros(input.dtype, llvm::cantFail(getShape(input, dims))));
  }
  return inputs;
}

Tensor &Program::find(std::vector<Tensor> &inputs, llvm::StringRef name) const {
  for (auto [input, tensor] : llvm::zip_equal(signature.inputs, inputs))
    if (input.name == name)
      return tensor;
  throw std::runtime_error("no input of this name");
}

Expected<std::vector<Tensor>>
Program::interpret(llvm::ArrayRef<Tensor> inputs) {
  interpreter::Options options;
  options.keepF64 = true;
  return interpreter::run(*module->getOps<nsa::KernelOp>().begin(), inputs,
                          options);
}

Expected<std::vector<Tensor>> Program::run(llvm::ArrayRef<Tensor> inputs,
                                           const cpu::RunOptions &options) {
  Expected<DimSizes> bound = bindDimensions(signature, inputs);
  if (!bound)
    return bound.takeError();
  std::vector<Tensor> tensors(inputs), results;
  for (const Argument &result : signature.results) {
    Expected<std::vector<int64_t>> shape = getShape(result, *bound);
    if (!shape)
      return shape.takeError();
    results.push_back(Tensor::zeros(result.dtype, *shape));
  }
  tensors.insert(tensors.end(), results.begin(), results.end());
  if (Error error = executable->run(tensors, options))
    return std::move(error);
  return results;
}

static bool agree(double found, double expected, double tolerance, bool loose) {
  if (std::isfinite(found) && std::isfinite(expected))
    return std::abs(found - expected) <=
           tolerance * std::max(1.0, std::abs(expected));
  if (std::isnan(found) && std::isnan(expected))
    return true;
  return found == expected ||
         (loose && !std::isfinite(found) && !std::isfinite(expected));
}

void Program::expectAgreement(llvm::ArrayRef<Tensor> inputs, double tolerance,
                              bool loose) {
  ASSERT_TRUE(isValid());
  Expected<std::vector<Tensor>> expected = interpret(inputs);
  Expected<std::vector<Tensor>> found = run(inputs);
  ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  for (auto [mine, oracle, result] :
       llvm::zip_equal(*found, *expected, signature.results)) {
    ASSERT_EQ(mine.getShape(), oracle.getShape());
    std::vector<double> left = mine.toReals(), right = oracle.toReals();
    for (size_t i = 0; i < left.size(); ++i)
      ASSERT_TRUE(agree(left[i], right[i], tolerance, loose))
          << result.name << ", element " << i << ": " << left[i]
          << ", but by the oracle " << right[i];
  }
}

std::string Program::expectSameError(llvm::ArrayRef<Tensor> inputs,
                                     const cpu::RunOptions &options) {
  auto getMessage = [](Expected<std::vector<Tensor>> results) {
    return results ? "no error" : llvm::toString(results.takeError());
  };
  if (!isValid())
    return "not compiled";
  std::string oracle = getMessage(interpret(inputs));
  EXPECT_EQ(getMessage(run(inputs, options)), oracle);
  return oracle;
}

void nsacc::setElement(Tensor &tensor, llvm::ArrayRef<int64_t> index,
                       double value) {
  int64_t position = 0;
  for (auto [size, at] : llvm::zip_equal(tensor.getShape(), index))
    position = position * size + at;
  if (isReal(tensor.getDType())) {
    std::vector<double> values = tensor.toReals();
    values[position] = value;
    tensor.setReals(values);
    return;
  }
  std::vector<int64_t> values = tensor.toIntegers();
  values[position] = value;
  tensor.setIntegers(values);
}
