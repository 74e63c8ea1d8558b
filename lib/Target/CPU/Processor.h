//===- Processor.h - Processors to generate code for ------------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CPU_PROCESSOR_H
#define NSACC_LIB_TARGET_CPU_PROCESSOR_H

#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace nsacc::cpu {

/// A processor as LLVM knows it. All features are listed, because LLVM may not
/// know the name of a newer processor.
struct Processor {
  std::string triple, name;
  std::vector<std::string> features;

  bool has(llvm::StringRef feature) const;
  unsigned getVectorBits() const;
  /// "+avx2,-avx512f,…"
  std::string getFeatureString() const;
};

/// This machine's processor, or the one called `name`, with features like
/// "+avx2,-avx512f" on top.
llvm::Expected<Processor> getProcessor(llvm::StringRef name,
                                       llvm::StringRef features);

} // namespace nsacc::cpu

#endif // NSACC_LIB_TARGET_CPU_PROCESSOR_H
