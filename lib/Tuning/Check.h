//===- Check.h - Check of a candidate's results -----------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_CHECK_H
#define NSACC_LIB_TUNING_CHECK_H

#include "nsacc/Tuning/Tuner.h"

namespace nsacc::tuning {

/// Sizes of a call that the oracle computes in a moment, and for which code of
/// `sizes` is right, too: heads and channels are the same, and tokens aren't a
/// multiple of any tile. None if short sizes don't fit the program.
std::optional<DimSizes> shortenSizes(const Signature &signature,
                                     const DimSizes &sizes,
                                     llvm::ArrayRef<std::string> specialized);

/// Runs a package in a worker and checks its results against the oracle's, like
/// `nsacc run --check`. Returns the largest error relative to the allowed one;
/// fails if an error is beyond that.
llvm::Expected<double> checkPackage(const CompiledProgram &program,
                                    const Signature &signature,
                                    const DimSizes &sizes,
                                    const std::string &packagePath,
                                    const TuneOptions &options);

/// The error of code with this hash, if another search checked it with these
/// sizes or with larger ones.
std::optional<double> findChecked(const TuneOptions &options,
                                  llvm::StringRef hash, const DimSizes &sizes);

/// Whether calls of these sizes can be measured here and take measurable time.
llvm::Error checkMeasurable(const CompiledProgram &program,
                            const Signature &signature, const DimSizes &sizes,
                            const TuneOptions &options);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_CHECK_H
