//===- Phases.h - The named stages of compilation ---------------*- C++ -*-===//

#ifndef NSACC_PIPELINES_PHASES_H
#define NSACC_PIPELINES_PHASES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace llvm {
struct LogicalResult;
} // namespace llvm

namespace mlir {
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace nsacc {

/// How far a program has been compiled. `--emit`, dumps and tests use the names
/// of the phases. Each phase starts where the one before it ended.
enum class Phase {
  Frontend, ///< as the front end generated it
  NSA       ///< canonical, without common subexpressions
};

/// Every phase, in the order of compilation.
llvm::ArrayRef<Phase> getPhases();

/// "frontend", "nsa"
llvm::StringRef getName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// One line for help texts.
llvm::StringRef getDescription(Phase phase);

/// Adds the passes of one phase alone.
void addPhase(mlir::OpPassManager &manager, Phase phase);

/// Takes a module from the front end up to the end of `phase`. Problems are
/// diagnostics of the module's context.
llvm::LogicalResult runPhases(mlir::ModuleOp module, Phase phase);

/// Registers one pipeline for each phase: `nsacc-frontend-phase`,
/// `nsacc-nsa-phase`. Call once, from a tool.
void registerPhasePipelines();

} // namespace nsacc

#endif // NSACC_PIPELINES_PHASES_H
