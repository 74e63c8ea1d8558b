//===- Targets.h - What programs can be compiled for ------------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_TARGETS_H
#define NSACC_LIB_CAPI_TARGETS_H

#include "Error.h"
#include "Options.h"

namespace nsacc::capi {

/// Finds what the options' target stands for.
Failure resolveTarget(const nsacc_options &options, CompileOptions &resolved);

} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_TARGETS_H
