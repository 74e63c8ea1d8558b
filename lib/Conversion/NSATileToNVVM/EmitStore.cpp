//===- EmitStore.cpp - Stores of tiles ------------------------------------===//

#include "BulkStores.h"
#include "KernelEmitter.h"
#include "NSATile/IR/Remarks.h"
#include "RegisterAccess.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

static constexpr PassRemarks kStoreRemarks = {"convert-nsatile-to-nvvm",
                                              "BulkStore"};

namespace {

/// Chooses between bulk copies and registers.
class StoreEmitter {
public:
  explicit StoreEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        sync(kernel.sync), bulkStores(kernel) {}

  LogicalResult emitStore(StoreOp op);

private:
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  Synchronizer &sync;
  BulkStores bulkStores;
};

} // namespace

LogicalResult StoreEmitter::emitStore(StoreOp op) {
  if (getTile(op.getTile()).getElementType().isIndex())
    return reject(op);
  sync.beforeGlobal(op.getAt().getBuffer(), /*isWrite=*/true);
  auto storeDirectly = [&] {
    storeRegisters(b, threads, program, op.getTile(), op.getAt());
  };
  std::optional<BulkStore> bulk = BulkStore::get(op);
  if (bulk && bulkStores.hasRoom(*bulk)) {
    kStoreRemarks.passed(op, "the tile leaves through shared memory");
    bulkStores.emit(op, *bulk, storeDirectly);
  } else {
    kStoreRemarks.missed(op, "the tile is written from registers: " +
                                 (bulk ? "shared memory has no room for its " +
                                             Twine(bulk->getBytes()) + " bytes"
                                       : Twine(BulkStore::explainNone(op))));
    storeDirectly();
  }
  return success();
}

void nsacc::addStores(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<StoreEmitter>(kernel), &StoreEmitter::emitStore);
}
