//===- BulkStores.h - Results that leave through shared memory --*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_BULKSTORES_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_BULKSTORES_H

#include "Kernel.h"
#include "TensorMaps.h"

namespace nsacc {

/// Writes consumers' results by bulk copies, a warpgroup's rows at a time.
class BulkStores {
public:
  explicit BulkStores(Kernel &kernel);

  bool hasRoom(const BulkStore &store) const {
    return shared.hasRoom(store.getBytes());
  }
  /// `storeDirectly` writes results if a bulk copy would go beyond their
  /// limits.
  void emit(nsatile::StoreOp op, const BulkStore &store,
            llvm::function_ref<void()> storeDirectly);

private:
  mlir::Value isWrittenByBox(nsatile::StoreOp op, const BulkStore &store,
                             mlir::Value firstRow);
  void writeSlabs(mlir::Value address, llvm::ArrayRef<mlir::Value> values,
                  int64_t columns);
  void copyBoxes(nsatile::StoreOp op, const BulkStore &store,
                 mlir::Value firstRow, mlir::Value address);

  CodeBuilder &b;
  ThreadMap &threads;
  const ProgramValues &program;
  SharedMemory &shared;
  const HostParameters &host;
  bool &hasBulkStores;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_BULKSTORES_H
