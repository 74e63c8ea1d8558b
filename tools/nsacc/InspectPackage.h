//===- InspectPackage.h - What a package has --------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_INSPECTPACKAGE_H
#define NSACC_TOOLS_NSACC_INSPECTPACKAGE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace nsacc {

/// Prints a package's kernel, variants with their guards, and code; or all that
/// is in it but for images, as JSON. Variants that no call runs are warnings.
llvm::Error printPackage(llvm::StringRef path, bool asJSON,
                         llvm::raw_ostream &os);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_INSPECTPACKAGE_H
