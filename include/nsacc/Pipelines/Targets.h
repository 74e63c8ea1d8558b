//===- Targets.h - What programs can run on ---------------------*- C++ -*-===//

#ifndef NSACC_PIPELINES_TARGETS_H
#define NSACC_PIPELINES_TARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace nsacc {

enum class Target {
  CPU,    ///< this machine's processor
  Oracle, ///< the interpreter in fp64
  CUDA,   ///< a GPU, with code for the device that runs it
  SM90A,  ///< a GPU of compute capability 9.0
  SM80    ///< a GPU of compute capability 8.0 or later
};

struct TargetInfo {
  Target target;
  llvm::StringLiteral name, description;
};

/// The targets of this build; the first is the default.
llvm::ArrayRef<TargetInfo> getTargets();
llvm::StringRef getName(Target target);
/// Whether programs run on a GPU.
bool isGPU(Target target);
std::optional<Target> parseTarget(llvm::StringRef name);

/// Why `name` isn't one of them: "target 'sm_100' isn't built yet".
std::string explainMissingTarget(llvm::StringRef name);
/// The target that a GPU of an architecture without one of its own needs.
std::optional<llvm::StringRef> suggestTarget(llvm::StringRef name);

} // namespace nsacc

#endif // NSACC_PIPELINES_TARGETS_H
