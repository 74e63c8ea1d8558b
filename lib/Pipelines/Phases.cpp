//===- Phases.cpp - The named stages of compilation -----------------------===//

#include "nsacc/Pipelines/Phases.h"
#include "NSA/Transforms/Passes.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "nsacc/Target/CUDA/Lowering.h"

using namespace mlir;
using namespace nsacc;

llvm::ArrayRef<Phase> nsacc::getPhases() {
  static constexpr Phase phases[] = {Phase::Frontend, Phase::NSA, Phase::Tile,
                                     Phase::TileOpt, Phase::NVVM};
  return phases;
}

StringRef nsacc::getName(Phase phase) {
  switch (phase) {
  case Phase::Frontend:
    return "frontend";
  case Phase::NSA:
    return "nsa";
  case Phase::Tile:
    return "tile";
  case Phase::TileOpt:
    return "tile-opt";
  case Phase::NVVM:
    return "nvvm";
  }
  llvm_unreachable("unknown phase");
}

std::optional<Phase> nsacc::parsePhase(StringRef name) {
  for (Phase phase : getPhases())
    if (getName(phase) == name)
      return phase;
  return std::nullopt;
}

StringRef nsacc::getDescription(Phase phase) {
  switch (phase) {
  case Phase::Frontend:
    return "the nsa dialect as the front end generated it";
  case Phase::NSA:
    return "the nsa dialect, canonical and without common subexpressions";
  case Phase::Tile:
    return "programs over tiles and their launch plan, for given sizes of "
           "heads "
           "and channels";
  case Phase::TileOpt:
    return "for a GPU: tiles with layouts, in registers or in shared memory";
  case Phase::NVVM:
    return "for a GPU: kernels in the LLVM dialect";
  }
  llvm_unreachable("unknown phase");
}

static const cuda::Architecture &getArchitecture(StringRef name) {
  const cuda::Architecture *known = cuda::findArchitecture(name);
  return known ? *known : cuda::getArchitectureTable().front();
}

static void addTilePhase(OpPassManager &manager, const PhaseOptions &options) {
  nsa::NSASpecializeOptions specialize;
  specialize.dims.assign(options.sizes.begin(), options.sizes.end());
  manager.addPass(nsa::createNSASpecialize(specialize));
  // A GPU's tiles fit its registers.
  bool isForGPU = !options.architecture.empty();
  if (!options.schedule.empty() || isForGPU) {
    bool hasWarpgroups =
        isForGPU && getArchitecture(options.architecture).hasWarpgroupProducts;
    manager.addPass(createNSASetSchedule({options.schedule, hasWarpgroups,
                                          isForGPU && !hasWarpgroups,
                                          options.hasManyQueries}));
  }
  ConvertNSAToNSATileOptions convert;
  if (isForGPU) {
    convert.exactPrograms = true;
    // Registers and shared memory hold what the CPU has on its stack.
    convert.mostSelected = 256;
    convert.mostShared = 256;
    convert.longestWindow = (1 << 27) - 1;
    convert.mostChannels = 2048;
    convert.mostGroup = 1024;
    // They compile within a minute.
    convert.mostInstructions = 80'000;
  }
  manager.addPass(createConvertNSAToNSATile(convert));
  manager.addPass(nsatile::createNSATileOnlineSoftmax());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void nsacc::addPhase(OpPassManager &manager, Phase phase,
                     const PhaseOptions &options) {
  switch (phase) {
  case Phase::Frontend:
    return;
  case Phase::NSA:
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    return;
  case Phase::Tile:
    addTilePhase(manager, options);
    return;
  case Phase::TileOpt:
    cuda::buildTilePipeline(manager, getArchitecture(options.architecture));
    return;
  case Phase::NVVM:
    cuda::buildKernelPipeline(manager, getArchitecture(options.architecture));
    return;
  }
}

LogicalResult nsacc::runPhase(ModuleOp module, Phase phase,
                              const PhaseOptions &options,
                              PreparePasses prepare) {
  PassManager manager(module.getContext(), module->getName().getStringRef());
  addPhase(manager, phase, options);
  if (prepare)
    prepare(manager, module, phase);
  return manager.run(module);
}

LogicalResult nsacc::runPhases(ModuleOp module, Phase last,
                               const PhaseOptions &options,
                               PreparePasses prepare) {
  for (Phase phase : getPhases()) {
    if (failed(runPhase(module, phase, options, prepare)))
      return failure();
    if (phase == last)
      break;
  }
  return success();
}

namespace {

struct TilePhaseOptions : PassPipelineOptions<TilePhaseOptions> {
  ListOption<std::string> dims{
      *this, "dims",
      llvm::cl::desc("sizes of heads and channels as NAME=SIZE, …")};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("parameters of #nsatile.schedule as NAME=VALUE, …")};
  Option<std::string> architecture{
      *this, "architecture", llvm::cl::desc("GPU that tiles are chosen for")};
  Option<bool> hasManyQueries{
      *this, "many-queries",
      llvm::cl::desc("tiles are chosen for many queries")};
};

struct GPUPhaseOptions : PassPipelineOptions<GPUPhaseOptions> {
  Option<std::string> architecture{
      *this, "architecture", llvm::cl::desc("GPU to compile for, as sm_90a")};
};

} // namespace

static std::string describePipeline(Phase phase) {
  return "Phase: " + getDescription(phase).str();
}

static std::string namePipeline(Phase phase) {
  return "nsacc-" + getName(phase).str() + "-phase";
}

void nsacc::registerPhasePipelines() {
  for (Phase phase : {Phase::Frontend, Phase::NSA})
    PassPipelineRegistration<>(
        namePipeline(phase), describePipeline(phase),
        [phase](OpPassManager &manager) { addPhase(manager, phase); });
  PassPipelineRegistration<TilePhaseOptions>(
      namePipeline(Phase::Tile), describePipeline(Phase::Tile),
      [](OpPassManager &manager, const TilePhaseOptions &given) {
        PhaseOptions options;
        options.sizes.assign(given.dims.begin(), given.dims.end());
        options.schedule = given.schedule;
        options.architecture = given.architecture;
        options.hasManyQueries = given.hasManyQueries;
        addPhase(manager, Phase::Tile, options);
      });
  for (Phase phase : {Phase::TileOpt, Phase::NVVM})
    PassPipelineRegistration<GPUPhaseOptions>(
        namePipeline(phase), describePipeline(phase),
        [phase](OpPassManager &manager, const GPUPhaseOptions &given) {
          PhaseOptions options;
          options.architecture = given.architecture;
          addPhase(manager, phase, options);
        });
}
