//===- ManySizes.h - nsacc tune --dims-file ---------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_MANYSIZES_H
#define NSACC_TOOLS_NSACC_MANYSIZES_H

#include "nsacc/Tuning/Shapes.h"

namespace nsacc {

/// The shapes of files of JSON, [{"B": 1, "T": 4096}, {"B": 2, "T": [9, 30]}].
struct ManySizes {
  std::vector<DimSizes> shapes, heldOut;
};

/// Each shape once; warns of others. There may be no file of held-out shapes.
llvm::Expected<ManySizes> readManySizes(llvm::StringRef path,
                                        llvm::StringRef heldOutPath,
                                        const Signature &signature);

/// The times of all shapes, the rule, whether it passed, and whether it was
/// kept.
void printManySizes(const tuning::ShapesResult &result,
                    const tuning::ShapesOptions &options);

/// Where it was kept; or why not, which `why` says unless it is the store.
void printKept(bool isKept, const std::string &why,
               const tuning::TuneOptions &options);

/// Why nothing is kept where the time was over before `what` was compared.
std::string spellTooShort(const std::string &what);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_MANYSIZES_H
