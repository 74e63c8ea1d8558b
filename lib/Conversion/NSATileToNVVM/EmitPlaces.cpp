//===- EmitPlaces.cpp - Places of programs and warps ----------------------===//

#include "Instructions.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Writes scalars that describe the grid, the warps and the buffers, and
/// nothing for places of tiles: accesses compute their addresses.
class PlaceEmitter {
public:
  explicit PlaceEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        host(kernel.host) {}

  void emitProgramId(ProgramIdOp op);
  void emitRowRange(RowRangeOp op);
  LogicalResult emitDim(memref::DimOp op);
  void emitAt(AtOp) {}

private:
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  HostParameters &host;
};

} // namespace

void PlaceEmitter::emitProgramId(ProgramIdOp op) {
  Value place = nvvm::getBlock(b, op.getAxis());
  // Under a causal mask the last query tiles have the most to do: they begin
  // first.
  if (op.getAxis() == 0) {
    Value last = b.make<arith::SubIOp>(nvvm::getNumBlocks(b), b.i32(1));
    place = b.make<arith::SubIOp>(last, place);
  }
  if (op.getAxis() == 2 && host.firstZ)
    place = b.add(place, host.firstZ);
  program.map(op.getId(), place);
}

void PlaceEmitter::emitRowRange(RowRangeOp op) {
  Value first = program.lookup(op.getFirst()),
        end = program.lookup(op.getEnd());
  if (std::optional<int64_t> groups = op.getGroups()) {
    int64_t share = op.getSize() / *groups;
    first = b.add(first, b.mul(threads.getWarpgroup(), b.i32(share)));
    end = b.make<arith::MinSIOp>(end, b.add(first, b.i32(share)));
  }
  program.map(op.getOwnFirst(), first);
  program.map(op.getOwnEnd(), end);
}

LogicalResult PlaceEmitter::emitDim(memref::DimOp op) {
  std::optional<int64_t> index = op.getConstantIndex();
  if (!index)
    return reject(op);
  program.map(op.getResult(), program.getBuffer(op.getSource()).sizes[*index]);
  return success();
}

void nsacc::addPlaces(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<PlaceEmitter>(kernel),
              &PlaceEmitter::emitProgramId, &PlaceEmitter::emitRowRange,
              &PlaceEmitter::emitDim, &PlaceEmitter::emitAt);
}
