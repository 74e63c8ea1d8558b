//===- BulkStores.cpp - Results that leave through shared memory ----------===//

#include "BulkStores.h"
#include "Fragments.h"
#include "Instructions.h"
#include "NSATile/IR/WarpRoles.h"
#include "NamedBarriers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

BulkStores::BulkStores(Kernel &kernel)
    : b(kernel.b), threads(kernel.threads), program(kernel.program),
      shared(kernel.shared), host(kernel.host),
      hasBulkStores(kernel.hasBulkStores) {}

/// Whether a bulk copy writes exactly the elements within the limits. It writes
/// all elements in the buffer, so the limits have to be the buffer's sizes, or
/// not be reached.
Value BulkStores::isWrittenByBox(StoreOp op, const BulkStore &store,
                                 Value firstRow) {
  AtOp at = op.getAt();
  const Buffer &buffer = program.getBuffer(at.getBuffer());
  Value holds;
  for (auto [index, dim] : llvm::enumerate(at.getDims())) {
    Value limit = program.lookup(at.getLimits()[index]);
    Value size = b.make<arith::TruncIOp>(b.getI32Type(), buffer.sizes[dim]);
    Value isWhole =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, limit, size);
    int64_t extent = at.getShape()[index];
    Value end = program.lookup(at.getOffsets()[dim]);
    if (index == 0) {
      extent = store.boxOuter;
      end = b.add(end, firstRow);
    }
    end = b.add(end, b.i32(extent));
    Value isInside =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::sle, end, limit);
    holds = b.both(holds, b.make<arith::OrIOp>(isWhole, isInside));
  }
  return holds;
}

/// Writes fragments of 16 x 16 elements to slabs: a row's chunks of 16 bytes
/// are swizzled in the pattern of bulk copies.
void BulkStores::writeSlabs(Value address, ArrayRef<Value> values,
                            int64_t columns) {
  Value lane = threads.getLane();
  Value inGroup = b.make<arith::AndIOp>(threads.getDim(ThreadDim::Warp),
                                        b.i32(kGroupWarps - 1));
  Value row =
      b.add(b.mul(inGroup, b.i32(16)), b.make<arith::AndIOp>(lane, b.i32(15)));
  Value rowAddress = b.add(address, b.mul(row, b.i32(kSlabRowBytes)));
  Value swizzle =
      b.make<arith::XOrIOp>(Value(b.make<arith::AndIOp>(lane, b.i32(7))),
                            Value(b.make<arith::ShRUIOp>(lane, b.i32(4))));
  int64_t numN = llvm::divideCeil(columns, 8);
  for (int64_t n = 0; n < numN; n += 2) {
    SmallVector<Value> packed;
    for (int64_t part = n; part < std::min(n + 2, numN); ++part)
      for (int64_t lower : {0, 1}) {
        int64_t index = (part * 2 + lower) * 2;
        packed.push_back(pack(b, values[index], values[index + 1]));
      }
    Value chunk = b.make<arith::XOrIOp>(swizzle, b.i32(n % 8));
    Value place = b.add(rowAddress, b.mul(chunk, b.i32(16)));
    int64_t slab = n / 8 * kGroupRows * kSlabRowBytes;
    nvvm::storeMatrices(b, b.advance(nvvm::toPointer(b, place), slab), packed);
  }
}

void BulkStores::copyBoxes(StoreOp op, const BulkStore &store, Value firstRow,
                           Value address) {
  SmallVector<Value> coordinates;
  AtOp at = op.getAt();
  for (Value offset : llvm::reverse(at.getOffsets()))
    coordinates.push_back(program.lookup(offset));
  Value &outer = coordinates[coordinates.size() - 1 - at.getDims().front()];
  outer = b.add(outer, firstRow);
  Value first = coordinates[0], map = host.tensorMaps.lookup(store.map);
  int64_t slabs = llvm::divideCeil(store.columns, kSlabColumns);
  for (int64_t slab = 0; slab < slabs; ++slab) {
    coordinates[0] = b.add(first, b.i32(slab * kSlabColumns));
    nvvm::copyBoxFromShared(
        b, map, coordinates,
        b.add(address, b.i32(slab * kGroupRows * kSlabRowBytes)));
  }
  nvvm::commitBoxes(b);
}

void BulkStores::emit(StoreOp op, const BulkStore &store,
                      llvm::function_ref<void()> storeDirectly) {
  hasBulkStores = true;
  // Copies that read the place may be under way while the next tile is
  // computed.
  int64_t place = shared.allocateUnused(
      store.getBytes(), cast<RankedTensorType>(op.getTile().getType()));
  ArrayRef<Value> values = program.getRegisters(op.getTile());
  int64_t groups = store.warps / kGroupWarps;
  int64_t slabs = llvm::divideCeil(store.columns, kSlabColumns);
  int64_t groupBytes = kGroupRows * slabs * kSlabRowBytes;
  int64_t perTile = values.size() / (store.rows / (16 * store.warps));
  Value group = threads.getWarpgroup();
  Value barrier = b.add(group, b.i32(namedBarriers::kResult));
  Value leads =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                            Value(b.make<arith::AndIOp>(
                                threads.getThread(), b.i32(kGroupThreads - 1))),
                            b.i32(0));
  for (int64_t tile = 0; tile * perTile < static_cast<int64_t>(values.size());
       ++tile) {
    Value part = b.add(group, b.i32(tile * groups));
    Value firstRow = b.mul(part, b.i32(store.boxOuter));
    Value address =
        b.add(shared.getAddress(place), b.mul(part, b.i32(groupBytes)));
    b.branch(
        isWrittenByBox(op, store, firstRow), {},
        [&] {
          // The copies of the previous tile have been read.
          b.when(leads, [&] { nvvm::waitBoxesRead(b, 0); });
          nvvm::syncThreads(b, barrier, kGroupThreads);
          writeSlabs(address, values.slice(tile * perTile, perTile),
                     store.columns);
          nvvm::fenceSharedForAsync(b);
          nvvm::syncThreads(b, barrier, kGroupThreads);
          b.when(leads, [&] { copyBoxes(op, store, firstRow, address); });
          return SmallVector<Value>();
        },
        [&] {
          storeDirectly();
          return SmallVector<Value>();
        });
  }
}
