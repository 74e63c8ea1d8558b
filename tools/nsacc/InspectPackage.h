//===- InspectPackage.h - Content of a package ------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_INSPECTPACKAGE_H
#define NSACC_TOOLS_NSACC_INSPECTPACKAGE_H

#include "Settings.h"
#include "nsacc/RT/Package.h"
#include "nsacc/Tensor/Signature.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace nsacc {

/// Prints a line, with a column for its heading.
void printLine(llvm::raw_ostream &os, llvm::StringRef heading,
               llvm::StringRef text);

/// Prints a package's kernel, variants with their guards, and code; with sizes,
/// its launches and memory for them; or, as JSON, everything except images.
/// Warns of variants that no call runs.
llvm::Error printPackage(llvm::StringRef path, bool asJSON,
                         const Settings &dims, llvm::raw_ostream &os);

/// Prints for each architecture the variant that a call with these sizes runs,
/// bytes of its buffers and workspace, and its launches with their grids.
/// `dims` has the sizes of all inputs, except the ones that the package fixes.
llvm::Error printForSizes(const rt::Package &package,
                          const Signature &signature, const Settings &dims,
                          llvm::raw_ostream &os);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_INSPECTPACKAGE_H
