//===- TileCompiler.cpp - Kernels at the tile level, for given sizes ------===//

#include "TileCompiler.h"
#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Schedule/Choose.h"
#include "nsacc/Support/CompilerErrors.h"
#include "nsacc/Support/CrashHandler.h"
#include "nsacc/Support/Version.h"
#include "nsacc/Target/CPU/CPU.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <utility>

using namespace nsacc;

/// Leaves out files and lines, which don't change a kernel's speed.
static std::string hashOps(nsa::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, mlir::OpPrintingFlags().enableDebugInfo(false));
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                     /*LowerCase=*/true);
}

TileCompiler::TileCompiler(mlir::ModuleOp module, ModuleImage image,
                           const CompileOptions &options, RoomCheck checkRoom,
                           TargetKey describeTarget, Settle settle)
    : image(std::move(image)), options(options),
      settings(llvm::cantFail(schedule::Settings::parse(options.schedule))),
      tunedSchedules(options.tuning.store, options.warn),
      checkRoom(std::move(checkRoom)),
      describeTarget(std::move(describeTarget)), settle(std::move(settle)) {
  for (auto kernel : module.getOps<nsa::KernelOp>()) {
    auto &names = dims.emplace_back();
    for (llvm::StringRef name : nsa::getSpecializedDims(kernel))
      names.push_back(name.str());
    queries.push_back(options.target == Target::GPU ? QueryCount::get(kernel)
                                                    : std::nullopt);
    Tunable &own = tunable[kernel.getSymName()];
    own.hash = hashOps(kernel);
    // The reason may depend on sizes, the setting in front of it doesn't.
    for (const schedule::Unread &each :
         schedule::findUnread(kernel, {options.device}, settings))
      warned.insert(each.setting);
    kernel.walk([&](mlir::Operation *op) {
      own.selects |=
          llvm::any_of(op->getResultTypes(), llvm::IsaPred<nsa::SelectionType>);
    });
  }
}

static llvm::StringRef spellQueries(Queries queries) {
  return queries == Queries::Any ? "" : getInfo(queries).name.data();
}

std::string Specialization::spell() const {
  std::string text = llvm::join(sizes, ",");
  if (queries != Queries::Any)
    text += ":" + spellQueries(queries).str();
  if (!tuned.empty())
    text += ":" + tuned;
  return text + (device ? ":" + device->getKey() : "");
}

/// Fails for numbers of heads that no target runs, so that targets needn't
/// check them. Not all other sizes are known here: ragged rows' aren't.
static llvm::Error checkMultiples(const Signature &signature,
                                  const llvm::StringMap<int64_t> &sizes) {
  DimSizes known;
  for (const Multiple &each : signature.multiples)
    for (const Dim &heads : {each.multiple, each.of})
      if (auto found = sizes.find(heads.name); found != sizes.end())
        known.sizes[heads.name] = found->second;
  llvm::SmallVector<const Tensor *> none(signature.inputs.size(), nullptr);
  return bindKnownDimensions(signature, none, std::move(known)).takeError();
}

/// Fails for sizes too large for code: the code contains them, and a GPU's
/// indices depend on them.
static llvm::Error checkSize(const Signature &signature, llvm::StringRef name,
                             int64_t size, bool isForGPU) {
  unsigned bits = isForGPU ? 29 : 31;
  if (size < int64_t{1} << bits)
    return llvm::Error::success();
  return llvm::createStringError(
      "kernel '" + signature.kernel + "' isn't compiled for " + name + " = " +
      llvm::Twine(size) + ": expected less than 2^" + llvm::Twine(bits) +
      (isForGPU ? " on a GPU" : ""));
}

llvm::Expected<Specialization>
TileCompiler::specialize(size_t kernel, const Signature &signature,
                         const DimSizes &sizes,
                         std::optional<gpu::Device> device) const {
  if (llvm::Error error = checkMultiples(signature, sizes.sizes))
    return std::move(error);
  Specialization code;
  code.queries = findQueries(kernel, sizes.sizes, sizes.batchRows);
  if (device)
    setDevice(code, std::move(*device));
  for (const std::string &name : dims[kernel]) {
    auto found = sizes.sizes.find(name);
    // Only results have this name; its use gets an error message.
    if (found == sizes.sizes.end())
      continue;
    if (found->second < 1)
      return llvm::createStringError(
          "kernel '" + signature.kernel + "' isn't compiled for " + name +
          " = " + llvm::Twine(found->second) +
          ": use target 'oracle', which takes every size");
    if (llvm::Error error =
            checkSize(signature, name, found->second, code.device.has_value()))
      return std::move(error);
    code.sizes.push_back(name + "=" + std::to_string(found->second));
  }
  return code;
}

/// "flash<top = 4>(q: f32[B, T, HQ, D], …)": readable text for keys, which the
/// program's hash covers, too.
static std::string describeKernel(const Signature &signature) {
  std::vector<std::string> params, inputs;
  for (const auto &[name, value] : signature.params)
    params.push_back(name + " = " + value);
  for (const Argument &input : signature.inputs)
    inputs.push_back(toString(input));
  return signature.kernel +
         (params.empty() ? "" : "<" + llvm::join(params, ", ") + ">") + "(" +
         llvm::join(inputs, ", ") + ")";
}

std::string TileCompiler::getKey(const Signature &signature,
                                 const Specialization &code,
                                 llvm::StringRef programHash) const {
  schedule::Settings used = getSettings(code);
  return "compiler: " + getSourceHash().str() +
         "\nkernel: " + describeKernel(signature) +
         "\nprogram: " + programHash.str() + "\nschedule: " + used.getKey() +
         "\nsizes: " + llvm::join(code.sizes, ",") +
         "\nqueries: " + spellQueries(code.queries).str() +
         "\ndevice: " + (code.device ? code.device->getKey() : "") + "\n";
}

llvm::SmallVector<std::string> Specialization::getNames() const {
  llvm::SmallVector<std::string> names;
  for (const std::string &each : sizes)
    names.push_back(llvm::StringRef(each).split('=').first.str());
  return names;
}

std::string TileCompiler::getTuningKey(const Signature &signature,
                                       const Specialization &code,
                                       const DimSizes &sizes) const {
  Specialization untuned = code;
  untuned.tuned.clear();
  TunePolicy policy = options.tuning.policy;
  const Tunable &own = tunable.at(signature.kernel);
  if (!own.selects)
    policy.agreement = 0;
  return "tuned: 2\n" + getKey(signature, untuned, own.hash) +
         describeTarget(code) + "policy: " + toString(policy) +
         "\nlengths: " + spellLengths(signature, sizes, code.getNames()) + "\n";
}

schedule::Settings TileCompiler::getSettings(const Specialization &code) const {
  schedule::Settings with = settings;
  llvm::cantFail(with.addTuned(code.tuned, code.isModelled));
  return with;
}

using frontend::DiagnosticData;

static bool isError(const DiagnosticData &diagnostic) {
  return diagnostic.severity == DiagnosticData::Severity::Error;
}

/// The diagnostics of a failed compilation, or `error` if there are none; else
/// `error` only repeats them.
static llvm::Error explain(frontend::DiagnosticCollector &collector,
                           llvm::Error error) {
  std::vector<DiagnosticData> diagnostics = collector.take();
  if (llvm::none_of(diagnostics, isError) || error.isA<FatalError>())
    return error;
  llvm::consumeError(std::move(error));
  return llvm::make_error<CompileError>(std::move(diagnostics));
}

llvm::Error TileCompiler::lowerToTiles(mlir::ModuleOp module,
                                       const Specialization &code,
                                       const schedule::Settings &settings,
                                       mlir::TimingScope &timing) const {
  mlir::TimingScope scope = timing.nest("phase tile");
  auto prepare = [&](mlir::PassManager &manager, mlir::ModuleOp module,
                     Phase phase) {
    manager.enableTiming(scope);
    if (options.preparePasses)
      options.preparePasses(manager, module, getName(phase));
  };
  PhaseOptions phaseOptions = {code.sizes, settings, code.device, code.queries};
  if (mlir::failed(runPhase(module, Phase::Tile, phaseOptions, prepare)))
    return llvm::createStringError("the tile phase failed");
  return llvm::Error::success();
}

/// Names of the ops whose tiles are too large for a block, before they are
/// programs: "a" and, of a program of the op, "a.exact".
static std::vector<std::string> findWithoutRoom(mlir::ModuleOp module) {
  std::vector<std::string> names;
  for (auto kernel : module.getOps<nsa::KernelOp>())
    for (const schedule::ScheduledOp &op : schedule::getScheduledOps(kernel))
      if (auto program =
              op.op->getAttrOfType<mlir::StringAttr>(kTooLargeAttrName))
        names.push_back(program.empty()
                            ? op.name
                            : op.name + "." + program.getValue().str());
  return names;
}

/// For each program, the names of the ops that it computes.
static llvm::StringMap<std::vector<std::string>>
getOpNames(mlir::ModuleOp module) {
  llvm::StringMap<std::vector<std::string>> names;
  for (auto program : module.getOps<nsatile::ProgramOp>())
    if (auto ops =
            program->getAttrOfType<mlir::ArrayAttr>(nsatile::kOpsAttrName))
      for (mlir::Attribute op : ops)
        names[program.getSymName()].push_back(
            mlir::cast<mlir::StringAttr>(op).str());
  return names;
}

llvm::Error TileCompiler::compileWith(const schedule::Settings &settings,
                                      const Signature &signature,
                                      const Specialization &code, Finish finish,
                                      NoRoom &noRoom,
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
  llvm::Error error = lowerToTiles(*module, code, settings, timing);
  auto names = getOpNames(*module);
  noRoom.reset();
  if (auto tooLarge = findWithoutRoom(*module); !tooLarge.empty())
    noRoom = std::move(tooLarge);
  if (!error)
    error = catchFatalErrors([&] { return finish(*module, timing); });
  error = llvm::handleErrors(
      std::move(error), [&](std::unique_ptr<NoRoomError> found) -> llvm::Error {
        noRoom.emplace();
        for (const std::string &program : found->getPrograms())
          llvm::append_range(*noRoom, names[program]);
        return llvm::Error(std::move(found));
      });
  return error ? explain(collector, std::move(error)) : llvm::Error::success();
}

/// Whether a field was given that smaller tiles need to reduce.
static bool isGivenSmaller(const schedule::Settings &given,
                           const schedule::Settings &smaller) {
  return llvm::any_of(smaller.getList(), [&](const schedule::Setting &each) {
    return each.isDerived && given.find(each.op, each.field);
  });
}

llvm::Error TileCompiler::findRoom(const schedule::Settings &settings,
                                   const Signature &signature,
                                   const Specialization &code, NoRoom &noRoom,
                                   int64_t mostShared) const {
  auto check = [&](mlir::ModuleOp module, mlir::TimingScope &) {
    return hasRoom(module, code);
  };
  return compileWith(settings, signature, code, check, noRoom, mostShared);
}

mlir::OwningOpRef<mlir::ModuleOp>
TileCompiler::readSized(mlir::MLIRContext &context, const Signature &signature,
                        const Specialization &code) const {
  auto module = image.read(context, signature.kernel);
  if (!module)
    return module;
  nsa::NSASpecializeOptions sizes;
  sizes.dims.assign(code.sizes.begin(), code.sizes.end());
  mlir::PassManager manager(&context);
  manager.addPass(nsa::createNSASpecialize(sizes));
  if (mlir::failed(manager.run(*module)))
    return {};
  return module;
}

/// The device and queries that a schedule is chosen for.
static schedule::Goal getGoal(const Specialization &code) {
  return {code.device, code.queries};
}

llvm::Error TileCompiler::withKernel(const Signature &signature,
                                     const Specialization &code,
                                     CompiledProgram::KernelUser use) const {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::DiagnosticCollector collector(context);
  auto module = readSized(context, signature, code);
  if (!module)
    return explain(collector,
                   llvm::createStringError("the sizes don't fit the program"));
  return use(*module->getOps<nsa::KernelOp>().begin(), getGoal(code), settings);
}

/// The smallest tiles of the ops, if one of these ops has no room even with
/// them; none if they fit.
std::optional<schedule::Settings>
TileCompiler::findTooLarge(nsa::KernelOp kernel, schedule::Settings smallest,
                           llvm::ArrayRef<std::string> ops,
                           const Signature &signature,
                           const Specialization &code) const {
  while (auto smaller =
             schedule::makeSmaller(kernel, getGoal(code), smallest, ops))
    smallest = std::move(*smaller);
  NoRoom noRoom;
  llvm::consumeError(findRoom(smallest, signature, code, noRoom));
  bool isTooLarge = noRoom && llvm::any_of(*noRoom, [&](const auto &op) {
                      return llvm::is_contained(ops, op);
                    });
  return isTooLarge ? std::optional(std::move(smallest)) : std::nullopt;
}

std::string TileCompiler::adviseFewerBuffers(nsa::KernelOp kernel,
                                             llvm::ArrayRef<std::string> ops,
                                             const schedule::Settings &settings,
                                             const Signature &signature,
                                             const Specialization &code) const {
  schedule::Settings tiles = settings;
  auto shrink = [&](bool keepsGiven) {
    while (auto smaller =
               schedule::makeSmaller(kernel, getGoal(code), tiles, ops)) {
      if (keepsGiven && isGivenSmaller(settings, *smaller))
        return;
      tiles = std::move(*smaller);
    }
  };
  shrink(/*keepsGiven=*/true);
  std::string advice =
      adviseBuffers(ops, settings, tiles, Tiles::Smallest, signature, code);
  if (!advice.empty())
    return advice;
  shrink(/*keepsGiven=*/false);
  return isGivenSmaller(settings, tiles)
             ? adviseBuffers(ops, settings, tiles, Tiles::GivenSmaller,
                             signature, code)
             : "";
}

/// The first error of a CompileError with its first note, as one sentence.
static std::string describe(llvm::Error error) {
  std::string text;
  llvm::handleAllErrors(
      std::move(error),
      [&](const CompileError &failed) {
        const DiagnosticData *first =
            llvm::find_if(failed.getDiagnostics(), isError);
        text = first->message;
        if (!first->notes.empty())
          text += "; " + first->notes.front().message;
      },
      [&](const llvm::ErrorInfoBase &other) { text = other.message(); });
  return text;
}

/// Compiles with the first smaller tiles that fit, changing only ops that have
/// no room. Given tiles stay: then the error advises tiles that fit.
llvm::Error TileCompiler::makeSmaller(llvm::Error error,
                                      std::vector<std::string> ops,
                                      const schedule::Settings &settings,
                                      const Signature &signature,
                                      const Specialization &code, Finish finish,
                                      schedule::Settings &fitting) const {
  if (std::string advice = adviseBuffers(ops, settings, settings, Tiles::Chosen,
                                         signature, code);
      !advice.empty())
    return addNote(std::move(error), advice);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = readSized(context, signature, code);
  if (!module)
    return error;
  nsa::KernelOp kernel = *module->getOps<nsa::KernelOp>().begin();
  schedule::Settings smallest = settings;
  bool isFirst = true;
  while (auto smaller =
             schedule::makeSmaller(kernel, getGoal(code), smallest, ops)) {
    smallest = std::move(*smaller);
    NoRoom noRoom;
    llvm::Error again = compileWith(smallest, signature, code, finish, noRoom);
    if (again) {
      llvm::consumeError(std::move(again));
      if (noRoom && !noRoom->empty())
        ops = std::move(*noRoom);
      if (!std::exchange(isFirst, false))
        continue;
      auto tooLarge = findTooLarge(kernel, smallest, ops, signature, code);
      if (!tooLarge)
        continue;
      smallest = std::move(*tooLarge);
      break;
    }
    if (isGivenSmaller(settings, smallest))
      return addNote(std::move(error),
                     "the schedule '" + smallest.toString() + "' fits");
    llvm::consumeError(std::move(error));
    fitting = std::move(smallest);
    return llvm::Error::success();
  }
  if (std::string advice =
          adviseFewerBuffers(kernel, ops, settings, signature, code);
      !advice.empty())
    return addNote(std::move(error), advice);
  error = adviseSharing(std::move(error), smallest, signature, code);
  std::string where = code.device ? " '" + code.device->name + "'" : "";
  std::string tried = "no smaller tiles fit" + where + ": tried down to '" +
                      smallest.toString() + "'";
  NoRoom noRoom;
  if (llvm::Error again = findRoom(smallest, signature, code, noRoom))
    tried += ", with which " + describe(std::move(again));
  return adviseSizes(addNote(std::move(error), tried), smallest, signature,
                     code);
}

/// Turns an error of LLVM into one that names nsacc as its cause, and writes a
/// reproducer.
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

llvm::Expected<schedule::Settings>
TileCompiler::compile(const Signature &signature, const Specialization &code,
                      Finish finish, const Settled &settled) const {
  auto fitting = compileToFit(signature, code, finish, settled);
  if (fitting || code.tuned.empty())
    return fitting;
  std::string why =
      describeUnused(code.tuned, signature.kernel, fitting.takeError());
  if (options.warn)
    options.warn(why);
  Specialization untuned = code;
  untuned.tuned.clear();
  return compileToFit(signature, untuned, finish, /*settled=*/{});
}

void TileCompiler::warnOfUnread(const Signature &signature,
                                const Specialization &code) const {
  if ((!options.warn && !options.warnOfUnread) || settings.isEmpty())
    return;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::DiagnosticCollector collector(context);
  auto module = readSized(context, signature, code);
  if (!module)
    return;
  std::lock_guard lock(warnedMutex);
  for (const schedule::Unread &each : schedule::findUnread(
           *module->getOps<nsa::KernelOp>().begin(), getGoal(code), settings))
    if (warned.insert(each.setting).second)
      mlir::emitWarning(each.place) << each.getMessage();
  for (const DiagnosticData &each : collector.take()) {
    if (options.warnOfUnread)
      options.warnOfUnread(each);
    else
      options.warn(each.file + ":" + std::to_string(each.line) + ":" +
                   std::to_string(each.column) + ": " + each.message);
  }
}

llvm::Expected<schedule::Settings>
TileCompiler::compileToFit(const Signature &signature,
                           const Specialization &code, Finish finish,
                           const Settled &settled) const {
  NoRoom noRoom;
  const schedule::Settings used = settled ? *settled : getSettings(code);
  schedule::Settings fitting = used;
  llvm::Error error = compileWith(used, signature, code, finish, noRoom);
  if (error.isA<FatalError>())
    return explainFatal(std::move(error), signature, code);
  if (noRoom)
    error = makeSmaller(std::move(error), std::move(*noRoom), used, signature,
                        code, finish, fitting);
  if (!error) {
    warnOfUnread(signature, code);
    return fitting;
  }
  llvm::StringRef others = code.device && isForCPU(signature, code)
                               ? "target 'cpu' has other limits, and "
                               : "";
  return addNote(std::move(error),
                 others + "target 'oracle' runs every program, slowly");
}

TileCompiler::Settled
TileCompiler::relieve(const Signature &signature, const Specialization &code,
                      const schedule::Settings &settings,
                      llvm::ArrayRef<schedule::Spill> spills) const {
  if (!code.tuned.empty())
    return std::nullopt;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = readSized(context, signature, code);
  if (!module)
    return std::nullopt;
  return schedule::relieve(*module->getOps<nsa::KernelOp>().begin(),
                           getGoal(code), settings, spills);
}

/// Doesn't ask if the answer can't change.
TileCompiler::Settled
TileCompiler::findSettled(size_t kernel, const Signature &signature,
                          const Specialization &code) const {
  if (!settle || !code.tuned.empty())
    return std::nullopt;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = readSized(context, signature, code);
  bool mayRelieve =
      module && schedule::mayRelieve(*module->getOps<nsa::KernelOp>().begin(),
                                     getGoal(code), getSettings(code));
  return mayRelieve ? settle(kernel, code) : std::nullopt;
}

llvm::Error TileCompiler::compileExactly(const Signature &signature,
                                         const Specialization &code,
                                         Finish finish) const {
  NoRoom noRoom;
  return compileWith(getSettings(code), signature, code, finish, noRoom);
}

bool TileCompiler::isForCPU(const Signature &signature,
                            const Specialization &code) const {
  auto checkRoomOfCPU = [](mlir::ModuleOp module, const Specialization &) {
    return cpu::checkRoom(module, cpu::Options());
  };
  TileCompiler onCPU(*this, checkRoomOfCPU);
  Specialization sizes;
  sizes.sizes = code.sizes;
  auto fitting = onCPU.fit(signature, sizes);
  bool fits = bool(fitting);
  llvm::consumeError(fitting.takeError());
  return fits;
}

llvm::Error TileCompiler::checkComplete(size_t kernel,
                                        const llvm::StringMap<int64_t> &sizes,
                                        const llvm::Twine &what) const {
  std::vector<std::string> missing;
  for (const std::string &name : dims[kernel])
    if (!sizes.contains(name))
      missing.push_back("'" + name + "'");
  if (missing.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      what + " depends on sizes of heads and channels: expected those of " +
      llvm::join(missing, ", "));
}

llvm::Expected<Specialization>
TileCompiler::specialize(size_t kernel, const Signature &signature,
                         const llvm::StringMap<int64_t> &sizes,
                         std::optional<gpu::Device> device,
                         llvm::StringRef phase) const {
  if (llvm::Error error = checkMultiples(signature, sizes))
    return std::move(error);
  Specialization code;
  code.queries = findQueries(kernel, sizes);
  if (device)
    setDevice(code, std::move(*device));
  if (llvm::Error error =
          checkComplete(kernel, sizes, ("phase '" + phase + "'").str()))
    return std::move(error);
  for (const std::string &name : dims[kernel]) {
    auto found = sizes.find(name);
    if (llvm::Error error =
            checkSize(signature, name, found->second, code.device.has_value()))
      return std::move(error);
    code.sizes.push_back(name + "=" + std::to_string(found->second));
  }
  DimSizes all;
  all.sizes = sizes;
  setTuned(code, signature, all);
  return code;
}

llvm::Error TileCompiler::hasRoom(mlir::ModuleOp module,
                                  const Specialization &code) const {
  llvm::Error error = checkRoom(module, code);
  if (!error || error.isA<NoRoomError>())
    return error;
  llvm::consumeError(std::move(error));
  return llvm::Error::success();
}

llvm::Expected<schedule::Settings>
TileCompiler::fit(const Signature &signature, const Specialization &code,
                  const Settled &settled) const {
  auto finish = [&](mlir::ModuleOp module, mlir::TimingScope &) {
    return hasRoom(module, code);
  };
  return compile(signature, code, finish, settled);
}

llvm::Expected<schedule::Settings>
TileCompiler::fit(size_t kernel, const Signature &signature,
                  const llvm::StringMap<int64_t> &sizes,
                  std::optional<gpu::Device> device) const {
  auto code = specialize(kernel, signature, sizes, std::move(device), "tile");
  return code ? fit(signature, *code, findSettled(kernel, signature, *code))
              : code.takeError();
}

llvm::Expected<std::string>
TileCompiler::print(size_t kernel, const Signature &signature,
                    const llvm::StringMap<int64_t> &sizes,
                    std::optional<gpu::Device> device) const {
  auto code = specialize(kernel, signature, sizes, std::move(device), "tile");
  if (!code)
    return code.takeError();
  std::string text;
  auto finish = [&](mlir::ModuleOp module, mlir::TimingScope &) {
    text.clear();
    llvm::raw_string_ostream os(text);
    module.print(os);
    return hasRoom(module, *code);
  };
  auto settled = findSettled(kernel, signature, *code);
  if (auto fitting = compile(signature, *code, finish, settled); !fitting)
    return fitting.takeError();
  return text;
}

llvm::Expected<std::string>
TileCompiler::printSchedule(size_t kernel, const Signature &signature,
                            const llvm::StringMap<int64_t> &sizes,
                            std::optional<gpu::Device> device) const {
  auto code =
      specialize(kernel, signature, sizes, std::move(device), "schedule");
  if (!code)
    return code.takeError();
  auto fitting = fit(signature, *code, findSettled(kernel, signature, *code));
  if (!fitting)
    return fitting.takeError();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::DiagnosticCollector collector(context);
  auto module = readSized(context, signature, *code);
  if (!module)
    return explain(collector,
                   llvm::createStringError("the sizes don't fit the program"));
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::Error error =
          schedule::printSchedules(*module, getGoal(*code), *fitting, os))
    return std::move(error);
  return text;
}
