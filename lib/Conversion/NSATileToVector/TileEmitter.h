//===- TileEmitter.h - Writes a program as loops over vectors ---*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_TILEEMITTER_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_TILEEMITTER_H

#include "LiveRows.h"
#include "ScratchPool.h"
#include "TilePlacement.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace nsacc {

class VectorReader;

/// Writes the ops of a program, one after the other, as loops over vectors.
class TileEmitter {
public:
  /// Code goes to the end of `entry`. `gridIds` are the program's indices.
  TileEmitter(const TilePlacement &placement, const LiveRows &liveRows,
              mlir::Block *entry, mlir::ValueRange gridIds, int64_t lanes,
              int64_t registers);

  void map(mlir::Value from, mlir::Value to) { values.map(from, to); }
  /// `atEnd` writes the code for the terminator.
  mlir::LogicalResult emitBlock(mlir::Block &block,
                                llvm::function_ref<void()> atEnd);
  int64_t getScratchBytes() const { return scratch.getBytes(); }
  mlir::MemRefType getLargestScratch() const { return scratch.getLargest(); }

  /// Memory of candidates' lists. For each row: the keys, their number and the
  /// least key that gets in; and a counter for each digit of keys.
  struct Candidates {
    nsatile::CandidatesType type;
    mlir::Value keys, counts, floors, digits;
  };

  //===-- For what reads and writes tiles ---------------------------------===//

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  int64_t getLanes() const { return lanes; }
  mlir::Value constant(int64_t value);
  /// The new value of a scalar or a buffer.
  mlir::Value lookup(mlir::Value value) {
    return values.lookupOrDefault(value);
  }
  llvm::SmallVector<mlir::Value> lookupAll(mlir::ValueRange values) {
    return llvm::map_to_vector(
        values, [&](mlir::Value value) { return lookup(value); });
  }
  /// Memory that holds a tile in row-major order; null if the tile is computed
  /// by its readers.
  mlir::Value getMemory(mlir::Value tile) { return memory.lookup(tile); }

  using VectorBody = llvm::function_ref<void(mlir::ValueRange, int64_t)>;
  using IndexBody = llvm::function_ref<void(mlir::Value)>;
  using PointBody = llvm::function_ref<void(mlir::ValueRange)>;
  static constexpr int64_t maxUnrolled = 8;
  /// Visits columns 0 … size - 1 as vectors: first column and width. Up to
  /// `unrolled` whole vectors are written out, more become a loop.
  void forEachVectorOfRow(int64_t size,
                          llvm::function_ref<void(mlir::Value, int64_t)> body,
                          int64_t unrolled = maxUnrolled);
  /// Splits the columns of `size` that whole vectors leave into first columns
  /// and widths. Widths are powers of two, because LLVM handles others element
  /// by element.
  llvm::SmallVector<std::pair<int64_t, int64_t>> splitRest(int64_t size) const;
  /// Visits all elements as vectors along the last dimension: indices and
  /// width. For two dimensions or more, only the rows before `rowEnd` are
  /// visited, if there is one.
  void forEachVector(llvm::ArrayRef<int64_t> shape, VectorBody body,
                     int64_t unrolled = maxUnrolled, mlir::Value rowEnd = {});
  /// First row past the rows that are read of tiles that an op computes
  /// together; null if all rows are needed.
  mlir::Value getRowEnd(mlir::ValueRange tiles);
  /// Number of rows of a product's block of registers in a tile of `rows` rows.
  /// A row end is a multiple of it, or the tile's end.
  int64_t getRowUnit(int64_t rows) const;
  void forEach(mlir::Value lower, mlir::Value upper, int64_t step,
               IndexBody body);
  void forEach(int64_t size, IndexBody body);
  void forEachPoint(mlir::ValueRange lower, mlir::ValueRange upper,
                    PointBody body);

  mlir::Value allocateScratch(mlir::MemRefType type) {
    return scratch.allocate(type, loc);
  }
  mlir::Value loadVector(mlir::Value memory, mlir::ValueRange indices,
                         int64_t width);
  void storeVector(mlir::Value vector, mlir::Value memory,
                   mlir::ValueRange indices);
  /// A vector with `scalar` in each element, or the scalar for a width of 1.
  mlir::Value splat(mlir::Value scalar, int64_t width);
  mlir::Value splatConstant(mlir::TypedAttr scalar, int64_t width);

private:
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult emitScalarOp(mlir::Operation *op);
  mlir::LogicalResult reject(mlir::Operation *op);

  // EmitCircularBuffers.cpp
  /// A program without other threads fills circular buffers itself.
  struct Queue {
    mlir::Value tiles, places;
  };
  void emitCircularBuffer(nsatile::CircularBufferOp op);
  void emitConsumerStore(nsatile::ConsumerStoreOp op);
  void emitConsumerWait(nsatile::ConsumerWaitOp op);
  void emitConsumerRelease(nsatile::ConsumerReleaseOp op);
  mlir::Value getPlace(mlir::TypedValue<nsatile::CircularBufferType> buffer,
                       int64_t role);
  void advance(mlir::TypedValue<nsatile::CircularBufferType> buffer,
               int64_t role);

  // EmitControl.cpp
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitRegion(mlir::Region &from, mlir::Block *to,
                                 mlir::ValueRange targets);
  void emitYield(mlir::Operation *yield, mlir::ValueRange targets);

  // EmitMemory.cpp
  mlir::LogicalResult emitLoad(nsatile::LoadOp op);
  mlir::LogicalResult emitStore(nsatile::StoreOp op);
  void emitAccumulate(nsatile::AccumulateOp op);
  mlir::LogicalResult expectBytes(mlir::Operation *op, mlir::Value buffer);

  // EmitDot.cpp
  void emitDot(nsatile::DotOp op);

  // EmitPointwise.cpp
  /// Ops that share a loop over elements.
  struct PointwiseGroup {
    llvm::ArrayRef<int64_t> shape;
    llvm::SmallVector<mlir::Operation *> ops;
  };
  /// Whether an op belongs to such a loop, and its code may come later.
  bool canWait(mlir::Operation *op) const;
  bool isComputedWhereRead(mlir::Value tile) const;
  void defer(mlir::Operation *op);
  mlir::LogicalResult emitGather(nsatile::GatherOp op);
  mlir::LogicalResult emitLookup(nsatile::LookupOp op);
  void emitPendingBefore(mlir::Operation *op);
  void emitPendingOf(mlir::Value tile);
  void emitPending();
  void emitGroup(const PointwiseGroup &group);

  // EmitReduce.cpp
  void emitReduce(nsatile::ReduceOp op);

  // EmitOrder.cpp
  void emitSort(nsatile::SortOp op);
  void emitTop(nsatile::TopOp op);
  void emitExchange(nsatile::ExchangeOp op);
  void emitShift(nsatile::ShiftOp op);

  // EmitLists.cpp
  void forEachElement(
      llvm::ArrayRef<int64_t> shape, mlir::Value mask,
      llvm::function_ref<void(VectorReader &, mlir::ValueRange)> body);
  void emitScatter(nsatile::ScatterOp op);
  void emitEnumerate(nsatile::EnumerateOp op);
  void emitScan(nsatile::ScanOp op);

  // EmitCandidates.cpp
  void emitCandidates(nsatile::CandidatesOp op);
  void emitOffer(nsatile::OfferOp op);
  void emitChoose(nsatile::ChooseOp op);
  void emitChosen(nsatile::ChosenOp op);

  // EmitSoftmax.cpp
  void emitSoftmaxUpdate(nsatile::SoftmaxUpdateOp op);
  void emitSoftmaxFinalize(nsatile::SoftmaxFinalizeOp op);

  // EmitForms.cpp
  /// Writes the forms that readers of a tile need.
  void emitForms(mlir::Value tile);
  void emitNatural(mlir::Value tile);
  void emitPacked(mlir::Value tile);
  void emitTransposed(mlir::Value tile);
  void emitReshape(mlir::Operation *op);
  mlir::LogicalResult emitSlice(mlir::tensor::ExtractSliceOp op);
  mlir::LogicalResult emitInsert(mlir::tensor::InsertSliceOp op);
  mlir::FailureOr<mlir::Value>
  emitSubview(mlir::OffsetSizeAndStrideOpInterface op,
              mlir::RankedTensorType slice, mlir::Value whole);
  void copyTile(mlir::Value tile, mlir::Value target);
  mlir::Value getPacked(mlir::Value tile);

  mlir::Value allocate(mlir::RankedTensorType tile);
  /// Memory for the result of an op.
  mlir::Value allocateResult(mlir::Value tile);

  const TilePlacement &placement;
  const LiveRows &liveRows;
  mlir::OpBuilder builder;
  mlir::Location loc;
  ScratchPool scratch;
  llvm::SmallVector<PointwiseGroup> pending;
  mlir::SmallVector<mlir::Value, 3> gridIds;
  int64_t lanes, registers;
  mlir::IRMapping values;
  llvm::DenseMap<mlir::Value, mlir::Value> memory, packedMemory,
      transposedMemory;
  llvm::DenseMap<mlir::Value, Candidates> candidates;
  llvm::DenseMap<mlir::Value, Queue> queues;
};

/// Reads vectors of tiles at one place, and computes tiles that have no memory.
class VectorReader {
public:
  VectorReader(TileEmitter &emitter, mlir::ValueRange indices, int64_t width)
      : emitter(emitter), indices(indices), width(width) {}

  /// Reads `width` neighbouring elements of a tile; a scalar for a width of 1.
  mlir::Value read(mlir::Value tile);
  /// Computes the vector of a tile that has memory, but isn't in it yet.
  mlir::Value evaluate(mlir::Value tile) { return known[tile] = compute(tile); }
  /// Sets the vector that readers of a tile find.
  void define(mlir::Value tile, mlir::Value vector) { known[tile] = vector; }
  /// Reads a vector and converts it to f32.
  mlir::Value readF32(mlir::Value tile);

private:
  mlir::Value compute(mlir::Value tile);
  mlir::Value computeElementwise(mlir::Operation *op);
  mlir::Value computeBroadcast(nsatile::BroadcastOp op);

  TileEmitter &emitter;
  llvm::SmallVector<mlir::Value, 3> indices;
  int64_t width;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETOVECTOR_TILEEMITTER_H
