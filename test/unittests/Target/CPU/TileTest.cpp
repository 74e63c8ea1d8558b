//===- TileTest.cpp - Runs tile programs in tests -------------------------===//

#include "TileTest.h"
#include "NSA/IR/NSADialect.h"
#include "NSATile/IR/NSATileDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Tensor/RandomInputs.h"
#include "llvm/TargetParser/Host.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::cpu;

std::string cpu::typeOf(llvm::ArrayRef<int64_t> shape,
                        llvm::StringRef element) {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element.str();
}

std::vector<std::string> cpu::getVectorFeatures() {
  std::vector<std::string> features = {""};
  auto host = llvm::sys::getHostCPUFeatures();
  if (host.lookup("avx512f"))
    features.push_back("-avx512f,-avx512vl,-avx512bw,-avx512dq");
  return features;
}

TileTest::TileTest()
    : context(
          [] {
            mlir::DialectRegistry registry;
            registry.insert<nsa::NSADialect, nsatile::NSATileDialect>();
            return registry;
          }(),
          mlir::MLIRContext::Threading::DISABLED) {}

std::string TileTest::substitute(std::string text,
                                 const Substitutions &values) {
  std::vector<std::pair<std::string, std::string>> sorted(values.begin(),
                                                          values.end());
  llvm::sort(sorted, [](auto &lhs, auto &rhs) {
    return lhs.first.size() > rhs.first.size();
  });
  for (auto &[name, value] : sorted)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}

std::unique_ptr<Executable> TileTest::compileText(const std::string &text,
                                                  Options options) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "can't parse\n" << text;
    return nullptr;
  }
  if (makePass) {
    mlir::PassManager passes(&context);
    passes.addPass(makePass());
    if (mlir::failed(passes.run(*module))) {
      ADD_FAILURE() << "a pass failed\n" << text;
      return nullptr;
    }
  }
  auto executable = cpu::compile(*module, options);
  if (!executable) {
    ADD_FAILURE() << llvm::toString(executable.takeError()) << "\n" << text;
    return nullptr;
  }
  return std::move(*executable);
}

std::string TileTest::compileError(const std::string &text, Options options) {
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          messages += diagnostic.str() + "\n";
                                        });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "can't parse: " + messages;
  auto executable = cpu::compile(*module, options);
  if (executable)
    return "no error";
  return messages + llvm::toString(executable.takeError());
}

void TileTest::run(const std::string &text, llvm::ArrayRef<Tensor> tensors,
                   Options options) {
  auto executable = compileText(text, options);
  if (!executable)
    return;
  llvm::Error error = executable->run(tensors);
  if (error)
    ADD_FAILURE() << llvm::toString(std::move(error)) << "\n" << text;
}

Tensor TileTest::random(DType dtype, llvm::ArrayRef<int64_t> shape,
                        unsigned seed) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  RandomStream stream(seed, "test");
  std::vector<double> values(tensor.getNumElements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = stream.drawInteger(i, -2048, 2047) / 1024.0;
  tensor.setReals(values);
  return tensor;
}

Tensor TileTest::fromReals(DType dtype, llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<double> values) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  tensor.setReals(values);
  return tensor;
}

void TileTest::expectNear(llvm::ArrayRef<double> found,
                          llvm::ArrayRef<double> expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << "element " << i << ": " << found[i];
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(found[i], expected[i]) << "element " << i;
    } else {
      EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
    }
    if (testing::Test::HasFailure())
      return;
  }
}
