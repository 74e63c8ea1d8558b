//===- ReproducerTest.cpp - Modules that run a pipeline again -------------===//

#include "nsacc/Driver/Reproducer.h"
#include "NSA/IR/NSADialect.h"
#include "NSA/Transforms/Passes.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "nsacc/Pipelines/Phases.h"
#include <gtest/gtest.h>

using namespace nsacc;

TEST(ReproducerTest, RunsThePipelineAgain) {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  nsa::registerNSAPasses();
  nsatile::registerNSATilePasses();
  registerNSAToNSATilePasses();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nsa::NSADialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>("module {}", &context);
  ASSERT_TRUE(module);
  mlir::PassManager manager(&context);
  // A device with changed limits is written completely.
  gpu::Device device = *gpu::findDevice("sm_86");
  device.name = "NVIDIA {A40}";
  device.limits.multiprocessors = 10;
  ASSERT_FALSE(static_cast<bool>(
      addPhase(manager, Phase::Tile,
               {{"HQ=8", "D=64"},
                llvm::cantFail(schedule::Settings::parse(
                    "order=union; flash: tokens=16, softmax=rows")),
                device})));
  std::string text = makeReproducer(manager, *module);

  mlir::PassReproducerOptions options;
  mlir::ParserConfig config(&context);
  options.attachResourceParser(config);
  auto again = mlir::parseSourceString<mlir::ModuleOp>(text, config);
  ASSERT_TRUE(again) << text;
  mlir::PassManager second(&context);
  ASSERT_TRUE(mlir::succeeded(options.apply(second))) << text;
  auto print = [](mlir::PassManager &manager) {
    std::string pipeline;
    llvm::raw_string_ostream os(pipeline);
    manager.printAsTextualPipeline(os);
    return pipeline;
  };
  EXPECT_EQ(print(second), print(manager));
  EXPECT_NE(text.find("disable_threading: true"), std::string::npos);
}
