//===- Targets.h - What programs can run on ---------------------*- C++ -*-===//

#ifndef NSACC_PIPELINES_TARGETS_H
#define NSACC_PIPELINES_TARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace nsacc {

enum class Target {
  CPU,   ///< this machine's processor
  Oracle ///< the interpreter in fp64
};

struct TargetInfo {
  Target target;
  llvm::StringLiteral name, description;
};

/// The targets of this build; the first is the default.
llvm::ArrayRef<TargetInfo> getTargets();
llvm::StringRef getName(Target target);
std::optional<Target> parseTarget(llvm::StringRef name);

/// Why `name` isn't one of them: "target 'cuda' isn't built yet".
std::string explainMissingTarget(llvm::StringRef name);

} // namespace nsacc

#endif // NSACC_PIPELINES_TARGETS_H
