//===- nsacc-translate.cpp - Runs the front end alone, shows packages -----===//

#include "NSA/IR/NSADialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Target/CUDA/CUDA.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

namespace {
struct FrontendFlags {
  llvm::cl::list<std::string> params{
      "set", llvm::cl::desc("Value of a parameter: name=value")};
  llvm::cl::opt<std::string> dtype{
      "dtype", llvm::cl::desc("Storage type: bf16, f16 or f32"),
      llvm::cl::init("bf16")};
  llvm::cl::opt<std::string> kernel{
      "kernel", llvm::cl::desc("The kernel to compile (default: all)")};

  nsacc::frontend::Options getOptions() const {
    nsacc::frontend::Options options;
    for (llvm::StringRef param : params) {
      auto [name, value] = param.split('=');
      options.params[name] = value.str();
    }
    options.dtype = dtype;
    options.kernel = kernel;
    return options;
  }
};
} // namespace

int main(int argc, char **argv) {
  FrontendFlags flags;
  mlir::TranslateToMLIRRegistration importNSA(
      "import-nsa", "compile a program to the nsa dialect",
      [&](llvm::SourceMgr &sources,
          mlir::MLIRContext *context) -> mlir::OwningOpRef<mlir::Operation *> {
        const llvm::MemoryBuffer *buffer =
            sources.getMemoryBuffer(sources.getMainFileID());
        return nsacc::frontend::compile(buffer->getMemBufferRef(),
                                        flags.getOptions(), *context);
      },
      [](mlir::DialectRegistry &registry) {
        registry.insert<mlir::arith::ArithDialect, mlir::math::MathDialect,
                        nsacc::nsa::NSADialect>();
      });
  nsacc::cuda::registerTranslations();
  return mlir::failed(
      mlir::mlirTranslateMain(argc, argv, "nsacc front end and packages\n"));
}
