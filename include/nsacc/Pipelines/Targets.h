//===- Targets.h - Targets that programs can run on -------------*- C++ -*-===//

#ifndef NSACC_PIPELINES_TARGETS_H
#define NSACC_PIPELINES_TARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace nsacc::gpu {
struct Device;
} // namespace nsacc::gpu

namespace nsacc {

enum class Target {
  CPU,    ///< this machine's processor
  Oracle, ///< the interpreter in fp64
  GPU     ///< an NVIDIA GPU
};

struct TargetInfo {
  Target target;
  std::string name, description;
  /// The GPU of that name; null for "cuda", which is the device of this
  /// machine.
  const gpu::Device *device = nullptr;
};

/// The targets of this build; the first is the default.
llvm::ArrayRef<TargetInfo> getTargets();
/// Null if there is no target of that name.
const TargetInfo *findTarget(llvm::StringRef name);

/// Says why `name` isn't a target: "target 'sm_75' is too old: …".
std::string explainMissingTarget(llvm::StringRef name);
/// The target that `name` is most likely meant for.
std::optional<std::string> suggestTarget(llvm::StringRef name);

} // namespace nsacc

#endif // NSACC_PIPELINES_TARGETS_H
