//===- NSAOps.cpp - Operations of the nsa dialect -------------------------===//

#include "NSA/IR/NSAOps.h"
#include "NSA/IR/NSAAssembly.h"
#include "NSA/IR/NSANames.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

std::string KernelOp::getArgumentName(unsigned index) {
  if (auto name =
          getArgAttrOfType<StringAttr>(index, NSADialect::getNameAttrName()))
    return name.str();
  return "arg" + std::to_string(index);
}

std::string KernelOp::getResultName(unsigned index) {
  if (auto name =
          getResultAttrOfType<StringAttr>(index, NSADialect::getNameAttrName()))
    return name.str();
  return "out" + (getNumResults() == 1 ? "" : std::to_string(index));
}

std::string nsacc::nsa::describeTensor(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto kernel = argument
                    ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp())
                    : KernelOp();
  return kernel ? "'" + kernel.getArgumentName(argument.getArgNumber()) + "'"
                : "computed by the program";
}

//===----------------------------------------------------------------------===//
// TableReadOp
//===----------------------------------------------------------------------===//

LogicalResult TableReadOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  NamedTensorType table =
      operands.empty() ? NamedTensorType()
                       : dyn_cast<NamedTensorType>(operands[0].getType());
  if (!table)
    return failure();
  inferred.push_back(table.getScalarType());
  return success();
}

#include "NSA/IR/NSAInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "NSA/IR/NSAOps.cpp.inc"
