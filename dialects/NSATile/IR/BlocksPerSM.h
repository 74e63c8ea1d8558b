//===- BlocksPerSM.h - What blocks of a multiprocessor share ----*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_BLOCKSPERSM_H
#define NSACC_NSATILE_IR_BLOCKSPERSM_H

#include <cstdint>

namespace nsacc::nsatile {

class ProgramOp;

/// Blocks of the program that are to be on a multiprocessor at a time: 1 for
/// programs without a producer.
int64_t getBlocksPerSM(ProgramOp program);

/// Shared memory that each of them may have, of the most that a single block
/// may.
int64_t getSharedBytesOfBlock(ProgramOp program, int64_t most);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_BLOCKSPERSM_H
