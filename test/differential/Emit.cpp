//===- Emit.cpp - Writes cases for another reader of programs -------------===//

#include "Emit.h"
#include "Compiled.h"
#include "Inputs.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Signature/Signature.h"
#include "nsacc/Tensor/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;
using namespace nsacc::differential;

static llvm::Error makeFolder(const std::string &folder) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError("can't make '" + folder +
                                   "': " + error.message());
  return llvm::Error::success();
}

static llvm::Error emitRun(const Case &testCase, const Run &run,
                           const Signature &signature,
                           const std::string &folder) {
  if (llvm::Error error = makeFolder(folder))
    return error;
  auto inputs = makeInputs(testCase, run, signature);
  if (!inputs)
    return inputs.takeError();
  for (auto [number, argument] : llvm::enumerate(signature.inputs)) {
    std::string path =
        llvm::formatv("{0}/{1}-{2}.npy", folder, number, argument.name);
    if (llvm::Error error = writeNpy(path, (*inputs)[number].toContiguous()))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error nsacc::differential::emit(const Case &testCase,
                                      const std::string &folder) {
  if (llvm::Error error = makeFolder(folder))
    return error;
  std::error_code failed;
  llvm::raw_fd_ostream os(folder + "/program.nsa", failed);
  if (failed)
    return llvm::createStringError("can't write '" + folder +
                                   "/program.nsa': " + failed.message());
  os << print(testCase);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importProgram(testCase, context);
  if (!module)
    return module.takeError();
  Signature signature =
      getSignature(*(*module)->getOps<nsa::KernelOp>().begin());
  for (auto [number, run] : llvm::enumerate(testCase.runs))
    if (llvm::Error error = emitRun(testCase, run, signature,
                                    folder + "/" + std::to_string(number)))
      return error;
  return llvm::Error::success();
}
