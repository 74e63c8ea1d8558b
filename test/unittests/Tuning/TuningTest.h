//===- TuningTest.h - Kernels to tune ---------------------------*- C++ -*-===//

#ifndef NSACC_UNITTESTS_TUNING_TUNINGTEST_H
#define NSACC_UNITTESTS_TUNING_TUNINGTEST_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Pipelines/Phases.h"
#include "nsacc/Tuning/Space.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gmock/gmock.h>

namespace nsacc::tuning {

class TuningTest : public testing::Test {
protected:
  TuningTest() : context(mlir::MLIRContext::Threading::DISABLED) {}

  nsa::KernelOp compile(llvm::StringRef text) {
    module = frontend::compile(llvm::MemoryBufferRef(text, "f.nsa"),
                               frontend::Options(), context);
    EXPECT_TRUE(module && mlir::succeeded(runPhases(*module, Phase::NSA)));
    return *module->getOps<nsa::KernelOp>().begin();
  }
  static schedule::Goal getGoal(llvm::StringRef device) {
    return {device.empty() ? std::nullopt
                           : std::optional(*gpu::findDevice(device))};
  }
  static DimSizes
  makeSizes(std::initializer_list<std::pair<llvm::StringRef, int64_t>> given) {
    DimSizes sizes;
    for (auto [name, size] : given)
      sizes.sizes[name] = size;
    return sizes;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace nsacc::tuning

#endif // NSACC_UNITTESTS_TUNING_TUNINGTEST_H
