//===- Instructions.h - Instructions of the NVVM dialect --------*- C++ -*-===//
//
// The only place that names ops of the dialect, whose header takes 8 s to
// compile. Shared memory is addressed by 32-bit integers where it isn't said
// that there is a pointer.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_INSTRUCTIONS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_INSTRUCTIONS_H

#include "CodeBuilder.h"

namespace nsacc::nvvm {

/// To an address in shared memory. Instructions take constants that are added
/// to a pointer; those added to an address are instructions of their own.
mlir::Value toPointer(CodeBuilder &b, mlir::Value address);

//===-- Places in the grid ------------------------------------------------===//

/// The thread's number in its block.
mlir::Value getThread(CodeBuilder &b);
/// The block's number in the grid, along an axis of 0 … 2.
mlir::Value getBlock(CodeBuilder &b, unsigned axis);
/// Of the grid, along its first axis.
mlir::Value getNumBlocks(CodeBuilder &b);

//===-- Lanes -------------------------------------------------------------===//

/// The value of the lane whose number differs by `mask`; 32 or 64 bits.
mlir::Value shuffleXor(CodeBuilder &b, mlir::Value value, mlir::Value mask);
mlir::Value shuffleXor(CodeBuilder &b, mlir::Value value, int64_t mask);
/// The first lane's value, which ptxas knows to be the same for the warp.
mlir::Value broadcastLane(CodeBuilder &b, mlir::Value value);
/// The lanes that have the same value, as bits.
mlir::Value matchLanes(CodeBuilder &b, mlir::Value value);
/// Whether a condition holds for any lane, which ptxas knows to be the same for
/// the warp.
mlir::Value anyLane(CodeBuilder &b, mlir::Value condition);
/// The value of the lane of this number; 32 or 64 bits.
mlir::Value readLane(CodeBuilder &b, mlir::Value value, mlir::Value lane);
/// The value of the lane before, and lane 0's own; 32 or 64 bits.
mlir::Value readLaneBefore(CodeBuilder &b, mlir::Value value);
/// A bit for each lane for which a condition holds; 32 bits.
mlir::Value collectLanes(CodeBuilder &b, mlir::Value condition);
void syncWarp(CodeBuilder &b);

//===-- Barriers of the hardware ------------------------------------------===//

void syncBlock(CodeBuilder &b, int64_t barrier);
void syncThreads(CodeBuilder &b, mlir::Value barrier, int64_t threads);
void arriveThreads(CodeBuilder &b, mlir::Value barrier, int64_t threads);

//===-- Barriers in shared memory -----------------------------------------===//

void initBarrier(CodeBuilder &b, mlir::Value pointer, int64_t arrivals);
void fenceBarrierInit(CodeBuilder &b);
void arriveAndExpect(CodeBuilder &b, mlir::Value barrier, int64_t bytes);
/// The thread arrives once what it copies and stored has arrived.
void arriveBehindCopies(CodeBuilder &b, mlir::Value barrier);

//===-- Words -------------------------------------------------------------===//

/// Bits that are set in a word of shared memory from here on.
void addBits(CodeBuilder &b, mlir::Value pointer, mlir::Value bits);
/// An integer added to a word of shared memory, in whatever order lanes come.
void addTo(CodeBuilder &b, mlir::Value pointer, mlir::Value number);
/// The word in global memory before it is counted up; behind `last` comes 0.
mlir::Value countUp(CodeBuilder &b, mlir::Value pointer, mlir::Value last);

//===-- Launches ----------------------------------------------------------===//

/// The next launch's blocks may come; those that wait for the end of this one
/// do so by themselves.
void letNextLaunchStart(CodeBuilder &b);
/// Waits until the launch before has ended, and what it wrote can be read.
void waitForLaunchBefore(CodeBuilder &b);

//===-- Copies by threads -------------------------------------------------===//

/// 16 bytes to a pointer into shared memory, `bytes` of which are read and the
/// others zeros.
void copyChunk(CodeBuilder &b, mlir::Value target, mlir::Value source,
               mlir::Value bytes);
void commitCopies(CodeBuilder &b);
/// Waits for all groups but the last `pending` ones.
void waitCopies(CodeBuilder &b, int64_t pending);

//===-- Bulk copies -------------------------------------------------------===//

/// A box of the tensor that `map` describes, coordinates innermost first.
void copyBoxToShared(CodeBuilder &b, mlir::Value address, mlir::Value map,
                     mlir::ValueRange coordinates, mlir::Value barrier);
void copyBoxFromShared(CodeBuilder &b, mlir::Value map,
                       mlir::ValueRange coordinates, mlir::Value address);
void commitBoxes(CodeBuilder &b);
/// Waits until the sources of all groups but `pending` have been read.
void waitBoxesRead(CodeBuilder &b, int64_t pending);
/// What ordinary stores wrote, bulk copies and products read.
void fenceSharedForAsync(CodeBuilder &b);

//===-- Matrices of 8 by 8 ------------------------------------------------===//

/// `count` of them, from a pointer into shared memory.
llvm::SmallVector<mlir::Value, 4> loadMatrices(CodeBuilder &b,
                                               mlir::Value pointer,
                                               int64_t count,
                                               bool isTransposed);
void storeMatrices(CodeBuilder &b, mlir::Value pointer,
                   mlir::ValueRange packed);
/// A warp's 16 rows of `lhs` times 8 columns of `rhs`, 16 of the inner
/// dimension, added to 4 sums; operands are words of two elements.
llvm::SmallVector<mlir::Value, 4> multiply(CodeBuilder &b, mlir::Type element,
                                           mlir::ValueRange lhs,
                                           mlir::ValueRange rhs,
                                           mlir::ValueRange sums);

//===-- Numbers -----------------------------------------------------------===//

/// Two f32 rounded to a vector of two elements of 16 bits.
mlir::Value roundPair(CodeBuilder &b, mlir::Type element, mlir::Value low,
                      mlir::Value high);
/// 1 / x, with denormals as 0 and an error of one unit in the last place.
mlir::Value reciprocal(CodeBuilder &b, mlir::Value x);

//===-- Resources of a thread ---------------------------------------------===//

/// The warpgroup's threads take or give registers until they have so many.
void setRegisters(CodeBuilder &b, int64_t registers, bool increase);
void sleep(CodeBuilder &b, int64_t nanoseconds);

} // namespace nsacc::nvvm

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_INSTRUCTIONS_H
