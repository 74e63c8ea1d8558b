//===- Placement.h - Placement of workspaces in device memory ---*- C++ -*-===//

#ifndef NSACC_LIB_RT_PLACEMENT_H
#define NSACC_LIB_RT_PLACEMENT_H

#include "Buffers.h"

namespace nsacc::rt {

/// Appends the workspaces to the buffers, with addresses from 0 on, and returns
/// their size in bytes. Workspaces that don't live at the same time share
/// memory.
int64_t placeWorkspaces(const Plan &plan, const std::vector<int64_t> &numbers,
                        std::vector<Buffer> &buffers);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_PLACEMENT_H
