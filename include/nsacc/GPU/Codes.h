//===- Codes.h - Kinds of code for GPUs -------------------------*- C++ -*-===//

#ifndef NSACC_GPU_CODES_H
#define NSACC_GPU_CODES_H

#include "nsacc/GPU/Device.h"

namespace nsacc::gpu {

/// The kinds of code that a GPU runs, newest first. A device gets the first one
/// unless it names another; kinds that no measurement on such a GPU speaks for
/// come last.
std::vector<Code> listCodes(Capability capability);

/// Whether warps of a block can hand registers to others (setmaxnreg): PTX has
/// the instruction in code for one architecture only.
inline bool canMoveRegisters(const Code &code) { return code.isSpecific; }

} // namespace nsacc::gpu

#endif // NSACC_GPU_CODES_H
