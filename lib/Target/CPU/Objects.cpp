//===- Objects.cpp - From the LLVM dialect to machine code ----------------===//

#include "Objects.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include "nsacc/Support/Tasks.h"
#include "nsacc/Target/Parts/ModuleParts.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;

/// entry(slots, x, y, z) calls program(slots…, x, y, z).
static void addEntry(Function &program) {
  LLVMContext &context = program.getContext();
  Type *pointer = PointerType::getUnqual(context);
  Type *index = Type::getInt64Ty(context);
  auto *type = FunctionType::get(Type::getVoidTy(context),
                                 {pointer, index, index, index}, false);
  auto *entry =
      Function::Create(type, GlobalValue::ExternalLinkage,
                       program.getName() + kEntrySuffix, program.getParent());
  IRBuilder<> builder(BasicBlock::Create(context, "", entry));
  SmallVector<Value *> arguments;
  unsigned slots = program.arg_size() - 3;
  for (unsigned slot = 0; slot < slots; ++slot) {
    Value *address = builder.CreateConstGEP1_64(index, entry->getArg(0), slot);
    arguments.push_back(
        builder.CreateLoad(program.getArg(slot)->getType(), address));
  }
  for (unsigned dim = 0; dim < 3; ++dim)
    arguments.push_back(entry->getArg(1 + dim));
  builder.CreateCall(&program, arguments);
  builder.CreateRetVoid();
  program.setLinkage(GlobalValue::InternalLinkage);
}

static void prepare(Module &module, const Processor &processor) {
  SmallVector<Function *> programs;
  for (Function &function : module)
    if (!function.isDeclaration())
      programs.push_back(&function);
  for (Function *program : programs)
    addEntry(*program);
  for (Function &function : module) {
    // No exception passes through code.
    function.setDoesNotThrow();
    function.addFnAttr("target-cpu", processor.name);
    function.addFnAttr("target-features", processor.getFeatureString());
    function.addFnAttr("prefer-vector-width",
                       std::to_string(processor.getVectorBits()));
  }
}

/// Loops and vectors are already in their final form; only addresses, masks and
/// constants can be simplified. Takes a third of the time of LLVM's default.
static const char kPasses[] =
    "function<eager-inv>(sroa,early-cse<memssa>,simplifycfg,"
    "instcombine<max-iterations=1;no-verify-fixpoint>,"
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm,loop-rotate,licm),"
    "simplifycfg,instcombine<max-iterations=1;no-verify-fixpoint>,"
    "loop(loop-idiom,indvars,loop-deletion),"
    "early-cse<memssa>,simplifycfg,adce)";

static void optimize(Module &module, TargetMachine &machine) {
  // Code is already vectorized; looking for more vectors only costs time.
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  tuning.LoopUnrolling = false;
  PassBuilder builder(&machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graph;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  ModulePassManager passes;
  if (Error error = builder.parsePassPipeline(passes, kPasses))
    report_fatal_error(std::move(error));
  passes.run(module, modules);
}

/// An estimate of the processor's instructions for one of LLVM's.
static size_t countInstructions(const Instruction &instruction) {
  if (!instruction.isIntDivRem())
    return 1;
  // Processors have no vector division; each element's products take separate
  // registers, and most of the scheduler's time.
  constexpr size_t ofDivision = 8;
  auto *vector = dyn_cast<FixedVectorType>(instruction.getType());
  return ofDivision * (vector ? vector->getNumElements() : 1);
}

/// Whether code has no branch for so long that good scheduling and register
/// allocation would take minutes: the time grows with the square of a block's
/// length. Examples are a thousand statements of arithmetic, or a hundred
/// divisions for each pair; ordinary attention never has such code.
static bool hasLongBlock(const Module &module) {
  constexpr size_t most = 15000;
  return llvm::any_of(module, [](const Function &function) {
    return llvm::any_of(function, [](const BasicBlock &block) {
      size_t length = 0;
      for (const Instruction &instruction : block)
        length += countInstructions(instruction);
      return length > most;
    });
  });
}

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
}

/// The compiler for the module. Sets the module's data layout to the
/// processor's.
static Expected<std::unique_ptr<TargetMachine>>
makeMachine(const Processor &processor, Module &module) {
  orc::JITTargetMachineBuilder target((Triple(processor.triple)));
  target.setCPU(processor.name);
  target.addFeatures(processor.features);
  target.setCodeGenOptLevel(CodeGenOptLevel::Default);
  // The code can be loaded at any address.
  target.setRelocationModel(Reloc::PIC_);
  target.setCodeModel(CodeModel::Small);
  auto machine = target.createTargetMachine();
  if (!machine)
    return machine;
  module.setTargetTriple(Triple(processor.triple));
  module.setDataLayout((*machine)->createDataLayout());
  return machine;
}

static Expected<std::unique_ptr<Module>> translate(mlir::ModuleOp source,
                                                   LLVMContext &context) {
  mlir::registerBuiltinDialectTranslation(*source.getContext());
  mlir::registerLLVMDialectTranslation(*source.getContext());
  std::unique_ptr<Module> module =
      mlir::translateModuleToLLVMIR(source, context);
  if (!module)
    return createStringError("the module couldn't be translated to LLVM IR");
  return module;
}

static Expected<ModuleParts> translateToParts(mlir::ModuleOp source) {
  LLVMContext context;
  auto module = translate(source, context);
  if (!module)
    return module.takeError();
  return ModuleParts(**module);
}

/// Prepares a module for the machine that generates its code.
static Expected<std::unique_ptr<TargetMachine>>
makeReady(Module &module, const Processor &processor) {
  auto machine = makeMachine(processor, module);
  if (!machine)
    return machine;
  prepare(module, processor);
  optimize(module, **machine);
  if (hasLongBlock(module))
    (*machine)->setOptLevel(CodeGenOptLevel::None);
  return machine;
}

/// Machine code of one function.
static Expected<Object> compileObject(const ModuleParts &parts,
                                      const std::string &function,
                                      const Processor &processor,
                                      mlir::TimingScope &timing) {
  mlir::TimingScope optimizing = timing.nest("optimize LLVM IR");
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = parts.read(function, context);
  if (!module)
    return module.takeError();
  auto machine = makeReady(**module, processor);
  if (!machine)
    return machine.takeError();
  optimizing.stop();

  mlir::TimingScope generating = timing.nest("generate machine code");
  return orc::SimpleCompiler(**machine)(**module);
}

Expected<std::vector<Object>>
nsacc::cpu::compileObjects(mlir::ModuleOp source, const Processor &processor,
                           unsigned threads, mlir::TimingScope &timing) {
  initializeTarget();
  mlir::TimingScope translating = timing.nest("translate to LLVM IR");
  Expected<ModuleParts> parts = translateToParts(source);
  if (!parts)
    return parts.takeError();
  translating.stop();

  ArrayRef<std::string> functions = parts->getFunctions();
  std::vector<Object> objects(functions.size());
  CompilerThreads pool(threads);
  Tasks tasks(pool);
  for (size_t i : parts->getLongestFirst())
    tasks.add(i, [&, i]() -> Error {
      auto made = compileObject(*parts, functions[i], processor, timing);
      if (!made)
        return made.takeError();
      objects[i] = std::move(*made);
      return Error::success();
    });
  if (Error error = tasks.wait())
    return error;
  return objects;
}

Expected<std::string> nsacc::cpu::writeAssembly(mlir::ModuleOp source,
                                                const Processor &processor,
                                                mlir::TimingScope &timing) {
  initializeTarget();
  mlir::TimingScope generating = timing.nest("generate assembly");
  LLVMContext context;
  auto module = translate(source, context);
  if (!module)
    return module.takeError();
  auto machine = makeReady(**module, processor);
  if (!machine)
    return machine.takeError();
  SmallVector<char, 0> text;
  raw_svector_ostream os(text);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, os, /*DwoOut=*/nullptr,
                                      CodeGenFileType::AssemblyFile))
    return createStringError("LLVM writes no assembly of this processor");
  passes.run(**module);
  return std::string(text.begin(), text.end());
}

Expected<Object> nsacc::cpu::compileModule(Module &module,
                                           const Processor &processor) {
  initializeTarget();
  auto machine = makeMachine(processor, module);
  if (!machine)
    return machine.takeError();
  return orc::SimpleCompiler(**machine)(module);
}
