//===- Targets.h - What programs can be compiled for ------------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_TARGETS_H
#define NSACC_LIB_CAPI_TARGETS_H

#include "Error.h"

namespace nsacc::capi {

Failure checkTarget(const std::string &target);

} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_TARGETS_H
