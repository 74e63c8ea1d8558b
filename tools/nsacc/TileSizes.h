//===- TileSizes.h - Phases that depend on sizes ----------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_TILESIZES_H
#define NSACC_TOOLS_NSACC_TILESIZES_H

#include "Program.h"

namespace CLI {
class App;
} // namespace CLI

namespace nsacc {

/// Takes the program to the end of `phase`, with the sizes of --dims where that
/// depends on sizes.
ExitCode compilePhases(Program &program, llvm::ArrayRef<std::string> dims,
                       llvm::StringRef schedule, Phase phase);

/// --dims for phases behind `nsa`.
void addTileSizesFlag(CLI::App &command, std::vector<std::string> &dims);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_TILESIZES_H
