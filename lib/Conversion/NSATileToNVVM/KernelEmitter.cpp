//===- KernelEmitter.cpp - Writes a program as code of one thread ---------===//

#include "KernelEmitter.h"
#include "NSATile/IR/NSATileHints.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

KernelFacts KernelFacts::get(ProgramOp program, int64_t numRegisters,
                             bool movesRegisters) {
  KernelFacts facts;
  facts.numRegisters = numRegisters;
  facts.movesRegisters = movesRegisters;
  facts.multipliesIn16Bits = program->hasAttr(kOfRoundedAttrName);
  bool multipliesIn32Bits = false;
  program.walk([&](Operation *op) {
    facts.isWarpSpecialized |= isa<WarpSpecializeOp>(op);
    if (isa<DotOp, DotAsyncOp>(op))
      (getTile(op->getOperand(0)).getElementType().isF32()
           ? multipliesIn32Bits
           : facts.multipliesIn16Bits) = true;
  });
  facts.multipliesIn16Bits &= !multipliesIn32Bits;
  return facts;
}

KernelEmitter::KernelEmitter(Kernel &kernel)
    : b(kernel.b), sharedTiles(kernel.sharedTiles) {
  addAccumulations(*this, kernel);
  addCandidates(*this, kernel);
  addControl(*this, kernel);
  addElementwise(*this, kernel);
  addFragments(*this, kernel);
  addGlobalLoads(*this, kernel);
  addLayouts(*this, kernel);
  addLists(*this, kernel);
  addPlaces(*this, kernel);
  addProducts(*this, kernel);
  addReductions(*this, kernel);
  addRepairs(*this, kernel);
  addAssertions(*this, kernel);
  addSlices(*this, kernel);
  addSoftmax(*this, kernel);
  addStores(*this, kernel);
  addTileSources(*this, kernel);
  addTop(*this, kernel);
  addWarpgroupProducts(*this, kernel);
  if (kernel.facts.isWarpSpecialized) {
    auto bulkBuffers = std::make_shared<BulkCircularBuffers>(kernel);
    addWarpSpecialize(*this, kernel, bulkBuffers);
    buffers = bulkBuffers;
  } else {
    buffers = std::make_shared<CopyCircularBuffers>(kernel);
  }
  add(buffers, &CircularBuffers::create, &CircularBuffers::producerLoad,
      &CircularBuffers::consumerStore, &CircularBuffers::consumerWait,
      &CircularBuffers::consumerRelease);
}

LogicalResult KernelEmitter::emitAgain(Operation &op) {
  auto emit = table.find(op.getName().getTypeID());
  return emit == table.end() ? others(&op) : emit->second(&op);
}

LogicalResult KernelEmitter::emitNext(Operation &op) {
  b.setLoc(op.getLoc());
  if (failed(emitAgain(op)))
    return failure();
  sharedTiles.releaseDead(&op);
  buffers->releaseDead(&op);
  return success();
}

LogicalResult KernelEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitNext(op)))
      return failure();
  b.setLoc(block.getTerminator()->getLoc());
  return success();
}

LogicalResult KernelEmitter::emitPartition(Region &partition) {
  for (Operation &op : partition.front())
    if (failed(emitNext(op)))
      return failure();
  return success();
}

LogicalResult nsacc::reject(Operation *op) {
  return op->emitOpError("isn't supported by GPU targets yet");
}
