//===- ManySizes.h - nsacc tune --dims-file ---------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_MANYSIZES_H
#define NSACC_TOOLS_NSACC_MANYSIZES_H

#include "nsacc/Tuning/Shapes.h"

namespace nsacc {

/// The shapes of JSON files, [{"B": 1, "T": 4096}, {"B": 2, "T": [9, 30]}].
struct ManySizes {
  std::vector<DimSizes> shapes, heldOut;
};

/// Reads each shape once, and warns of repeated ones. The file of held-out
/// shapes may be missing.
llvm::Expected<ManySizes> readManySizes(llvm::StringRef path,
                                        llvm::StringRef heldOutPath,
                                        const Signature &signature);

/// Prints the times of all shapes, the rule, whether it passed, and whether it
/// was kept.
void printManySizes(const tuning::ShapesResult &result,
                    const tuning::ShapesOptions &options);

/// Prints where the rule was kept, or why not. An empty `why` means that the
/// store refused it.
void printKept(bool isKept, const std::string &why,
               const tuning::TuneOptions &options);

/// Why nothing is kept if the time ended before `what` was compared.
std::string spellTooShort(const std::string &what);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_MANYSIZES_H
