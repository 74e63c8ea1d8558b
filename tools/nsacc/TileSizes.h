//===- TileSizes.h - Phases that depend on sizes ----------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_TILESIZES_H
#define NSACC_TOOLS_NSACC_TILESIZES_H

#include "Program.h"
#include "Settings.h"

namespace CLI {
class App;
} // namespace CLI

namespace nsacc {

/// The options with the sizes that kernels' code depends on, from --dims. Other
/// dimensions stay open.
llvm::Expected<PhaseOptions> findTileSizes(mlir::ModuleOp module,
                                           const Settings &dims);

/// Takes the program to the end of `phase`, with the sizes of --dims if the
/// phase depends on sizes, for a GPU if there is one, else for the CPU.
ExitCode compilePhases(Program &program, llvm::ArrayRef<std::string> dims,
                       llvm::StringRef schedule, Phase phase,
                       const std::optional<gpu::Device> &device);

/// Adds --dims for phases after `nsa`.
void addTileSizesFlag(CLI::App &command, std::vector<std::string> &dims,
                      const std::string &more = "");

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_TILESIZES_H
