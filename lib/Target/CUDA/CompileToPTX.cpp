//===- CompileToPTX.cpp - Tile programs as PTX ----------------------------===//

#include "CompileToPTX.h"
#include "NSATile/IR/Assertions.h"
#include "NSATile/IR/NSATileOps.h"
#include "OrderByNeed.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h"
#include "nsacc/Support/CompilerErrors.h"
#include "nsacc/Target/CUDA/Lowering.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include <mutex>

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cuda;

static Expected<std::unique_ptr<TargetMachine>>
createMachine(const gpu::Code &code) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  Triple triple("nvptx64-nvidia-cuda");
  std::string problem;
  const Target *target = TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return createStringError(problem);
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, code.architecture, code.ptxFeatures, TargetOptions(), Reloc::PIC_,
      std::nullopt, CodeGenOptLevel::Aggressive));
}

/// A short list of passes. Loop invariants aren't hoisted: ptxas knows how many
/// registers are free, and hoists better.
static FunctionPassManager createPasses() {
  FunctionPassManager passes;
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(GVNPass());
  passes.addPass(InstCombinePass());
  passes.addPass(ADCEPass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(OrderByNeedPass());
  return passes;
}

static void optimize(llvm::Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  ModulePassManager passes;
  passes.addPass(createModuleToFunctionPassAdaptor(createPasses()));
  passes.run(module, modules);
}

namespace {
/// Skips a pass that compares each sum with all others: with thousands of sums
/// it takes most of the time, and finds little in formulas.
class LongCodeGate : public OptPassGate {
public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef pass, StringRef) const override {
    return pass != "slsr";
  }
};
} // namespace

static Expected<std::string> print(llvm::Module &module,
                                   TargetMachine &machine) {
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  CodeGenFileType::AssemblyFile))
    return createStringError("LLVM can't write PTX");
  passes.run(module);
  return text.str().str();
}

/// One of the pipelines for a device.
using PipelineBuilder = void (&)(mlir::OpPassManager &, const gpu::Device &);

static Error runPipeline(PipelineBuilder build, mlir::ModuleOp module,
                         const Options &options, mlir::TimingScope &timing) {
  mlir::PassManager passes(module.getContext());
  passes.enableTiming(timing);
  build(passes, options.device);
  if (options.preparePasses)
    options.preparePasses(passes, module);
  if (mlir::failed(passes.run(module)))
    return createStringError("the programs couldn't be lowered for " +
                             options.device.name);
  return Error::success();
}

/// The programs that weren't converted because they had no room.
static std::vector<std::string> findWithoutRoom(mlir::ModuleOp kernels) {
  std::vector<std::string> names;
  for (auto program : kernels.getOps<nsatile::ProgramOp>())
    if (program->hasAttr(kNoRoomAttrName))
      names.push_back(program.getSymName().str());
  return names;
}

/// Copies the attributes that a package needs from kernels to the programs.
static void copyLaunchFacts(mlir::ModuleOp kernels, mlir::ModuleOp programs) {
  constexpr llvm::StringLiteral name = "nsatile.kernel";
  for (auto program : programs.getOps<nsatile::ProgramOp>())
    if (auto kernel = kernels.lookupSymbol<mlir::LLVM::LLVMFuncOp>(
            program.getSymNameAttr()))
      if (mlir::Attribute facts = kernel->getAttr(name))
        program->setAttr(name, facts);
  if (mlir::Attribute assertions =
          kernels->getAttr(nsatile::kAssertionsAttrName))
    programs->setAttr(nsatile::kAssertionsAttrName, assertions);
}

/// Assigns layouts in a module after phase `tile`, and returns its kernels in
/// the LLVM dialect.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
lowerKernels(mlir::ModuleOp module, const Options &options,
             mlir::TimingScope &timing) {
  mlir::DialectRegistry registry;
  registerLowering(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  // Attributes of launches are set with layouts, so the module keeps them for
  // packing.
  if (Error error = runPipeline(buildTilePipeline, module, options, timing))
    return std::move(error);
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  if (Error error = runPipeline(buildKernelPipeline, *copy, options, timing)) {
    std::vector<std::string> names = findWithoutRoom(*copy);
    if (names.empty())
      return std::move(error);
    return make_error<NoRoomError>(toString(std::move(error)),
                                   std::move(names));
  }
  return copy;
}

Error cuda::checkRoom(mlir::ModuleOp module, const Options &options) {
  mlir::TimingScope none;
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  return lowerKernels(*copy, options, none).takeError();
}

Expected<ModuleParts> cuda::lowerToLLVM(mlir::ModuleOp module,
                                        const Options &options) {
  mlir::TimingScope none;
  mlir::TimingScope &timing = options.timing ? *options.timing : none;
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> lowered =
      lowerKernels(module, options, timing);
  if (!lowered)
    return lowered.takeError();
  mlir::ModuleOp copy = **lowered;
  copyLaunchFacts(copy, module);

  mlir::TimingScope scope = timing.nest("translate to LLVM IR");
  LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      mlir::translateModuleToLLVMIR(copy, context);
  if (!code)
    return createStringError("the kernels can't be written as LLVM IR");
  return ModuleParts(*code);
}

/// A name for strings of PTX, which have no escapes: "_" replaces each
/// character that would end a string, or that LLVM would escape.
static std::string spellForPTX(StringRef name) {
  std::string text = name.str();
  for (char &c : text)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 ||
        c == 0x7f)
      c = '_';
  return text;
}

/// Replaces names of debug information's files that PTX can't hold.
static void renameFiles(llvm::Module &module) {
  DebugInfoFinder finder;
  finder.processModule(module);
  SmallPtrSet<DIFile *, 4> files;
  for (DICompileUnit *unit : finder.compile_units())
    files.insert(unit->getFile());
  for (DISubprogram *program : finder.subprograms())
    files.insert(program->getFile());
  for (DIScope *scope : finder.scopes())
    files.insert(scope->getFile());
  files.erase(nullptr);
  // A file's first operands are its name and its folder.
  for (DIFile *file : files)
    for (unsigned operand : {0, 1})
      if (auto *name = dyn_cast_or_null<MDString>(file->getOperand(operand)))
        file->replaceOperandWith(
            operand,
            MDString::get(module.getContext(), spellForPTX(name->getString())));
}

Expected<PTX> cuda::compileToPTX(const ModuleParts &code,
                                 ArrayRef<std::string> kernels,
                                 const gpu::Device &device) {
  LLVMContext context;
  Expected<std::unique_ptr<llvm::Module>> module = code.read(kernels, context);
  if (!module)
    return module.takeError();
  Expected<std::unique_ptr<TargetMachine>> machine = createMachine(device.code);
  if (!machine)
    return machine.takeError();
  renameFiles(**module);
  (*module)->setTargetTriple((*machine)->getTargetTriple());
  (*module)->setDataLayout((*machine)->createDataLayout());
  optimize(**module, **machine);
  size_t longest = getLongestRun(**module);
  LongCodeGate gate;
  if (longest >= OrderByNeedPass::kLong)
    context.setOptPassGate(gate);
  Expected<std::string> text = print(**module, **machine);
  if (!text)
    return text.takeError();
  return PTX{std::move(*text), longest};
}
