//===- Suggestions.h - What an unknown name may mean ------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_SUGGESTIONS_H
#define NSACC_SUPPORT_SUGGESTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace nsacc {

/// The name that `unknown` is most likely meant as; empty where none is near.
llvm::StringRef findNearest(llvm::StringRef unknown,
                            llvm::ArrayRef<llvm::StringRef> known);

} // namespace nsacc

#endif // NSACC_SUPPORT_SUGGESTIONS_H
