//===- Check.h - Check of a candidate's results -----------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_CHECK_H
#define NSACC_LIB_TUNING_CHECK_H

#include "nsacc/Tuning/Tuner.h"

namespace nsacc::tuning {

/// Sizes of a call that the oracle computes in a moment, for which code of
/// `sizes` is right, too: heads and channels are the same, and tokens are no
/// multiple of any tile's. None where short ones don't fit the program.
std::optional<DimSizes> shortenSizes(const Signature &signature,
                                     const DimSizes &sizes,
                                     llvm::ArrayRef<std::string> specialized);

/// Runs a package in a worker and holds its results to the oracle's, as
/// `nsacc run --check` does. Returns the largest error relative to what is
/// allowed; fails where one is beyond it.
llvm::Expected<double> checkPackage(const CompiledProgram &program,
                                    const Signature &signature,
                                    const DimSizes &sizes,
                                    const std::string &packagePath,
                                    const TuneOptions &options);

/// The error of code with this hash where another search checked it with such
/// sizes, or with larger ones.
std::optional<double> findChecked(const TuneOptions &options,
                                  llvm::StringRef hash, const DimSizes &sizes);

/// Whether calls of these sizes can be measured here, and take time.
llvm::Error checkMeasurable(const CompiledProgram &program,
                            const Signature &signature, const DimSizes &sizes,
                            const TuneOptions &options);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_CHECK_H
