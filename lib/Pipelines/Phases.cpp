//===- Phases.cpp - The named stages of compilation -----------------------===//

#include "nsacc/Pipelines/Phases.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace nsacc;

llvm::ArrayRef<Phase> nsacc::getPhases() {
  static constexpr Phase phases[] = {Phase::Frontend, Phase::NSA};
  return phases;
}

StringRef nsacc::getName(Phase phase) {
  switch (phase) {
  case Phase::Frontend:
    return "frontend";
  case Phase::NSA:
    return "nsa";
  }
  llvm_unreachable("unknown phase");
}

std::optional<Phase> nsacc::parsePhase(StringRef name) {
  for (Phase phase : getPhases())
    if (getName(phase) == name)
      return phase;
  return std::nullopt;
}

StringRef nsacc::getDescription(Phase phase) {
  switch (phase) {
  case Phase::Frontend:
    return "the nsa dialect as the front end generated it";
  case Phase::NSA:
    return "the nsa dialect, canonical and without common subexpressions";
  }
  llvm_unreachable("unknown phase");
}

void nsacc::addPhase(OpPassManager &manager, Phase phase) {
  switch (phase) {
  case Phase::Frontend:
    return;
  case Phase::NSA:
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    return;
  }
}

LogicalResult nsacc::runPhases(ModuleOp module, Phase last) {
  PassManager manager(module->getName());
  for (Phase phase : getPhases()) {
    addPhase(manager, phase);
    if (phase == last)
      break;
  }
  return manager.run(module);
}

void nsacc::registerPhasePipelines() {
  for (Phase phase : getPhases()) {
    std::string argument = "nsacc-" + getName(phase).str() + "-phase";
    std::string description = "Phase: " + getDescription(phase).str();
    PassPipelineRegistration<>(
        argument, description,
        [phase](OpPassManager &manager) { addPhase(manager, phase); });
  }
}
