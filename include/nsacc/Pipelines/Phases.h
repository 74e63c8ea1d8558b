//===- Phases.h - The named stages of compilation ---------------*- C++ -*-===//

#ifndef NSACC_PIPELINES_PHASES_H
#define NSACC_PIPELINES_PHASES_H

#include "nsacc/GPU/Device.h"
#include "nsacc/Schedule/QueryCount.h"
#include "nsacc/Schedule/Settings.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
struct LogicalResult;
} // namespace llvm

namespace mlir {
class ModuleOp;
class OpPassManager;
class PassManager;
} // namespace mlir

namespace nsacc {

/// Stages of compilation. `--emit`, dumps and tests use the names of the
/// phases. Each phase starts where the previous one ended.
enum class Phase {
  Frontend, ///< IR that the front end generated
  NSA,      ///< canonical IR, without common subexpressions
  Tile,     ///< programs over tiles and their launch plan
  TileOpt,  ///< for a GPU: with layouts
  NVVM      ///< for a GPU: kernels in the LLVM dialect
};

/// Every phase, in the order of compilation.
llvm::ArrayRef<Phase> getPhases();

/// "frontend", "nsa", "tile", "tile-opt", "nvvm"
llvm::StringRef getName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// One line for help texts.
llvm::StringRef getDescription(Phase phase);

/// Options of the phases after `nsa`.
struct PhaseOptions {
  /// Sizes of heads and channels, "HQ=16".
  std::vector<std::string> sizes;
  /// Fields of schedules that are given; the compiler chooses the others.
  schedule::Settings schedule;
  /// The GPU to compile for; none: the CPU. Phases after `tile` need one.
  std::optional<gpu::Device> device;
  /// The number of queries of the calls that schedules are chosen for, by
  /// QueryCount.
  Queries queries = Queries::Any;
};

/// Adds the passes of one phase alone. Fails if the phase needs a device and
/// there is none.
llvm::Error addPhase(mlir::OpPassManager &manager, Phase phase,
                     const PhaseOptions &options = {});

/// Called with each pass manager before it runs on the module: adds timing,
/// dumps and the like.
using PreparePasses =
    llvm::function_ref<void(mlir::PassManager &, mlir::ModuleOp, Phase)>;

/// Runs one phase alone on a module. Errors are diagnostics of the module's
/// context.
llvm::LogicalResult runPhase(mlir::ModuleOp module, Phase phase,
                             const PhaseOptions &options = {},
                             PreparePasses prepare = {});

/// Takes a module from the front end up to the end of `phase`.
llvm::LogicalResult runPhases(mlir::ModuleOp module, Phase phase,
                              const PhaseOptions &options = {},
                              PreparePasses prepare = {});

/// Registers one pipeline for each phase: `nsacc-frontend-phase`,
/// `nsacc-nsa-phase`, `nsacc-tile-phase`, `nsacc-tile-opt-phase`,
/// `nsacc-nvvm-phase`. Call once, from a tool.
void registerPhasePipelines();

} // namespace nsacc

#endif // NSACC_PIPELINES_PHASES_H
