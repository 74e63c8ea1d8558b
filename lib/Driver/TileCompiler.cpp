//===- TileCompiler.cpp - Kernels at the tile level, for given sizes ------===//

#include "TileCompiler.h"
#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Support/CompilerErrors.h"
#include "nsacc/Support/CrashHandler.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;

TileCompiler::TileCompiler(mlir::ModuleOp module, ModuleImage image,
                           const CompileOptions &options)
    : image(std::move(image)), options(options) {
  for (auto kernel : module.getOps<nsa::KernelOp>()) {
    auto &names = dims.emplace_back();
    for (llvm::StringRef name : nsa::getSpecializedDims(kernel))
      names.push_back(name.str());
    queries.push_back(options.target == Target::GPU ? QueryCount::get(kernel)
                                                    : std::nullopt);
  }
}

std::string Specialization::spell() const {
  return llvm::join(sizes, ",") + (hasManyQueries ? ":many" : "") +
         (device ? ":" + device->getKey() : "");
}

llvm::Expected<Specialization>
TileCompiler::specialize(size_t kernel, const Signature &signature,
                         const DimSizes &sizes,
                         std::optional<gpu::Device> device) const {
  Specialization code;
  code.hasManyQueries = hasManyQueries(kernel, sizes.sizes);
  if (device)
    setDevice(code, std::move(*device));
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

llvm::Expected<std::vector<TileCompiler::Variant>>
TileCompiler::getVariants(size_t kernel, const Signature &signature,
                          const DimSizes &sizes,
                          const gpu::Device &device) const {
  auto code = specialize(kernel, signature, sizes, device);
  if (!code)
    return code.takeError();
  code->hasManyQueries = false;
  std::vector<Variant> variants = {{*code, {}}};
  const std::optional<QueryCount> &count = queries[kernel];
  if (!count || !QueryCount::matters(device) || !count->matters(sizes.sizes))
    return variants;
  code->hasManyQueries = true;
  variants.insert(variants.begin(), {*code, count->getConditions().vec()});
  return variants;
}

using frontend::DiagnosticData;

static bool isError(const DiagnosticData &diagnostic) {
  return diagnostic.severity == DiagnosticData::Severity::Error;
}

/// The diagnostics of a failed compilation. `error` says it again in short, or
/// alone.
static llvm::Error explain(frontend::DiagnosticCollector &collector,
                           llvm::Error error) {
  std::vector<DiagnosticData> diagnostics = collector.take();
  if (llvm::none_of(diagnostics, isError) || error.isA<FatalError>())
    return error;
  llvm::consumeError(std::move(error));
  return llvm::make_error<CompileError>(std::move(diagnostics));
}

/// Adds a note to each error of a CompileError.
static llvm::Error addNote(llvm::Error error, const llvm::Twine &message) {
  DiagnosticData note;
  note.severity = DiagnosticData::Severity::Note;
  note.message = message.str();
  return llvm::handleErrors(
      std::move(error), [&](const CompileError &failed) -> llvm::Error {
        std::vector<DiagnosticData> diagnostics = failed.getDiagnostics().vec();
        for (DiagnosticData &diagnostic : diagnostics)
          if (isError(diagnostic))
            diagnostic.notes.push_back(note);
        return llvm::make_error<CompileError>(std::move(diagnostics));
      });
}

llvm::Error TileCompiler::lowerToTiles(mlir::ModuleOp module,
                                       const Specialization &code,
                                       llvm::StringRef schedule,
                                       mlir::TimingScope &timing) const {
  mlir::TimingScope scope = timing.nest("phase tile");
  auto prepare = [&](mlir::PassManager &manager, mlir::ModuleOp module,
                     Phase phase) {
    manager.enableTiming(scope);
    if (options.preparePasses)
      options.preparePasses(manager, module, getName(phase));
  };
  PhaseOptions phaseOptions = {code.sizes, schedule.str(), code.device,
                               code.hasManyQueries};
  if (mlir::failed(runPhase(module, Phase::Tile, phaseOptions, prepare)))
    return llvm::createStringError("the tile phase failed");
  return llvm::Error::success();
}

llvm::Error TileCompiler::compileWith(llvm::StringRef schedule,
                                      const Signature &signature,
                                      const Specialization &code, Finish finish,
                                      bool &hasNoRoom,
                                      int64_t mostShared) const {
  mlir::TimingScope none;
  mlir::TimingScope &timing = options.timing ? *options.timing : none;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  frontend::DiagnosticCollector collector(context);
  auto module = image.read(context, signature.kernel);
  if (!module)
    return llvm::createStringError("the module can't be read back");
  module->walk([&](nsa::TopKOp op) {
    op.setShareTokens(std::min<int64_t>(op.getShareTokens(), mostShared));
  });
  llvm::Error error = lowerToTiles(*module, code, schedule, timing);
  if (!error)
    error = catchFatalErrors([&] { return finish(*module, timing); });
  hasNoRoom = error.isA<NoRoomError>();
  return error ? explain(collector, std::move(error)) : llvm::Error::success();
}

/// Settings of tiles, the larger ones first.
static constexpr llvm::StringLiteral kSmallerTiles[] = {
    "keys=32", "tokens=16,keys=32", "tokens=4,keys=32", "tokens=1,keys=32",
    "tokens=1,keys=16"};

/// A schedule's settings, but those of `tiles` for what both name.
static std::string replaceSettings(llvm::StringRef schedule,
                                   llvm::StringRef tiles) {
  llvm::SmallVector<llvm::StringRef> kept, added;
  schedule.split(kept, ',', -1, /*KeepEmpty=*/false);
  tiles.split(added, ',');
  auto getName = [](llvm::StringRef setting) {
    return setting.split('=').first.trim();
  };
  llvm::erase_if(kept, [&](llvm::StringRef setting) {
    return llvm::is_contained(llvm::map_range(added, getName),
                              getName(setting));
  });
  kept.append(added);
  return llvm::join(kept, ",");
}

/// Says how many tokens may share a selection where fewer than the program asks
/// for have room: no tiles are smaller than the rows that choose together.
llvm::Error TileCompiler::adviseSharing(llvm::Error error,
                                        llvm::StringRef schedule,
                                        const Signature &signature,
                                        const Specialization &code,
                                        Finish finish) const {
  int64_t fits = 0, asked = 1;
  {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    if (auto module = image.read(context, signature.kernel))
      module->walk([&](nsa::TopKOp op) {
        asked = std::max<int64_t>(asked, op.getShareTokens());
      });
  }
  for (int64_t beyond = asked; beyond - fits > 1;) {
    int64_t middle = (fits + beyond) / 2;
    bool hasNoRoom;
    llvm::Error again = compileWith(schedule, signature, code, finish,
                                    hasNoRoom, /*mostShared=*/middle);
    (again ? beyond : fits) = middle;
    llvm::consumeError(std::move(again));
  }
  if (fits == 0)
    return error;
  return addNote(std::move(error),
                 "'share tokens " + llvm::Twine(asked) + "' is more than " +
                     (code.device ? "shared memory" : "the stack") +
                     " holds; 'share tokens " + llvm::Twine(fits) + "' fits");
}

/// Compiles with the first smaller tiles that fit. Tiles that the schedule
/// names stay: then those that fit are what the error advises.
llvm::Error TileCompiler::makeSmaller(llvm::Error error,
                                      const Signature &signature,
                                      const Specialization &code,
                                      Finish finish) const {
  llvm::StringRef given = options.schedule;
  bool isGiven = given.contains("tokens") || given.contains("keys");
  bool hasNoRoom;
  for (llvm::StringRef tiles : kSmallerTiles) {
    std::string schedule = replaceSettings(given, tiles);
    if (llvm::Error again =
            compileWith(schedule, signature, code, finish, hasNoRoom)) {
      llvm::consumeError(std::move(again));
      continue;
    }
    if (isGiven)
      return addNote(std::move(error), "the schedule '" + schedule + "' fits");
    llvm::consumeError(std::move(error));
    return llvm::Error::success();
  }
  llvm::StringRef smallest = std::end(kSmallerTiles)[-1];
  error = adviseSharing(std::move(error), replaceSettings(given, smallest),
                        signature, code, finish);
  std::string where = code.device ? " '" + code.device->name + "'" : "";
  return addNote(std::move(error), "no smaller tiles fit" + where +
                                       ": tried down to " + smallest);
}

/// Says whose fault it is, and writes what shows it.
llvm::Error TileCompiler::explainFatal(llvm::Error error,
                                       const Signature &signature,
                                       const Specialization &code) const {
  std::string reason = llvm::toString(std::move(error)), text;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::raw_string_ostream os(text);
  if (auto module = image.read(context, signature.kernel))
    module->print(os);
  std::vector<std::string> settings = {
      "target " + (code.device ? code.device->name : "cpu"),
      "code for " + code.spell(), "schedule " + options.schedule};
  auto path = writeReproducer(signature.kernel + ".mlir", text, settings);
  return llvm::make_error<FatalError>(
      "internal error: LLVM can't compile kernel '" + signature.kernel +
      "': " + reason + "\nnote: this is a fault of nsacc, not of your program" +
      "\nnote: " +
      (path ? "please report it with the reproducer " + *path
            : "the reproducer can't be written; set NSACC_CRASH_DIR to a "
              "writable folder"));
}

llvm::Error TileCompiler::explainLate(llvm::Error error,
                                      const Signature &signature,
                                      const Specialization &code) const {
  return error.isA<FatalError>()
             ? explainFatal(std::move(error), signature, code)
             : std::move(error);
}

llvm::Error TileCompiler::compile(const Signature &signature,
                                  const Specialization &code,
                                  Finish finish) const {
  bool hasNoRoom = false;
  llvm::Error error =
      compileWith(options.schedule, signature, code, finish, hasNoRoom);
  if (error.isA<FatalError>())
    return explainFatal(std::move(error), signature, code);
  if (hasNoRoom)
    error = makeSmaller(std::move(error), signature, code, finish);
  llvm::StringRef others =
      code.device ? "target 'cpu' has other limits, and " : "";
  return addNote(std::move(error),
                 others + "target 'oracle' runs every program, slowly");
}

llvm::Expected<std::string>
TileCompiler::print(size_t kernel, const Signature &signature,
                    const llvm::StringMap<int64_t> &sizes,
                    std::optional<gpu::Device> device) const {
  Specialization code;
  code.hasManyQueries = hasManyQueries(kernel, sizes);
  if (device)
    setDevice(code, std::move(*device));
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
