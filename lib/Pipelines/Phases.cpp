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
#include "nsacc/GPU/DeviceOption.h"
#include "nsacc/Schedule/Choose.h"
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

static void addTilePhase(OpPassManager &manager, const PhaseOptions &options) {
  nsa::NSASpecializeOptions specialize;
  specialize.dims.assign(options.sizes.begin(), options.sizes.end());
  manager.addPass(nsa::createNSASpecialize(specialize));
  manager.addPass(
      createNSASetSchedule({schedule::SettingsOption(options.schedule),
                            options.device, options.queries}));
  ConvertNSAToNSATileOptions convert;
  // The tokens that share a selection are in one tile.
  convert.mostShared = schedule::getInfo(schedule::Field::Tokens).most;
  if (options.device) {
    // Registers and shared memory hold the data that the CPU has on its stack.
    convert.mostSorted = schedule::kMostSorted;
    convert.mostShared = 256;
    convert.longestWindow = (1 << 27) - 1;
    convert.mostChannels = 2048;
    convert.mostGroup = 1024;
    // A block's most threads, times the registers of each.
    convert.mostScores = 1024 * 256;
    // Such programs compile within a minute.
    convert.mostInstructions = 80'000;
    convert.multiprocessors = options.device->limits.multiprocessors;
  }
  manager.addPass(createConvertNSAToNSATile(convert));
  manager.addPass(nsatile::createNSATileOnlineSoftmax());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

llvm::Error nsacc::addPhase(OpPassManager &manager, Phase phase,
                            const PhaseOptions &options) {
  if (phase > Phase::Tile && !options.device)
    return llvm::createStringError("phase '" + getName(phase) +
                                   "' is of GPUs: expected a device, as "
                                   "device=sm_90a");
  switch (phase) {
  case Phase::Frontend:
    break;
  case Phase::NSA:
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    break;
  case Phase::Tile:
    addTilePhase(manager, options);
    break;
  case Phase::TileOpt:
    cuda::buildTilePipeline(manager, *options.device);
    break;
  case Phase::NVVM:
    cuda::buildKernelPipeline(manager, *options.device);
    break;
  }
  return llvm::Error::success();
}

LogicalResult nsacc::runPhase(ModuleOp module, Phase phase,
                              const PhaseOptions &options,
                              PreparePasses prepare) {
  PassManager manager(module.getContext(), module->getName().getStringRef());
  if (llvm::Error error = addPhase(manager, phase, options))
    return module.emitError(llvm::toString(std::move(error)));
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
  Option<schedule::SettingsOption> schedule{
      *this, "schedule",
      llvm::cl::desc(
          "fields of schedules as FIELD=VALUE,…;NAME:FIELD=VALUE,…")};
  Option<gpu::DeviceOption> device{
      *this, "device", llvm::cl::desc("GPU to compile for, as sm_90a")};
  Option<Queries> queries{
      *this, "queries",
      llvm::cl::desc("how many queries schedules are chosen for"),
      llvm::cl::init(Queries::Any), getQueriesValues()};

  operator PhaseOptions() const {
    return {{dims.begin(), dims.end()}, schedule, device, queries};
  }
};

struct GPUPhaseOptions : PassPipelineOptions<GPUPhaseOptions> {
  Option<gpu::DeviceOption> device{
      *this, "device", llvm::cl::desc("GPU to compile for, as sm_90a")};

  operator PhaseOptions() const { return {{}, {}, device}; }
};

struct NoPhaseOptions : PassPipelineOptions<NoPhaseOptions> {
  operator PhaseOptions() const { return {}; }
};

} // namespace

/// Registers the phase as a pipeline with options that become PhaseOptions.
template <typename Options> static void registerPhase(Phase phase) {
  using ErrorHandler = function_ref<LogicalResult(const Twine &)>;
  auto build = [phase](OpPassManager &manager, StringRef text,
                       ErrorHandler fail) -> LogicalResult {
    Options options;
    if (failed(options.parseFromString(text)))
      return failure();
    if (llvm::Error error = addPhase(manager, phase, options))
      return fail(llvm::toString(std::move(error)));
    return success();
  };
  registerPassPipeline(
      "nsacc-" + getName(phase).str() + "-phase",
      "Phase: " + getDescription(phase).str(), build,
      [](function_ref<void(const detail::PassOptions &)> show) {
        show(Options());
      });
}

void nsacc::registerPhasePipelines() {
  registerPhase<NoPhaseOptions>(Phase::Frontend);
  registerPhase<NoPhaseOptions>(Phase::NSA);
  registerPhase<TilePhaseOptions>(Phase::Tile);
  registerPhase<GPUPhaseOptions>(Phase::TileOpt);
  registerPhase<GPUPhaseOptions>(Phase::NVVM);
}
