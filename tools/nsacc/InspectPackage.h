//===- InspectPackage.h - What a package has --------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_INSPECTPACKAGE_H
#define NSACC_TOOLS_NSACC_INSPECTPACKAGE_H

#include "Settings.h"
#include "nsacc/RT/Package.h"
#include "nsacc/Tensor/Signature.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace nsacc {

/// A line with a column for its heading.
void printLine(llvm::raw_ostream &os, llvm::StringRef heading,
               llvm::StringRef text);

/// Prints a package's kernel, variants with their guards, and code; with sizes,
/// what it takes for them; or all that is in it but for images, as JSON.
/// Variants that no call runs are warnings.
llvm::Error printPackage(llvm::StringRef path, bool asJSON,
                         const Settings &dims, llvm::raw_ostream &os);

/// For each architecture, the variant that a call with these sizes runs, bytes
/// of its buffers and workspace, and its launches with their grids. `dims` has
/// the sizes of all inputs, but for those that the package is for.
llvm::Error printForSizes(const rt::Package &package,
                          const Signature &signature, const Settings &dims,
                          llvm::raw_ostream &os);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_INSPECTPACKAGE_H
