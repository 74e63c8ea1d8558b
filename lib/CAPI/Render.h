//===- Render.h - Diagnostics as people read them ---------------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_RENDER_H
#define NSACC_LIB_CAPI_RENDER_H

#include "Error.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace nsacc::capi {

/// Each diagnostic with its place, the line of `source`, a caret, and its
/// notes.
std::string render(llvm::ArrayRef<nsacc_diagnostic> diagnostics,
                   llvm::MemoryBufferRef source);

} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_RENDER_H
