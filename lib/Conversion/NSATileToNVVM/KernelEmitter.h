//===- KernelEmitter.h - Writes a program as code of one thread -*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELEMITTER_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELEMITTER_H

#include "CircularBuffers.h"
#include "Kernel.h"
#include <functional>

namespace nsacc {

/// Writes the ops of a program, one after the other, as code of one thread on
/// its registers: a table of emitters by type of op. The emitters are in
/// separate files. Control flow stays `scf`, scalar arithmetic `arith`.
class KernelEmitter {
public:
  explicit KernelEmitter(Kernel &kernel);

  /// Adds member functions of `family` as emitters of the ops that they take.
  /// They return nothing or a LogicalResult.
  template <typename Family, typename... Results, typename... Ops>
  void add(std::shared_ptr<Family> family, Results (Family::*...emit)(Ops)) {
    (addOne(family, emit), ...);
  }
  /// Sets the emitter of ops without another emitter.
  void setOthers(std::function<mlir::LogicalResult(mlir::Operation *)> emit) {
    others = std::move(emit);
  }

  /// Writes all ops of a block but the terminator.
  mlir::LogicalResult emitBlock(mlir::Block &block);
  /// Writes all ops of the producer's or the consumers' region, which has no
  /// terminator.
  mlir::LogicalResult emitPartition(mlir::Region &partition);
  /// Writes an op at its place in the code.
  mlir::LogicalResult emitNext(mlir::Operation &op);
  /// Writes an op again, at another place.
  mlir::LogicalResult emitAgain(mlir::Operation &op);

private:
  template <typename Family, typename Result, typename Op>
  void addOne(std::shared_ptr<Family> family, Result (Family::*emit)(Op)) {
    table[mlir::TypeID::get<Op>()] = [=](mlir::Operation *op) {
      if constexpr (std::is_void_v<Result>) {
        ((*family).*emit)(mlir::cast<Op>(op));
        return mlir::success();
      } else {
        return ((*family).*emit)(mlir::cast<Op>(op));
      }
    };
  }

  CodeBuilder &b;
  SharedTiles &sharedTiles;
  std::shared_ptr<CircularBuffers> buffers;
  llvm::DenseMap<mlir::TypeID,
                 std::function<mlir::LogicalResult(mlir::Operation *)>>
      table;
  std::function<mlir::LogicalResult(mlir::Operation *)> others;
};

/// Reports an error: no emitter writes the op.
mlir::LogicalResult reject(mlir::Operation *op);

//===-- Families of emitters ----------------------------------------------===//

void addAccumulations(KernelEmitter &emitter, Kernel &kernel);
void addCandidates(KernelEmitter &emitter, Kernel &kernel);
void addControl(KernelEmitter &emitter, Kernel &kernel);
void addElementwise(KernelEmitter &emitter, Kernel &kernel);
void addFragments(KernelEmitter &emitter, Kernel &kernel);
void addGlobalLoads(KernelEmitter &emitter, Kernel &kernel);
void addLayouts(KernelEmitter &emitter, Kernel &kernel);
void addLists(KernelEmitter &emitter, Kernel &kernel);
void addPlaces(KernelEmitter &emitter, Kernel &kernel);
void addProducts(KernelEmitter &emitter, Kernel &kernel);
void addReductions(KernelEmitter &emitter, Kernel &kernel);
void addRepairs(KernelEmitter &emitter, Kernel &kernel);
void addAssertions(KernelEmitter &emitter, Kernel &kernel);
void addSlices(KernelEmitter &emitter, Kernel &kernel);
void addSoftmax(KernelEmitter &emitter, Kernel &kernel);
void addStores(KernelEmitter &emitter, Kernel &kernel);
void addTileSources(KernelEmitter &emitter, Kernel &kernel);
void addTop(KernelEmitter &emitter, Kernel &kernel);
void addWarpgroupProducts(KernelEmitter &emitter, Kernel &kernel);
/// Adds the emitter for warp-specialized programs; their circular buffers are
/// `buffers`.
void addWarpSpecialize(KernelEmitter &emitter, Kernel &kernel,
                       std::shared_ptr<BulkCircularBuffers> buffers);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELEMITTER_H
