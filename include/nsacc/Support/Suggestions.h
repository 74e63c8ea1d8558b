//===- Suggestions.h - Suggestions for unknown names ------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_SUGGESTIONS_H
#define NSACC_SUPPORT_SUGGESTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace nsacc {

/// The known name that is nearest to `unknown`; empty if none is near.
llvm::StringRef findNearest(llvm::StringRef unknown,
                            llvm::ArrayRef<llvm::StringRef> known);

/// "'T', 'S' and 'HQ'"
std::string quoteList(llvm::ArrayRef<std::string> names);

/// The type among bf16, f16 and f32 that another library's name means, as
/// "torch.float16" for f16; empty if it means none.
llvm::StringRef findStorageType(llvm::StringRef name);
/// "expected 'bf16', 'f16' or 'f32'", with a suggestion for `name`.
std::string explainStorageType(llvm::StringRef name);

} // namespace nsacc

#endif // NSACC_SUPPORT_SUGGESTIONS_H
