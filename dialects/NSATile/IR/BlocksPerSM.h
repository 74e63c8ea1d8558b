//===- BlocksPerSM.h - Blocks that share a multiprocessor -------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_BLOCKSPERSM_H
#define NSACC_NSATILE_IR_BLOCKSPERSM_H

#include <cstdint>

namespace nsacc::nsatile {

class ProgramOp;

/// Number of the program's blocks that share a multiprocessor: 1 for programs
/// without a producer.
int64_t getBlocksPerSM(ProgramOp program);

/// Shared memory that each of these blocks may have, if a single block may have
/// `most`.
int64_t getSharedBytesOfBlock(ProgramOp program, int64_t most);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_BLOCKSPERSM_H
