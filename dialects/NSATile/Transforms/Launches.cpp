//===- Launches.cpp - Programs and what launches give them ----------------===//

#include "Launches.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

SmallVector<LaunchOp> nsatile::findLaunches(ProgramOp program) {
  SmallVector<LaunchOp> found;
  program->getParentOfType<ModuleOp>().walk([&](LaunchOp launch) {
    if (launch.getProgram() == program.getSymName())
      found.push_back(launch);
  });
  return found;
}

SmallVector<Value> nsatile::getGrid(LaunchOp launch) {
  return {launch.getX(), launch.getY(), launch.getZ()};
}

SmallVector<Value> nsatile::addArguments(
    ProgramOp program, ArrayRef<LaunchOp> launches,
    llvm::function_ref<SmallVector<Value>(LaunchOp)> getValues) {
  SmallVector<Type> types;
  for (LaunchOp launch : launches) {
    SmallVector<Value> values = getValues(launch);
    types = llvm::to_vector(ValueRange(values).getTypes());
    launch.getArgumentsMutable().append(values);
  }
  Block &body = program.getBody().front();
  SmallVector<Value> arguments;
  for (Type type : types)
    arguments.push_back(body.addArgument(type, program.getLoc()));
  program.setFunctionType(FunctionType::get(
      program.getContext(), body.getArgumentTypes(), TypeRange()));
  return arguments;
}

void nsatile::replaceProgramIds(Operation *op) {
  Block &body = op->getRegion(0).front();
  op->walk([&](ProgramIdOp id) {
    id.replaceAllUsesWith(body.getArgument(id.getAxis()));
    id.erase();
  });
}
