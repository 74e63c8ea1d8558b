//===- Version.cpp - Versions of nsacc and of LLVM ------------------------===//

#include "nsacc/Support/Version.h"
#include "llvm/Config/llvm-config.h"

llvm::StringRef nsacc::getVersion() { return NSACC_VERSION; }

llvm::StringRef nsacc::getLLVMVersion() { return LLVM_VERSION_STRING; }

llvm::StringRef nsacc::getSourceHash() {
  return
#include "SourceHash.inc"
      ;
}
