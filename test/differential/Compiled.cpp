//===- Compiled.cpp - Compiles the program of a case ----------------------===//

#include "Compiled.h"
#include "NSA/Transforms/Passes.h"
#include "NSATile/IR/NSATileDialect.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "nsacc/Frontend/Diagnostics.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Pipelines/Phases.h"

using namespace nsacc;
using namespace nsacc::differential;

/// What was reported, for an error.
static llvm::Error makeError(frontend::DiagnosticCollector &collector,
                             llvm::StringRef otherwise) {
  for (const frontend::DiagnosticData &diagnostic : collector.take())
    if (diagnostic.severity == frontend::DiagnosticData::Severity::Error)
      return llvm::createStringError(diagnostic.message);
  return llvm::createStringError(otherwise);
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
nsacc::differential::importProgram(const Case &testCase,
                                   mlir::MLIRContext &context) {
  frontend::DiagnosticCollector collector(context);
  frontend::Options options;
  options.dtype = testCase.dtype;
  auto module = frontend::compile(
      llvm::MemoryBufferRef(testCase.program, "program.nsa"), options, context);
  if (!module)
    return makeError(collector, "the front end failed without a message");
  if (mlir::failed(runPhases(*module, Phase::NSA)))
    return makeError(collector, "phase nsa failed without a message");
  return module;
}

static mlir::Attribute makeSchedule(const Schedule &schedule,
                                    mlir::MLIRContext *context) {
  auto order = nsatile::symbolizeLoopOrder(schedule.order);
  return nsatile::ScheduleAttr::get(
      context, order.value_or(nsatile::LoopOrder::QueryMajor), schedule.tokens,
      schedule.keys, schedule.splits);
}

llvm::Expected<std::unique_ptr<cpu::Executable>>
nsacc::differential::compile(const Case &testCase, mlir::ModuleOp module) {
  mlir::MLIRContext *context = module.getContext();
  context->loadDialect<nsatile::NSATileDialect>();
  frontend::DiagnosticCollector collector(*context);
  mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
  if (testCase.schedule)
    for (auto kernel : copy->getOps<nsa::KernelOp>())
      kernel->setAttr(nsatile::NSATileDialect::getScheduleAttrName(),
                      makeSchedule(*testCase.schedule, context));
  nsa::NSASpecializeOptions specialize;
  for (const auto &[name, size] : testCase.sizes)
    specialize.dims.push_back(name + "=" + std::to_string(size));
  mlir::PassManager passes(context);
  passes.addPass(nsa::createNSASpecialize(specialize));
  passes.addPass(createConvertNSAToNSATile());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  if (mlir::failed(passes.run(*copy)))
    return makeError(collector, "tiling failed without a message");
  cpu::Options options;
  options.threads = 2;
  auto executable = cpu::compile(*copy, options);
  if (executable)
    return executable;
  return makeError(collector, llvm::toString(executable.takeError()));
}
