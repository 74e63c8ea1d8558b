//===- Plan.h - The numbers and workspaces of a launch plan -----*- C++ -*-===//

#ifndef NSACC_LIB_RT_PLAN_H
#define NSACC_LIB_RT_PLAN_H

#include "Buffers.h"

namespace nsacc::rt {

/// Computes a plan's numbers. Throws where that divides by zero or leaves 64
/// bits, and where a check doesn't hold.
void computeNumbers(const TargetCode &code, const std::vector<Buffer> &buffers,
                    std::vector<int64_t> &numbers);

/// Appends the workspaces to the buffers, with addresses from 0 on, and says
/// how many bytes they take. Those that don't live at the same time share
/// memory.
int64_t placeWorkspaces(const TargetCode &code,
                        const std::vector<int64_t> &numbers,
                        std::vector<Buffer> &buffers);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_PLAN_H
