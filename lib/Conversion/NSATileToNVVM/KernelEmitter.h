//===- KernelEmitter.h - Writes a program as code of one thread -*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELEMITTER_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELEMITTER_H

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/TileLayout.h"
#include "NSATile/IR/WarpRoles.h"
#include "PTXBuilder.h"
#include "SharedMemory.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace nsacc {

struct BulkStore;

inline bool isTile(mlir::Type type) {
  return mlir::isa<mlir::RankedTensorType>(type);
}
inline mlir::RankedTensorType getTile(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// A value plus a constant: comparisons of positions keep what differs between
/// a thread's registers out of registers. No value is 0.
struct IndexSum {
  mlir::Value base;
  int64_t offset = 0;
};

/// A buffer argument, taken apart.
struct Buffer {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value, 4> sizes, strides;
  mlir::MemRefType type;
};

/// What a load reads.
struct CopySource {
  mlir::Value buffer;
  mlir::ValueRange offsets, limits;
  llvm::ArrayRef<int64_t> dims, steps;
  mlir::RankedTensorType type;
};

/// How bulk copies see the buffer of a fill.
nsatile::TensorMapAttr getTensorMap(nsatile::FillOp op);

/// The hardware's barriers where warps have roles; 0 is that of all threads.
/// `kResult` and `kTurn` are those of the first warpgroup, others follow.
namespace namedBarriers {
constexpr int64_t kConsumers = 1, kProducer = 2, kResult = 3, kTurn = 8;
} // namespace namedBarriers

/// Of a barrier in shared memory.
constexpr int64_t kBarrierBytes = 8;
/// Threads of the warps that fill rings.
constexpr int64_t kProducerThreads = 128;

/// Threads that run the code which is being written.
struct ThreadScope {
  /// The number of the thread among them.
  mlir::Value thread;
  int64_t numThreads;
  /// The hardware's barrier that they meet at.
  int64_t barrier = 0;
  /// Whether they are all threads of the block.
  bool isBlock = true;
};

/// Writes the ops of a program, one after the other, as what a thread does with
/// its registers. Control flow stays `scf`, scalar arithmetic `arith`; an index
/// has 32 bits.
class KernelEmitter {
public:
  /// Code goes to the end of `entry`.
  KernelEmitter(mlir::Block *entry, nsatile::ProgramOp program);

  void mapScalar(mlir::Value from, mlir::Value to) { scalars.map(from, to); }
  void mapBuffer(mlir::Value from, Buffer buffer) {
    buffers[from] = std::move(buffer);
  }
  void setFailureRecord(mlir::Value pointer) { failureRecord = pointer; }
  void setTileCounter(mlir::Value pointer) { tileCounter = pointer; }
  void setRaised(mlir::Value pointer) { raised = pointer; }
  /// What shared memory may take, beyond what the program can't do without.
  void setSharedLimit(int64_t bytes) { sharedLimit = bytes; }
  /// Those of a multiprocessor, which warps with roles share.
  void setNumRegisters(int64_t count) { numRegisters = count; }
  void mapTensorMap(nsatile::TensorMapAttr map, mlir::Value parameter) {
    tensorMaps[map] = parameter;
  }
  /// What thread dimensions mean from here on.
  void enterScope(const ThreadScope &scope);
  /// Everything but the terminator.
  mlir::LogicalResult emitBlock(mlir::Block &block);
  int64_t getSharedBytes() const { return shared.getPeak(); }

  //===-- Code ------------------------------------------------------------===//

  mlir::OpBuilder builder;
  mlir::Location loc;

  template <typename OpTy, typename... Args> mlir::Value make(Args &&...args) {
    return OpTy::create(builder, loc, std::forward<Args>(args)...);
  }
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value f32(float value);
  mlir::Value zero(mlir::Type type);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  mlir::Value extend(mlir::Value index);
  mlir::Value materialize(const IndexSum &sum);
  /// A call of LLVM's intrinsic; no type: no result.
  mlir::Value call(llvm::StringRef intrinsic, mlir::Type result,
                   mlir::ValueRange operands);
  mlir::Value shuffleXor(mlir::Value value, int64_t mask);
  mlir::Value element(mlir::Value aggregate, int64_t index);
  /// `body`'s values where `condition` holds, `other`'s elsewhere. No
  /// condition: holds.
  llvm::SmallVector<mlir::Value>
  branch(mlir::Value condition, mlir::TypeRange types,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> body,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> other);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  void forEach(int64_t count, int64_t unrolled,
               llvm::function_ref<void(mlir::Value)> body);
  static mlir::Type getRegisterType(mlir::Type elementType);

  //===-- Threads ---------------------------------------------------------===//

  const ThreadScope &getScope() const { return scope; }
  mlir::Value getThreadDim(nsatile::ThreadDim dim);
  mlir::Value broadcastLane(mlir::Value value);
  mlir::Value holdsForLanes(mlir::Value condition);
  mlir::Value getLane();
  /// The thread's number in the block, read anew: what depends on it doesn't
  /// stay in registers for the sake of code that is rarely run.
  mlir::Value readThread();
  /// What comes of the thread's number is computed anew from here on.
  void forgetThread();
  /// All threads of the scope wait for each other.
  void barrier();
  /// Those of a warp do.
  void syncWarp();

  //===-- Tiles -----------------------------------------------------------===//

  /// The new value of a scalar.
  mlir::Value lookup(mlir::Value value) {
    return scalars.lookupOrDefault(value);
  }
  const Buffer &getBuffer(mlir::Value value) const {
    return buffers.find(value)->second;
  }
  llvm::ArrayRef<mlir::Value> getRegisters(mlir::Value tile) const {
    return registers.at(tile.getAsOpaquePointer());
  }
  void setRegisters(mlir::Value tile, llvm::SmallVector<mlir::Value> values) {
    registers[tile.getAsOpaquePointer()] = std::move(values);
  }
  const nsatile::TileLayout &getLayout(mlir::RankedTensorType tile);
  static bool isShared(mlir::RankedTensorType tile);
  IndexSum getCoordinate(mlir::AffineExpr expr);
  /// Whether a thread's register is none of padding; null: always.
  mlir::Value getInside(const nsatile::TileLayout &layout, int64_t index);
  /// The same, and true for one of the threads that hold copies only.
  mlir::Value getOwned(const nsatile::TileLayout &layout, int64_t index);

  //===-- Shared memory ---------------------------------------------------===//

  SharedTile allocate(mlir::RankedTensorType tile);
  void release(const SharedTile &tile);
  SharedTile getShared(mlir::Value tile) const {
    return sharedTiles.find(tile)->second;
  }
  void setShared(mlir::Value tile, SharedTile place) {
    sharedTiles[tile] = place;
  }
  /// Bytes from a tile's begin to an element.
  mlir::Value getByteOffset(const SharedTile &tile, mlir::Value row,
                            mlir::Value column);
  mlir::Value getAddress(const SharedTile &tile, mlir::Value byteOffset);
  /// A pointer into shared memory, `more` (null: 0) bytes beyond `offset`.
  mlir::Value getSharedPointer(mlir::Value offset, mlir::Value more);
  mlir::Value advanceShared(mlir::Value pointer, int64_t bytes);
  mlir::Value getElementAddress(const SharedTile &tile,
                                mlir::ValueRange coordinates);
  mlir::Value loadElement(const SharedTile &tile, mlir::ValueRange coordinates);
  /// The element where `condition` holds, else `other`; without a branch.
  mlir::Value loadElementIf(mlir::Value condition, const SharedTile &tile,
                            mlir::ValueRange coordinates, mlir::Value other);
  void writeShared(const SharedTile &tile, mlir::RankedTensorType type,
                   llvm::ArrayRef<mlir::Value> values);
  llvm::SmallVector<mlir::Value> readShared(const SharedTile &tile,
                                            mlir::RankedTensorType type);
  /// Wait for others that use the place, where that is needed.
  void beforeRead(const SharedTile &tile);
  void beforeWrite(const SharedTile &tile);
  /// A copy of a register tile in shared memory, written and ready to be read.
  SharedTile spill(mlir::Value tile);

  //===-- Fragments of tensor cores ---------------------------------------===//

  /// Where a lane's row of a matrix of 8 by 8 begins: row `laneRow` + `row` and
  /// column 8 `laneChunk` + `column`, `laneChunk` being 0 or 1, `row` a
  /// multiple of 8 and `column` of 16, or of 8 where `laneChunk` is 0. All that
  /// differs between fragments, but for one of four patterns of the swizzle, is
  /// in the instruction.
  mlir::Value getFragmentAddress(const SharedTile &tile, mlir::Value laneRow,
                                 mlir::Value laneChunk, int64_t row,
                                 int64_t column);
  llvm::SmallVector<mlir::Value, 4>
  loadMatrices(mlir::Value address, int64_t count, bool isTransposed);
  /// The left operand's 16 columns from 16 `step` on, of the warp's rows in the
  /// `m`th of `numM` times `warps` x 16 rows.
  llvm::SmallVector<mlir::Value, 4> loadLeftFragment(const SharedTile &tile,
                                                     int64_t warps,
                                                     int64_t numM, int64_t m,
                                                     int64_t step);

  //===-- Global memory ---------------------------------------------------===//

  mlir::Value loadGlobal(mlir::Type type, mlir::Value pointer, int64_t align);
  void storeGlobal(mlir::Value value, mlir::Value pointer, int64_t align);
  /// The address of an element, given by 32-bit indices.
  mlir::Value getPointer(const Buffer &buffer, mlir::ValueRange indices);
  void beforeGlobal(mlir::Value buffer, bool isWrite);

  //===-- Reductions ------------------------------------------------------===//

  mlir::Value combine(nsatile::ReduceKind kind, mlir::Value lhs,
                      mlir::Value rhs, bool ignoresNaN = false);
  /// Of many values, in four chains.
  mlir::Value combineAll(nsatile::ReduceKind kind,
                         llvm::ArrayRef<mlir::Value> values,
                         bool ignoresNaN = false);
  /// The sum of 0 · x: 0 if all values are finite, otherwise NaN.
  mlir::Value addUpMarks(llvm::ArrayRef<mlir::Value> values);
  /// Over the four lanes that hold a row.
  mlir::Value combineRow(nsatile::ReduceKind kind, mlir::Value value,
                         bool ignoresNaN = false);

  //===-- Products --------------------------------------------------------===//

  /// Two 16-bit numbers in a register, the first one low.
  mlir::Value pack(mlir::Value low, mlir::Value high);

private:
  /// `emit` by what the op is, at its place in the code.
  mlir::LogicalResult emitNext(mlir::Operation &op);
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult reject(mlir::Operation *op);
  void releaseDead(mlir::Operation *op);

  // EmitElementwise.cpp
  mlir::LogicalResult emitScalar(mlir::Operation *op);
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  mlir::FailureOr<mlir::Value> emitOne(mlir::Operation *op,
                                       mlir::ValueRange operands);
  mlir::Value emitIndexOp(mlir::Operation *op, mlir::ValueRange operands);
  mlir::Value emitFast(mlir::Operation *op, mlir::ValueRange operands);
  mlir::Value emitScaled(mlir::Value value, mlir::Value factor);
  IndexSum split(mlir::Value value);
  mlir::LogicalResult emitConstant(mlir::Operation *op);
  void emitIota(nsatile::IotaOp op);
  void emitBroadcast(nsatile::BroadcastOp op);
  void emitEmpty(mlir::tensor::EmptyOp op);

  // EmitControl.cpp
  mlir::LogicalResult emitWarpFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  void flatten(mlir::ValueRange values, llvm::SmallVectorImpl<mlir::Value> &to);
  void unflatten(mlir::ValueRange old, mlir::ValueRange values);
  mlir::LogicalResult emitRegion(mlir::Region &from, mlir::Block *to);

  // EmitMemory.cpp
  mlir::LogicalResult emitLoad(nsatile::LoadOp op);
  mlir::LogicalResult emitStore(nsatile::StoreOp op);
  void storeRegisters(nsatile::StoreOp op);
  mlir::LogicalResult emitGather(nsatile::GatherOp op);
  mlir::LogicalResult emitScalarLoad(mlir::Operation *op);
  mlir::LogicalResult emitScalarStore(mlir::Operation *op);

  // EmitSharedLoad.cpp
  mlir::LogicalResult emitSharedLoad(nsatile::LoadOp op);
  /// True where copies may be under way.
  bool copyToShared(const CopySource &source, const SharedTile &tile);

  // EmitLayout.cpp
  mlir::LogicalResult emitConvert(nsatile::ConvertLayoutOp op);
  void emitReshape(nsatile::ReshapeOp op);
  mlir::LogicalResult emitExtract(mlir::tensor::ExtractOp op);
  mlir::LogicalResult emitExtractSlice(mlir::tensor::ExtractSliceOp op);
  mlir::LogicalResult emitInsertSlice(mlir::tensor::InsertSliceOp op);
  void emitExchange(nsatile::ExchangeOp op);

  // EmitDot.cpp
  mlir::LogicalResult emitDot(nsatile::DotOp op);

  // EmitReduce.cpp
  mlir::LogicalResult emitReduce(nsatile::ReduceOp op);

  // EmitSoftmax.cpp
  mlir::LogicalResult emitSoftmaxUpdate(nsatile::SoftmaxUpdateOp op);
  mlir::LogicalResult emitSoftmaxFinalize(nsatile::SoftmaxFinalizeOp op);

  // EmitRequire.cpp
  mlir::LogicalResult emitRequire(nsatile::RequireOp op);

  // EmitAsync.cpp
  /// A queue of tiles: bytes from the begin of shared memory.
  struct Ring {
    int64_t full, empty, tiles;
    int64_t stages, tileBytes;
    /// Variables: the tile that this role is at, and whether it has been around
    /// an odd number of times. Kept apart, as dividing a count would stand
    /// before the products of each step.
    mlir::Value index, parity;
  };
  /// Where a role is in a ring; barriers as addresses, the tile as bytes behind
  /// the first one.
  struct RingPlace {
    mlir::Value index, parity, full, empty, tile;
  };
  RingPlace getPlace(const Ring &ring);
  void advance(const Ring &ring, const RingPlace &place);
  mlir::Value getSharedAddress(int64_t offset);
  int64_t allocateBarriers(int64_t count);
  void createVariables(Ring &ring);
  mlir::Value isFirstLane();
  void arriveOncePerWarp(mlir::Value barrier);
  void emitRing(nsatile::RingOp op);
  mlir::LogicalResult emitRoles(nsatile::RolesOp op);
  mlir::LogicalResult emitRole(mlir::Region &role);
  void initBarriers(nsatile::RolesOp op);
  void emitFill(nsatile::FillOp op);
  void emitAcquire(nsatile::AcquireOp op);
  void emitRelease(nsatile::ReleaseOp op);
  mlir::LogicalResult emitDotAsync(nsatile::DotAsyncOp op);
  /// The warpgroup's number among the consumers.
  mlir::Value getGroup();
  void emitRowRange(nsatile::RowRangeOp op);
  mlir::LogicalResult emitTakeTurn(nsatile::TakeTurnOp op);
  mlir::LogicalResult emitPassTurn(nsatile::PassTurnOp op);
  void passTurn(int64_t groups);
  void openTurns(nsatile::RolesOp op);
  void emitDotWait(nsatile::DotWaitOp op);
  void emitAllFinite(nsatile::AllFiniteOp op);
  SharedMatrix getMatrix(mlir::Value tile);

  // EmitFragment.cpp
  mlir::LogicalResult emitFragment(nsatile::FragmentOp op);

  // EmitCopyRings.cpp
  /// A queue of tiles that all threads fill, each with copies of its own.
  struct CopyRing {
    int64_t offset, stages, tileBytes;
    /// Variables: bytes to the tile's place that is filled or read next.
    mlir::Value fillPlace, readPlace;
    /// Groups of copies of the tiles that wait, the oldest first.
    llvm::SmallVector<int64_t, 4> groups;
    bool isRead = false;
    /// A thread may still read what was released.
    bool mustMeet = true;

    int64_t getBytes() const { return stages * tileBytes; }
    SharedMemory::Access getAccess() const {
      return {offset, offset + getBytes(), true};
    }
  };
  /// For each ring, how many groups before the next one its tiles are in.
  struct CopyState {
    llvm::MapVector<mlir::Value, llvm::SmallVector<int64_t, 4>> distances;
    llvm::SmallDenseSet<mlir::Value, 4> mustMeet, isRead;
  };
  mlir::Value createPlace();
  mlir::Value getCopyPlace(const CopyRing &ring, mlir::Value variable);
  void advanceCopyPlace(const CopyRing &ring, mlir::Value variable);
  SharedTile getCopyTile(const CopyRing &ring, mlir::RankedTensorType type,
                         mlir::Value variable);
  void emitCopyRing(nsatile::RingOp op);
  mlir::LogicalResult emitCopyFill(nsatile::FillOp op);
  mlir::LogicalResult emitCopyAcquire(nsatile::AcquireOp op);
  void emitCopyRelease(nsatile::ReleaseOp op);
  void releaseDeadRings(mlir::Operation *op);
  void commitCopies();
  CopyState getCopyState();
  void setCopyState(const CopyState &state);
  CopyState enterCopyLoop();
  mlir::LogicalResult leaveCopyLoop(mlir::Operation *op,
                                    const CopyState &before);
  static CopyState join(CopyState lhs, const CopyState &rhs);
  /// Copies outside of rings have started.
  void noteCopies() {
    hasCopies = true;
    copiesGroup = numCopyGroups;
  }

  // EmitTiles.cpp
  void createTileQueue();
  mlir::LogicalResult emitTiles(nsatile::TilesOp op);
  mlir::LogicalResult emitRepair(nsatile::RepairOp op);
  void emitRaise(nsatile::RaiseOp op);
  void lowerFlag();
  struct Grid {
    mlir::Value x, y, z;
  };
  /// A point of a grid.
  using Point = std::array<mlir::Value, 3>;
  Point getPoint(const Grid &grid, mlir::Value back, mlir::Value column);
  Point getPoint(const Grid &grid, mlir::Value number);
  Point getUnevenPoint(const Grid &grid, mlir::Value blocks,
                       mlir::Value number);
  Point tellPoint(nsatile::TilesOp op, mlir::Value number, mlir::Value total,
                  mlir::Value blocks);
  /// Waits for the next point; `releasePoint` once it isn't read any more.
  Point hearPoint();
  Point readPoint();
  void releasePoint();
  mlir::LogicalResult forgetPoint(nsatile::TilesOp op, mlir::Operation &last);
  void forgetThreadOfWarp();
  mlir::LogicalResult emitConsumersTile(nsatile::TilesOp op, Point &next);
  mlir::LogicalResult emitConsumersTiles(nsatile::TilesOp op);
  mlir::LogicalResult emitProducersTiles(nsatile::TilesOp op);

  // EmitBulkStore.cpp
  /// Results of consumers go through shared memory at `place`; `storeDirectly`
  /// writes those whose limits a bulk copy would pass.
  void emitBulkStore(nsatile::StoreOp op, const BulkStore &store, int64_t place,
                     llvm::function_ref<void()> storeDirectly);
  mlir::Value isWrittenByBox(nsatile::StoreOp op, const BulkStore &store,
                             mlir::Value firstRow);
  void writeSlabs(mlir::Value address, llvm::ArrayRef<mlir::Value> values,
                  int64_t columns);

  ThreadScope scope;
  /// Code that computes what only depends on the thread goes before it.
  mlir::Operation *prologueEnd = nullptr;
  mlir::IRMapping scalars;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Attribute, mlir::Value> tensorMaps;
  llvm::DenseMap<mlir::Value, Ring> rings;
  // References into these stay valid.
  std::map<const void *, llvm::SmallVector<mlir::Value>> registers;
  std::map<const void *, nsatile::TileLayout> layouts;
  llvm::MapVector<mlir::Value, SharedTile> sharedTiles;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> expressions;
  llvm::DenseMap<mlir::Value, IndexSum> sums;
  SharedMemory shared;
  GlobalHazards globals;
  bool hasCopies = false, hasBulkStores = false;
  llvm::MapVector<mlir::Value, CopyRing> copyRings;
  /// Groups that were committed, and the last one that all threads have waited
  /// for.
  int64_t numCopyGroups = 0, arrivedGroup = -1;
  /// Copies of rings wait for their group's commit.
  bool hasOpenGroup = false;
  /// The group that copies outside of rings are in at the latest.
  int64_t copiesGroup = 0;
  /// All products have operands of 16 bits.
  bool multipliesIn16Bits = false;
  bool hasRoles = false;
  mlir::Value sharedBase, failureRecord, tileCounter, raised;
  int64_t sharedLimit = 0, numRegisters = 0;
  /// Tiles' numbers, from the producer to the consumers.
  Ring tileQueue = {};
  /// Shared memory for barriers.
  struct {
    int64_t next = 0, left = 0;
  } barriers;
  friend class HazardsOfLoop;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELEMITTER_H
