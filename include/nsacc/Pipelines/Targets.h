//===- Targets.h - What programs can run on ---------------------*- C++ -*-===//

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
  /// The GPU that has that name; null for "cuda", which is whatever device the
  /// machine has.
  const gpu::Device *device = nullptr;
};

/// The targets of this build; the first is the default.
llvm::ArrayRef<TargetInfo> getTargets();
/// Null where there is none of that name.
const TargetInfo *findTarget(llvm::StringRef name);

/// Why `name` isn't one of them: "target 'sm_75' is too old: …".
std::string explainMissingTarget(llvm::StringRef name);
/// The target that `name` is most likely meant for.
std::optional<std::string> suggestTarget(llvm::StringRef name);

} // namespace nsacc

#endif // NSACC_PIPELINES_TARGETS_H
