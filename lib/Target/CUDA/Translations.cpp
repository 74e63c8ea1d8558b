//===- Translations.cpp - Packages as text --------------------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "nsacc/Target/CUDA/CUDA.h"

using namespace mlir;
using namespace nsacc;

static LogicalResult describePlans(Operation *op, llvm::raw_ostream &os) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    return op->emitOpError("expected a module");
  // A plan's numbers follow from its IR alone, so any device will do.
  cuda::Options options(*gpu::findDevice("sm_90a"));
  for (auto plan : module.getOps<nsatile::PlanOp>()) {
    FailureOr<rt::Package> package = cuda::packPlan(plan, options);
    if (failed(package))
      return failure();
    os << rt::describePackage(*package);
  }
  return success();
}

void cuda::registerTranslations() {
  TranslateFromMLIRRegistration planToJSON(
      "nsatile-plan-to-json",
      "what packages say of a module's plans, without images", describePlans,
      [](DialectRegistry &registry) {
        registry.insert<arith::ArithDialect, memref::MemRefDialect,
                        nsatile::NSATileDialect>();
      });
}
