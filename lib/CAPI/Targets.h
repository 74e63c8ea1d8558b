//===- Targets.h - Targets of compilations ----------------------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_TARGETS_H
#define NSACC_LIB_CAPI_TARGETS_H

#include "Error.h"
#include "Options.h"

namespace nsacc::capi {

/// Finds the target that the options name.
Failure resolveTarget(const nsacc_options &options, CompileOptions &resolved);

} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_TARGETS_H
