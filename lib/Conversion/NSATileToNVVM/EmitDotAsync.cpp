//===- EmitDotAsync.cpp - Products of a warpgroup -------------------------===//

#include "Fragments.h"
#include "InlinePTX.h"
#include "KernelEmitter.h"
#include "NSATile/IR/WarpRoles.h"
#include "TensorMaps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Starts products of a warpgroup and waits for them.
class WarpgroupProductEmitter {
public:
  explicit WarpgroupProductEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        shared(kernel.shared), sharedTiles(kernel.sharedTiles),
        sync(kernel.sync) {}

  LogicalResult emitStart(DotAsyncOp op);
  void emitWait(DotWaitOp op);

private:
  /// A matrix of 16-bit elements in shared memory, swizzled for `wgmma`: slabs
  /// of 64 columns, from `row` (null: 0) on. It is `place` bytes (null: 0)
  /// behind `address`.
  struct SharedMatrix {
    Value address, place, row;
    int64_t slabBytes = 0;
  };
  SharedMatrix getMatrix(Value tile);
  Value describe(const SharedMatrix &matrix, bool isKMajor);
  SmallVector<Value> getHead(DotAsyncOp op);
  SmallVector<SharedTile, 2> getOwnOperands(DotAsyncOp op) const;

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  Synchronizer &sync;
};

} // namespace

/// Descriptors count in units of 16 bytes.
static int64_t toUnits(int64_t bytes) { return bytes >> 4; }

/// A matrix descriptor (PTX ISA, wgmma): address, leading and stride byte
/// offsets, 128-byte swizzle. The swizzle's pattern is 8 rows of a slab, and
/// the stride offset goes from one pattern to the next one below it. If rows
/// run along the inner dimension (PTX: MN-major), the leading offset goes from
/// one slab to the next. If columns do (K-major), the hardware ignores it, and
/// the ISA asks for 16 bytes.
Value WarpgroupProductEmitter::describe(const SharedMatrix &matrix,
                                        bool isKMajor) {
  Value address = matrix.address;
  if (matrix.row)
    address = b.add(address, b.mul(matrix.row, b.i32(kSlabRowBytes)));
  // The bits above these hold the rank of a block in its cluster.
  address = b.make<arith::AndIOp>(address, b.i32(0x3FFFF));
  address = b.make<arith::ShRUIOp>(address, b.i32(4));
  int64_t leading = isKMajor ? 16 : matrix.slabBytes;
  Value low = b.make<arith::OrIOp>(address, b.i32(toUnits(leading) << 16));
  // The address field is wide enough for all of shared memory, so the sum can't
  // carry into the next field. `place` is added last, so loops share the rest.
  if (matrix.place)
    low = b.add(low, b.make<arith::ShRUIOp>(matrix.place, b.i32(4)));
  // The stride offset, and the code of a 128-byte swizzle.
  int64_t fields = toUnits(8 * kSlabRowBytes) << 32 | int64_t(1) << 62;
  return b.make<arith::OrIOp>(b.make<arith::ExtUIOp>(b.getI64Type(), low),
                              b.i64(fields));
}

WarpgroupProductEmitter::SharedMatrix
WarpgroupProductEmitter::getMatrix(Value tile) {
  SharedTile place = sharedTiles.get(tile);
  return {shared.getAddress(place.offset), place.place, Value(),
          place.paddedRows * kSlabRowBytes};
}

/// Words of the left operand's columns in registers.
SmallVector<Value> WarpgroupProductEmitter::getHead(DotAsyncOp op) {
  Value head = isShared(getTile(op.getLhs())) ? op.getHead() : op.getLhs();
  SmallVector<Value> words;
  if (!head)
    return words;
  ArrayRef<Value> values = program.getRegisters(head);
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    words.push_back(pack(b, values[i], values[i + 1]));
  return words;
}

/// Operands in shared memory that the threads wrote themselves: no circular
/// buffer guards them.
SmallVector<SharedTile, 2>
WarpgroupProductEmitter::getOwnOperands(DotAsyncOp op) const {
  SmallVector<SharedTile, 2> own;
  for (Value operand : {op.getLhs(), op.getRhs()})
    if (isShared(getTile(operand)))
      if (SharedTile tile = sharedTiles.get(operand); tile.isOwner)
        own.push_back(tile);
  return own;
}

LogicalResult WarpgroupProductEmitter::emitStart(DotAsyncOp op) {
  RankedTensorType result = op.getResult().getType().getTile();
  RankedTensorType lhs = getTile(op.getLhs());
  auto layout = dyn_cast_if_present<MmaLayoutAttr>(result.getEncoding());
  if (!layout || layout.getWarps() % kGroupWarps != 0 ||
      result.getDimSize(1) > 256 ||
      (!isShared(lhs) && lhs.getDimSize(1) % 16 != 0))
    return reject(op);
  int64_t inner = lhs.getDimSize(op.getTransposeLhs() ? 0 : 1);
  int64_t tileRows = 16 * layout.getWarps();
  int64_t tiles = llvm::divideCeil(result.getDimSize(0), tileRows);
  ptx::WarpgroupProduct product;
  product.columns = llvm::alignTo(result.getDimSize(1), 8);
  product.inner = llvm::alignTo(inner, 16);
  product.element = lhs.getElementType();
  product.transposeRhs = op.getTransposeRhs();
  product.transposeLhs = op.getTransposeLhs();
  for (const SharedTile &own : getOwnOperands(op))
    sync.beforeRead(own);
  int64_t perTile = product.columns / 2;
  ArrayRef<Value> acc;
  if (op.getAcc())
    acc = program.getRegisters(op.getAcc());
  SmallVector<Value> words = getHead(op);
  int64_t headWords = words.size() / tiles;
  SharedMatrix rhs = getMatrix(op.getRhs());
  product.rhsSlabBytes = rhs.slabBytes;
  product.adds = op.getAdds() ? program.lookup(op.getAdds()) : Value();
  Value groupRow = b.mul(threads.getWarpgroup(), b.i32(kGroupRows));
  SmallVector<Value> started;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    product.acc = acc.empty() ? acc : acc.slice(tile * perTile, perTile);
    product.head = ArrayRef(words).slice(tile * headWords, headWords);
    SharedMatrix left;
    if (isShared(lhs)) {
      left = getMatrix(op.getLhs());
      left.row = b.add(groupRow, b.i32(tileRows * tile));
      // A slab's 64 columns are the warpgroup's rows.
      if (product.transposeLhs) {
        Value slab = b.add(threads.getWarpgroup(),
                           b.i32(layout.getWarps() / kGroupWarps * tile));
        left.address = b.add(left.address, b.mul(slab, b.i32(left.slabBytes)));
        left.row = Value();
      }
      product.lhsSlabBytes = left.slabBytes;
    }
    product.rhs = describe(rhs, op.getTransposeRhs());
    // One register of each thread holds four columns. A transposed left operand
    // is one slab, so its leading offset isn't used either.
    if (4 * headWords < product.inner)
      product.lhs = describe(left, /*isKMajor=*/true);
    llvm::append_range(started, ptx::startProduct(b, product));
  }
  program.setRegisters(op.getResult(), std::move(started));
  return success();
}

void WarpgroupProductEmitter::emitWait(DotWaitOp op) {
  // The product may read tiles that the threads wrote for it until here.
  if (auto start = op.getPending().getDefiningOp<DotAsyncOp>())
    for (const SharedTile &own : getOwnOperands(start))
      sync.add({own.offset, own.offset + own.bytes, /*isWrite=*/false});
  program.setRegisters(
      op.getTile(), ptx::waitProducts(b, op.getAllow(),
                                      program.getRegisters(op.getPending())));
}

void nsacc::addWarpgroupProducts(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<WarpgroupProductEmitter>(kernel),
              &WarpgroupProductEmitter::emitStart,
              &WarpgroupProductEmitter::emitWait);
}
