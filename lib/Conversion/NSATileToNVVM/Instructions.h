//===- Instructions.h - Instructions of the NVVM dialect --------*- C++ -*-===//
//
// The only place that names ops of the dialect, because its header takes 8 s to
// compile. Shared memory is addressed by 32-bit integers unless a comment says
// pointer.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_INSTRUCTIONS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_INSTRUCTIONS_H

#include "CodeBuilder.h"

namespace nsacc::nvvm {

/// Turns an address in shared memory into a pointer. Constants that are added
/// to a pointer become part of the instruction; constants that are added to an
/// address take separate instructions.
mlir::Value toPointer(CodeBuilder &b, mlir::Value address);

//===-- Places in the grid ------------------------------------------------===//

/// The thread's number in its block.
mlir::Value getThread(CodeBuilder &b);
/// The block's number in the grid, along axis 0, 1 or 2.
mlir::Value getBlock(CodeBuilder &b, unsigned axis);
/// Number of blocks of the grid along its first axis.
mlir::Value getNumBlocks(CodeBuilder &b);

//===-- Lanes -------------------------------------------------------------===//

/// The value of the lane whose number differs by `mask`; 32 or 64 bits.
mlir::Value shuffleXor(CodeBuilder &b, mlir::Value value, mlir::Value mask);
mlir::Value shuffleXor(CodeBuilder &b, mlir::Value value, int64_t mask);
/// The first lane's value, which ptxas knows to be the same for the warp.
mlir::Value broadcastLane(CodeBuilder &b, mlir::Value value);
/// The lanes with the same value, as bits.
mlir::Value matchLanes(CodeBuilder &b, mlir::Value value);
/// Whether a condition holds for any lane, which ptxas knows to be the same for
/// the warp.
mlir::Value anyLane(CodeBuilder &b, mlir::Value condition);
/// The value of the lane of this number; 32 or 64 bits.
mlir::Value readLane(CodeBuilder &b, mlir::Value value, mlir::Value lane);
/// The previous lane's value, or lane 0's own for lane 0; 32 or 64 bits.
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
/// Lets the thread arrive once its copies and stores have arrived.
void arriveBehindCopies(CodeBuilder &b, mlir::Value barrier);

//===-- Words -------------------------------------------------------------===//

/// Sets bits in a word of shared memory.
void addBits(CodeBuilder &b, mlir::Value pointer, mlir::Value bits);
/// Adds an integer to a word of shared memory; the order of lanes doesn't
/// matter.
void addTo(CodeBuilder &b, mlir::Value pointer, mlir::Value number);
/// Adds a number to a word in global memory that other blocks may add to.
void addToGlobal(CodeBuilder &b, mlir::Value pointer, mlir::Value number);
/// Counts a word in global memory up. Blocks that see it also see what this
/// block wrote before its threads last met.
void countUpBehindStores(CodeBuilder &b, mlir::Value pointer);
/// Counts a word in global memory up, from `last` to 0, and returns its old
/// value.
mlir::Value countUp(CodeBuilder &b, mlir::Value pointer, mlir::Value last);

//===-- Launches ----------------------------------------------------------===//

/// Lets the next launch's blocks start. Blocks that need the end of this launch
/// wait for it themselves.
void letNextLaunchStart(CodeBuilder &b);
/// Waits until the previous launch has ended and its results can be read.
void waitForLaunchBefore(CodeBuilder &b);

//===-- Copies by threads -------------------------------------------------===//

/// Copies 16 bytes to a pointer into shared memory: `bytes` bytes of the
/// source, then zeros.
void copyChunk(CodeBuilder &b, mlir::Value target, mlir::Value source,
               mlir::Value bytes);
/// Copies a word: the source if `bytes` is 4, or 0 if it is 0.
void copyWord(CodeBuilder &b, mlir::Value target, mlir::Value source,
              mlir::Value bytes);
void commitCopies(CodeBuilder &b);
/// Waits for all groups but the last `pending` ones.
void waitCopies(CodeBuilder &b, int64_t pending);

//===-- Bulk copies -------------------------------------------------------===//

/// Copies a box of the tensor that `map` describes; coordinates are innermost
/// first.
void copyBoxToShared(CodeBuilder &b, mlir::Value address, mlir::Value map,
                     mlir::ValueRange coordinates, mlir::Value barrier);
void copyBoxFromShared(CodeBuilder &b, mlir::Value map,
                       mlir::ValueRange coordinates, mlir::Value address);
void commitBoxes(CodeBuilder &b);
/// Waits until the sources of all groups but the last `pending` ones have been
/// read.
void waitBoxesRead(CodeBuilder &b, int64_t pending);
/// Makes ordinary stores visible to bulk copies and products.
void fenceSharedForAsync(CodeBuilder &b);

//===-- Matrices of 8 by 8 ------------------------------------------------===//

/// Loads `count` matrices from a pointer into shared memory.
llvm::SmallVector<mlir::Value, 4> loadMatrices(CodeBuilder &b,
                                               mlir::Value pointer,
                                               int64_t count,
                                               bool isTransposed);
void storeMatrices(CodeBuilder &b, mlir::Value pointer,
                   mlir::ValueRange packed);
/// Multiplies a warp's 16 rows of `lhs` by 8 columns of `rhs`, over 16 elements
/// of the inner dimension, and adds the product to 4 sums. Operands are words
/// of two elements.
llvm::SmallVector<mlir::Value, 4> multiply(CodeBuilder &b, mlir::Type element,
                                           mlir::ValueRange lhs,
                                           mlir::ValueRange rhs,
                                           mlir::ValueRange sums);

//===-- Numbers -----------------------------------------------------------===//

/// Two f32 rounded to a vector of two 16-bit elements.
mlir::Value roundPair(CodeBuilder &b, mlir::Type element, mlir::Value low,
                      mlir::Value high);
/// 1 / x; denormals are flushed to 0, with an error of one unit in the last
/// place.
mlir::Value reciprocal(CodeBuilder &b, mlir::Value x);

//===-- Resources of a thread ---------------------------------------------===//

/// Lets the warpgroup's threads take or give registers until they have
/// `registers`.
void setRegisters(CodeBuilder &b, int64_t registers, bool increase);
void sleep(CodeBuilder &b, int64_t nanoseconds);

} // namespace nsacc::nvvm

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_INSTRUCTIONS_H
