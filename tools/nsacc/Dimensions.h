//===- Dimensions.h - Sizes given on the command line -----------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_DIMENSIONS_H
#define NSACC_TOOLS_NSACC_DIMENSIONS_H

#include "Settings.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// The flag of the command line that gives a name of a kernel its value.
struct FlagOfName {
  std::string kind;     ///< "a parameter"
  std::string spelling; ///< "--set top=…"
};

/// None for a name that the kernel doesn't have.
std::optional<FlagOfName> findFlag(const Signature &signature,
                                   llvm::StringRef name);

/// The sizes that `--dims T=4096,S=[5,0,127]` gives: each is a number, or for
/// ragged dimensions the lengths of the batch's rows.
llvm::Expected<DimSizes> readDimensions(const Settings &dims,
                                        const Signature &signature);

/// Reads the sizes of all inputs, none of which is given as a tensor. `what`
/// needs one call's sizes, "an explanation".
llvm::Expected<DimSizes> readAllDimensions(const Settings &dims,
                                           const Signature &signature,
                                           const llvm::Twine &what);

/// Fails if an input that isn't `given` needs a size that `sizes` lacks.
llvm::Error checkDimensions(const Signature &signature,
                            llvm::ArrayRef<const Tensor *> given,
                            const DimSizes &sizes);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_DIMENSIONS_H
