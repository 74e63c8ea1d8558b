//===- CompileToPTX.cpp - Tile programs as PTX ----------------------------===//

#include "nsacc/Target/CUDA/CUDA.h"

using namespace nsacc;

llvm::ArrayRef<llvm::StringLiteral> cuda::getArchitectures() {
  static constexpr llvm::StringLiteral names[] = {"sm_90a", "sm_80"};
  return names;
}

llvm::Expected<std::string> cuda::compileToPTX(mlir::ModuleOp module,
                                               const Options &options) {
  return llvm::createStringError("target " + options.architecture +
                                 " isn't built yet");
}
