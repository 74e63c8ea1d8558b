//===- Inputs.h - Inputs of a run, loaded or made ---------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_INPUTS_H
#define NSACC_TOOLS_NSACC_INPUTS_H

#include "Settings.h"
#include "nsacc/Tensor/Signature.h"
#include <map>

namespace nsacc {

struct InputOptions {
  Settings dims;   ///< name=size
  Settings files;  ///< input=path
  Settings ranges; ///< input=low..high, for integers
  uint64_t seed = 0;
};

struct Inputs {
  std::vector<Tensor> tensors; ///< in the order of the signature
  std::vector<std::string> sources;
  DimSizes sizes;
};

/// Loads the inputs that have a file, infers sizes, and makes the others.
llvm::Expected<Inputs> makeInputs(Signature signature,
                                  const InputOptions &options);

/// Parses settings input=low..high with integer bounds.
llvm::Expected<std::map<std::string, std::pair<int64_t, int64_t>>>
readIntegerRanges(const Settings &ranges, const Signature &signature);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_INPUTS_H
