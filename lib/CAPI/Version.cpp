//===- Version.cpp - Versions of this library -----------------------------===//

#include "nsacc/Support/Version.h"
#include "nsacc-c/nsacc.h"

uint32_t nsacc_abi_version(void) { return NSACC_ABI_VERSION; }

const char *nsacc_version(void) { return nsacc::getVersion().data(); }

const char *nsacc_llvm_version(void) { return nsacc::getLLVMVersion().data(); }
