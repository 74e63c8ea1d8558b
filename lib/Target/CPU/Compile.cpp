//===- Compile.cpp - From tile programs to a package ----------------------===//

#include "Link.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include "nsacc/RT/Host.h"
#include "nsacc/Support/CompilerErrors.h"
#include "nsacc/Support/Version.h"
#include "nsacc/Target/CPU/CPU.h"
#include "nsacc/Target/Plan/ReadPlan.h"

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;

static Expected<nsatile::PlanOp> findPlan(mlir::ModuleOp module,
                                          StringRef name) {
  SmallVector<nsatile::PlanOp> plans;
  for (auto plan : module.getOps<nsatile::PlanOp>())
    if (name.empty() || plan.getSymName() == name)
      plans.push_back(plan);
  if (plans.size() == 1)
    return plans.front();
  if (plans.empty())
    return createStringError(name.empty()
                                 ? "the module has no plan to run"
                                 : "the module has no plan '" + name + "'");
  return createStringError("the module has " + Twine(plans.size()) +
                           " plans; expected the name of one");
}

/// "64 x 128"
static std::string describeLargest(mlir::Operation *function) {
  auto type = function->getAttrOfType<mlir::TypeAttr>(kLargestScratchAttrName);
  std::string text;
  raw_string_ostream stream(text);
  interleave(cast<mlir::MemRefType>(type.getValue()).getShape(), stream, " x ");
  return text;
}

static Expected<int64_t> getScratch(mlir::ModuleOp module) {
  int64_t most = 0;
  mlir::Operation *largest = nullptr;
  for (mlir::Operation &op : *module.getBody()) {
    auto bytes = op.getAttrOfType<mlir::IntegerAttr>(kScratchBytesAttrName);
    if (!bytes || bytes.getInt() <= most)
      continue;
    most = bytes.getInt();
    largest = &op;
  }
  rt::Problem problem = rt::checkStack(most);
  if (!problem)
    return most;
  std::string message = *problem + ", the largest of them " +
                        describeLargest(largest) +
                        " elements; use smaller tiles or raise the stack limit";
  largest->emitError(message);
  auto name = largest->getAttrOfType<mlir::StringAttr>(
      mlir::SymbolTable::getSymbolAttrName());
  return make_error<NoRoomError>(message, std::vector<std::string>{name.str()});
}

using BuildPipeline = void(mlir::OpPassManager &, unsigned vectorBits);

/// Returns the bytes of stack that a program takes.
static Expected<int64_t> lower(mlir::ModuleOp module, BuildPipeline build,
                               const Processor &processor,
                               const Options &options,
                               mlir::TimingScope &timing) {
  mlir::DialectRegistry registry;
  registerLowering(registry);
  module.getContext()->appendDialectRegistry(registry);
  mlir::PassManager passes(module.getContext());
  passes.enableTiming(timing);
  build(passes, processor.getVectorBits());
  if (options.preparePasses)
    options.preparePasses(passes, module);
  if (mlir::failed(passes.run(module)))
    return createStringError("the programs couldn't be lowered for the CPU");
  return getScratch(module);
}

/// The architecture's name in packages: the level that was asked for, which
/// other machines can look for, or the name of this processor's code.
static std::string getArchitecture(const Options &options) {
  return isLevel(options) ? options.cpu : rt::kThisProcessor;
}

/// Processors without AVX2 are older than 2013.
ArrayRef<StringLiteral> nsacc::cpu::getPackageLevels() {
  static constexpr StringLiteral levels[] = {"x86-64-v4", "x86-64-v3"};
  return levels;
}

bool nsacc::cpu::isLevel(const Options &options) {
  return options.features.empty() &&
         is_contained({"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"},
                      StringRef(options.cpu));
}

std::string nsacc::cpu::describeProcessor(const Options &options) {
  Expected<Processor> processor = getProcessor(options.cpu, options.features);
  if (!processor) {
    consumeError(processor.takeError()); // compiling reports it
    return "unknown";
  }
  return processor->triple + " " + processor->name + " " +
         processor->getFeatureString() + ", " + getArchitecture(options) +
         ", " + std::to_string(rt::getStackBytes()) + " bytes of stack";
}

/// Lowering to vectors shows how much is on the stack; lowering on to LLVM
/// would take twenty times as long.
Error nsacc::cpu::checkRoom(mlir::ModuleOp module, const Options &options) {
  mlir::TimingScope none;
  Expected<Processor> processor = getProcessor(options.cpu, options.features);
  if (!processor)
    return processor.takeError();
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  return lower(*copy, buildVectorPipeline, *processor, options, none)
      .takeError();
}

Expected<rt::Package> nsacc::cpu::compileToPackage(mlir::ModuleOp module,
                                                   const Options &options) {
  mlir::TimingScope none;
  mlir::TimingScope &timing = options.timing ? *options.timing : none;
  Expected<Processor> processor = getProcessor(options.cpu, options.features);
  if (!processor)
    return processor.takeError();
  Expected<nsatile::PlanOp> planOp = findPlan(module, options.plan);
  if (!planOp)
    return planOp.takeError();
  mlir::FailureOr<KernelPlan> plan =
      readPlan(*planOp, {.target = "the CPU target",
                         .maxRank = rt::kMaxRank,
                         .signature = options.signature});
  if (mlir::failed(plan))
    return createStringError("the plan couldn't be read");

  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Expected<int64_t> stackBytes =
      lower(*copy, buildLoweringPipeline, *processor, options, timing);
  if (!stackBytes)
    return stackBytes.takeError();
  auto objects = compileObjects(*copy, *processor, options.threads, timing);
  if (!objects)
    return objects.takeError();
  mlir::TimingScope linking = timing.nest("link machine code");
  auto linked = link(*objects, *processor);
  if (!linked)
    return linked.takeError();
  rt::Package package;
  package.compiler = getVersion();
  package.kernel = planOp->getSymName().str();
  package.parameters = std::move(plan->parameters);
  package.images.emplace_back().host = std::move(*linked);
  rt::TargetCode &code = package.variants.emplace_back().targets.emplace_back();
  code.architecture = getArchitecture(options);
  code.stackBytes = *stackBytes;
  code.assertions = readAssertions(*copy);
  code.plan = std::move(plan->plan);
  return package;
}

Expected<std::string> nsacc::cpu::compileToAssembly(mlir::ModuleOp module,
                                                    const Options &options) {
  mlir::TimingScope none;
  mlir::TimingScope &timing = options.timing ? *options.timing : none;
  Expected<Processor> processor = getProcessor(options.cpu, options.features);
  if (!processor)
    return processor.takeError();
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  if (auto stackBytes =
          lower(*copy, buildLoweringPipeline, *processor, options, timing);
      !stackBytes)
    return stackBytes.takeError();
  return writeAssembly(*copy, *processor, timing);
}

Expected<std::unique_ptr<Executable>>
nsacc::cpu::compile(mlir::ModuleOp module, const Options &options) {
  Expected<rt::Package> package = compileToPackage(module, options);
  return package ? load(std::move(*package)) : package.takeError();
}
