//===- Assertions.cpp - Messages of programs that fail --------------------===//

#include "NSATile/IR/Assertions.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace nsacc::nsatile;

bool nsacc::nsatile::numberAssertions(ModuleOp module) {
  Builder builder(module.getContext());
  SmallVector<Attribute> assertions;
  module.walk([&](AssertOp op) {
    op->setAttr(kFailureIdAttrName,
                builder.getI64IntegerAttr(assertions.size()));
    assertions.push_back(builder.getArrayAttr(
        {op.getMessageAttr(),
         builder.getI64IntegerAttr(op.getValues().size())}));
  });
  if (assertions.empty())
    return false;
  module->setAttr(kAssertionsAttrName, builder.getArrayAttr(assertions));
  return true;
}
