//===- TileCompiler.cpp - Kernels at the tile level, for given sizes ------===//

#include "TileCompiler.h"
#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Driver/CompileError.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;

TileCompiler::TileCompiler(mlir::ModuleOp module, ModuleImage image,
                           const CompileOptions &options)
    : image(std::move(image)), options(options) {
  for (auto kernel : module.getOps<nsa::KernelOp>()) {
    auto &names = dims.emplace_back();
    for (llvm::StringRef name : nsa::getSpecializedDims(kernel))
      names.push_back(name.str());
    queries.push_back(isGPU(options.target) ? QueryCount::get(kernel)
                                            : std::nullopt);
  }
}

std::string CodeSizes::spell() const {
  return llvm::join(sizes, ",") + (hasManyQueries ? ":many" : "");
}

llvm::Expected<CodeSizes>
TileCompiler::getCodeSizes(size_t kernel, const Signature &signature,
                           const DimSizes &sizes) const {
  CodeSizes code;
  code.hasManyQueries = hasManyQueries(kernel, sizes.sizes);
  for (const std::string &name : dims[kernel]) {
    auto found = sizes.sizes.find(name);
    // A name that results alone have; its use is what gets the message.
    if (found == sizes.sizes.end())
      continue;
    if (found->second < 1)
      return llvm::createStringError(
          "kernel '" + signature.kernel + "' isn't compiled for " + name +
          " = " + llvm::Twine(found->second) +
          ": use target 'oracle', which takes every size");
    code.sizes.push_back(name + "=" + std::to_string(found->second));
  }
  return code;
}

/// The diagnostics of a failed compilation, each error with a way out. `error`
/// says it again in short, or alone.
static llvm::Error explain(frontend::DiagnosticCollector &collector,
                           llvm::Error error) {
  using frontend::DiagnosticData;
  std::vector<DiagnosticData> diagnostics = collector.take();
  bool hasError = false;
  for (DiagnosticData &diagnostic : diagnostics) {
    if (diagnostic.severity != DiagnosticData::Severity::Error)
      continue;
    hasError = true;
    DiagnosticData note;
    note.severity = DiagnosticData::Severity::Note;
    note.message = "target 'oracle' runs every program, slowly";
    diagnostic.notes.push_back(note);
  }
  if (!hasError)
    return error;
  llvm::consumeError(std::move(error));
  return llvm::make_error<CompileError>(std::move(diagnostics));
}

llvm::Error TileCompiler::lowerToTiles(mlir::ModuleOp module,
                                       const CodeSizes &sizes,
                                       mlir::TimingScope &timing) const {
  mlir::TimingScope scope = timing.nest("phase tile");
  auto prepare = [&](mlir::PassManager &manager, mlir::ModuleOp module,
                     Phase phase) {
    manager.enableTiming(scope);
    if (options.preparePasses)
      options.preparePasses(manager, module, getName(phase));
  };
  PhaseOptions phaseOptions = {sizes.sizes, options.schedule,
                               /*architecture=*/{}, sizes.hasManyQueries};
  if (isGPU(options.target))
    phaseOptions.architecture = getName(options.target);
  if (mlir::failed(runPhase(module, Phase::Tile, phaseOptions, prepare)))
    return llvm::createStringError("the tile phase failed");
  return llvm::Error::success();
}

llvm::Error TileCompiler::compile(
    const Signature &signature, const CodeSizes &sizes,
    llvm::function_ref<llvm::Error(mlir::ModuleOp, mlir::TimingScope &)> finish)
    const {
  mlir::TimingScope none;
  mlir::TimingScope &timing = options.timing ? *options.timing : none;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  frontend::DiagnosticCollector collector(context);
  auto module = image.read(context, signature.kernel);
  if (!module)
    return llvm::createStringError("the module can't be read back");
  llvm::Error error = lowerToTiles(*module, sizes, timing);
  if (!error)
    error = finish(*module, timing);
  if (error)
    return explain(collector, std::move(error));
  return llvm::Error::success();
}

llvm::Expected<std::string>
TileCompiler::print(size_t kernel, const Signature &signature,
                    const llvm::StringMap<int64_t> &sizes) const {
  CodeSizes code;
  code.hasManyQueries = hasManyQueries(kernel, sizes);
  std::vector<std::string> missing;
  for (const std::string &name : dims[kernel]) {
    auto found = sizes.find(name);
    if (found == sizes.end())
      missing.push_back("'" + name + "'");
    else
      code.sizes.push_back(name + "=" + std::to_string(found->second));
  }
  if (!missing.empty())
    return llvm::createStringError(
        "phase 'tile' depends on sizes of heads and channels: expected those "
        "of " +
        llvm::join(missing, ", "));
  std::string text;
  auto finish = [&](mlir::ModuleOp module, mlir::TimingScope &) -> llvm::Error {
    llvm::raw_string_ostream os(text);
    module.print(os);
    return llvm::Error::success();
  };
  if (llvm::Error error = compile(signature, code, finish))
    return std::move(error);
  return text;
}
