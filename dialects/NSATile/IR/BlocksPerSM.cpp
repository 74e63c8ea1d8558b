//===- BlocksPerSM.cpp - Blocks that share a multiprocessor ---------------===//

#include "BlocksPerSM.h"
#include "NSATile/IR/NSATileOps.h"

using namespace nsacc::nsatile;

int64_t nsacc::nsatile::getBlocksPerSM(ProgramOp program) {
  ScheduleAttr schedule = program.getScheduleAttr();
  bool isSpecialized =
      !program.getBody().front().getOps<WarpSpecializeOp>().empty();
  return schedule && isSpecialized ? schedule.getBlocksPerSM() : 1;
}

int64_t nsacc::nsatile::getSharedBytesOfBlock(ProgramOp program, int64_t most) {
  // The system's part of each block (CUDA C++ Programming Guide, technical
  // specifications): a block alone has all the rest.
  constexpr int64_t reserved = 1024;
  return (most + reserved) / getBlocksPerSM(program) - reserved;
}
