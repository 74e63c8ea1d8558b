//===- Link.h - From objects to a loadable image ----------------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CPU_LINK_H
#define NSACC_LIB_TARGET_CPU_LINK_H

#include "Objects.h"
#include "nsacc/RT/Package.h"

namespace nsacc::cpu {

/// Links objects into an image. Functions that none of them defines belong to
/// the runtime; the image gets a table of them. Each entry is a kernel.
llvm::Expected<rt::HostImage> link(llvm::ArrayRef<Object> objects,
                                   const Processor &processor);

} // namespace nsacc::cpu

#endif // NSACC_LIB_TARGET_CPU_LINK_H
