//===- Target.h - What a program runs on ------------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_TARGET_H
#define NSACC_TOOLS_NSACC_TARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace nsacc {

enum class Target {
  Oracle ///< the interpreter in fp64
};

struct TargetInfo {
  Target target;
  llvm::StringLiteral name, description;
};

/// The targets of this build.
llvm::ArrayRef<TargetInfo> getTargets();
llvm::StringRef getName(Target target);
std::optional<Target> parseTarget(llvm::StringRef name);
/// Why `name` isn't one of them.
llvm::Error rejectTarget(llvm::StringRef name);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_TARGET_H
