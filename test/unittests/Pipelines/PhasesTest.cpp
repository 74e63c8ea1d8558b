//===- PhasesTest.cpp - The named stages of compilation -------------------===//

#include "nsacc/Pipelines/Phases.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nsacc;

namespace {

TEST(PhasesTest, NamesAreReadBack) {
  for (Phase phase : getPhases())
    EXPECT_EQ(parsePhase(getName(phase)), phase);
  EXPECT_EQ(parsePhase("ptx"), std::nullopt);
  EXPECT_EQ(parsePhase(""), std::nullopt);
}

TEST(PhasesTest, RunsUpToAPhase) {
  MLIRContext context;
  context.loadDialect<nsa::NSADialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    nsa.kernel @dead(%x: !nsa.tensor<[B], f32>) -> !nsa.tensor<[B], f32> {
      %y = nsa.map(%x) : (!nsa.tensor<[B], f32>) -> !nsa.tensor<[B], f32> {
      ^bb0(%e: f32):
        %z = arith.addf %e, %e : f32
        nsa.yield %z : f32
      }
      nsa.return %x : !nsa.tensor<[B], f32>
    })",
                                            &context);
  ASSERT_TRUE(module);
  auto countMaps = [&] {
    unsigned maps = 0;
    module->walk([&](nsa::MapOp) { ++maps; });
    return maps;
  };
  ASSERT_TRUE(succeeded(runPhases(*module, Phase::Frontend)));
  EXPECT_EQ(countMaps(), 1u);
  ASSERT_TRUE(succeeded(runPhases(*module, Phase::NSA)));
  EXPECT_EQ(countMaps(), 0u);
}

// Phases have no default device.
TEST(PhasesTest, PhasesOfGPUsNeedADevice) {
  MLIRContext context;
  auto module = parseSourceString<ModuleOp>("module {}", &context);
  std::string message;
  ScopedDiagnosticHandler collect(
      &context, [&](Diagnostic &found) { message = found.str(); });
  for (Phase phase : {Phase::TileOpt, Phase::NVVM}) {
    EXPECT_TRUE(failed(runPhase(*module, phase)));
    EXPECT_EQ(message, "phase '" + getName(phase).str() +
                           "' is of GPUs: expected a device, as "
                           "device=sm_90a");
  }
}

} // namespace
