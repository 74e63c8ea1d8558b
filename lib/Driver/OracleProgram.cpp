//===- OracleProgram.cpp - Kernels in the interpreter ---------------------===//

#include "NSA/IR/NSAOps.h"
#include "Targets.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Interpreter/Interpreter.h"
#include <chrono>

using namespace nsacc;

static llvm::Error explainNoSchedule() {
  return llvm::createStringError(
      "target 'oracle' has no schedule: it interprets the program");
}

namespace {

/// Runs read the module concurrently. So its context locks its uniquer,
/// although it never starts a thread.
class OracleProgram : public CompiledProgram {
public:
  OracleProgram(std::vector<Signature> signatures)
      : context(mlir::MLIRContext::Threading::DISABLED) {
    this->signatures = std::move(signatures);
  }

  llvm::Error load(const ModuleImage &image) {
    module = image.read(context);
    if (!module)
      return llvm::createStringError("the module can't be read back");
    llvm::append_range(kernels, module->getOps<nsa::KernelOp>());
    context.enableMultithreading();
    return llvm::Error::success();
  }

  Target getTarget() const override { return Target::Oracle; }
  std::string getTargetName() const override { return "oracle"; }

protected:
  llvm::Error prepareChecked(size_t, const DimSizes &,
                             RunStatistics &) const override {
    return llvm::Error::success();
  }

  llvm::Expected<std::string>
  printTilesOf(size_t, const llvm::StringMap<int64_t> &) const override {
    return llvm::createStringError(
        "target 'oracle' interprets phase 'nsa' and has no tiles: use target "
        "'cpu'");
  }

  llvm::Expected<schedule::Settings>
  fitScheduleOf(size_t, const llvm::StringMap<int64_t> &) const override {
    return explainNoSchedule();
  }

  llvm::Expected<std::string>
  printScheduleOf(size_t, const llvm::StringMap<int64_t> &) const override {
    return explainNoSchedule();
  }

  llvm::Error runChecked(size_t kernel, const DimSizes &,
                         llvm::ArrayRef<Tensor> inputs,
                         llvm::ArrayRef<Tensor> results,
                         const RunOptions &options,
                         RunStatistics &statistics) const override {
    if (llvm::all_of(results, hasNoElements))
      return llvm::Error::success();
    auto start = std::chrono::steady_clock::now();
    interpreter::Options own;
    own.threads = options.threads;
    own.roundStorage = options.roundStorage;
    own.keepF64 = options.keepF64;
    auto computed = interpreter::run(kernels[kernel], inputs, own);
    if (!computed)
      return computed.takeError();
    for (auto [from, to] : llvm::zip_equal(*computed, results))
      copyElements(from, to);
    std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    statistics.runSeconds = taken.count();
    return llvm::Error::success();
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<nsa::KernelOp> kernels;
};

} // namespace

llvm::Expected<std::unique_ptr<CompiledProgram>>
nsacc::createOracleProgram(const ModuleImage &image,
                           std::vector<Signature> signatures,
                           const CompileOptions &options) {
  if (!options.schedule.empty())
    return llvm::createStringError(
        "target 'oracle' has no schedule: it interprets the program");
  auto program = std::make_unique<OracleProgram>(std::move(signatures));
  if (llvm::Error error = program->load(image))
    return std::move(error);
  return program;
}
