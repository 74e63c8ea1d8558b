//===- Signature.h - Signature that a written header expects ----*- C++ -*-===//

#ifndef NSACC_LIB_RT_SIGNATURE_H
#define NSACC_LIB_RT_SIGNATURE_H

#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/RT/Package.h"

namespace nsacc::rt {

/// Fails if a package has another kernel or other parameters. If either leaves
/// a size open, launches check it.
void matchSignature(const Package &package,
                    const nsacc_rt_signature &signature);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_SIGNATURE_H
