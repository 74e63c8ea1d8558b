//===- Jit.cpp - From the LLVM dialect to machine code --------------------===//

#include "Jit.h"
#include "Failures.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include "nsacc/Support/Tasks.h"
#include "nsacc/Target/Parts/ModuleParts.h"
#include "llvm/ADT/bit.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <cmath>
#include <cstring>
#include <mutex>

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;

static const char kEntrySuffix[] = "__entry";

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
    function.addFnAttr("target-cpu", processor.name);
    function.addFnAttr("target-features", processor.getFeatureString());
    function.addFnAttr("prefer-vector-width",
                       std::to_string(processor.getVectorBits()));
  }
}

/// Loops and vectors are what they should be: what is left are addresses,
/// masks and constants. A third of the time of LLVM's own choice.
static const char kPasses[] =
    "function<eager-inv>(sroa,early-cse<memssa>,simplifycfg,"
    "instcombine<max-iterations=1;no-verify-fixpoint>,"
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm,loop-rotate,licm),"
    "simplifycfg,instcombine<max-iterations=1;no-verify-fixpoint>,"
    "loop(loop-idiom,indvars,loop-deletion),"
    "early-cse<memssa>,simplifycfg,adce)";

static void optimize(Module &module, TargetMachine &machine) {
  // Code is vector code already; looking for more only costs time.
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

/// About how many instructions of the processor stand for one of LLVM.
static size_t countInstructions(const Instruction &instruction) {
  if (!instruction.isIntDivRem())
    return 1;
  // Processors divide no vectors; each element's products have registers of
  // their own, which take the scheduler most of its time.
  constexpr size_t ofDivision = 8;
  auto *vector = dyn_cast<FixedVectorType>(instruction.getType());
  return ofDivision * (vector ? vector->getNumElements() : 1);
}

/// Whether code has no branch for so long that scheduling it and allocating its
/// registers well would take minutes: that grows with the square of a block's
/// length. A thousand statements of arithmetic are such code, and a hundred
/// divisions of each pair; other attention never is.
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

/// LLVM's name for it is __truncsfbf2. A bf16 returns in the same register as a
/// float, whose lowest bits this fills.
static float truncateToBF16(float value) {
  uint32_t bits = bit_cast<uint32_t>(value);
  if (std::isnan(value))
    bits = 0x7fc0;
  else
    bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return bit_cast<float>(bits);
}

/// __truncsfhf2 and __extendhfsf2, likewise, for processors without F16C.
static float truncateToF16(float value) {
  APFloat number(value);
  bool losesInfo;
  number.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &losesInfo);
  return bit_cast<float>(
      static_cast<uint32_t>(number.bitcastToAPInt().getZExtValue()));
}
static float extendF16(float bits) {
  APFloat number(APFloat::IEEEhalf(),
                 APInt(16, bit_cast<uint32_t>(bits) & 0xffff));
  bool losesInfo;
  number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToFloat();
}

/// The functions that code may call, found without the process's symbols: a
/// host may have loaded this library with its own kept apart.
static orc::SymbolMap getLibrary(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                          JITSymbolFlags::Exported |
                                              JITSymbolFlags::Callable};
  };
  using Unary = float (*)(float);
  using Binary = float (*)(float, float);
  add("expf", static_cast<Unary>(std::exp));
  add("exp2f", static_cast<Unary>(std::exp2));
  add("logf", static_cast<Unary>(std::log));
  add("log2f", static_cast<Unary>(std::log2));
  add("sinf", static_cast<Unary>(std::sin));
  add("cosf", static_cast<Unary>(std::cos));
  add("tanhf", static_cast<Unary>(std::tanh));
  add("erff", static_cast<Unary>(std::erf));
  add("sqrtf", static_cast<Unary>(std::sqrt));
  add("floorf", static_cast<Unary>(std::floor));
  add("ceilf", static_cast<Unary>(std::ceil));
  add("truncf", static_cast<Unary>(std::trunc));
  add("roundevenf", static_cast<Unary>(std::nearbyint));
  add("powf", static_cast<Binary>(std::pow));
  add("fmodf", static_cast<Binary>(std::fmod));
  add("fmaf", static_cast<float (*)(float, float, float)>(std::fma));
  add("__truncsfbf2", &truncateToBF16);
  add("__truncsfhf2", &truncateToF16);
  add("__extendhfsf2", &extendF16);
  add(kReportFailureName, &reportFailure);
  add("memcpy", &std::memcpy);
  add("memmove", &std::memmove);
  add("memset", &std::memset);
  return symbols;
}

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
}

Jit::Jit(std::unique_ptr<orc::LLJIT> jit) : jit(std::move(jit)) {}
Jit::~Jit() = default;

static orc::JITTargetMachineBuilder makeTarget(const Processor &processor) {
  orc::JITTargetMachineBuilder target((Triple(processor.triple)));
  target.setCPU(processor.name);
  target.addFeatures(processor.features);
  target.setCodeGenOptLevel(CodeGenOptLevel::Default);
  // As the linker of LLJIT wants it.
  target.setRelocationModel(Reloc::PIC_);
  target.setCodeModel(CodeModel::Small);
  return target;
}

static Expected<ModuleParts> translate(mlir::ModuleOp source) {
  mlir::registerBuiltinDialectTranslation(*source.getContext());
  mlir::registerLLVMDialectTranslation(*source.getContext());
  LLVMContext context;
  std::unique_ptr<Module> module =
      mlir::translateModuleToLLVMIR(source, context);
  if (!module)
    return createStringError("the module couldn't be translated to LLVM IR");
  return ModuleParts(*module);
}

using Object = std::unique_ptr<MemoryBuffer>;

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
  orc::JITTargetMachineBuilder target = makeTarget(processor);
  Expected<std::unique_ptr<TargetMachine>> machine =
      target.createTargetMachine();
  if (!machine)
    return machine.takeError();
  (*module)->setTargetTriple(Triple(processor.triple));
  (*module)->setDataLayout((*machine)->createDataLayout());
  prepare(**module, processor);
  optimize(**module, **machine);
  optimizing.stop();

  mlir::TimingScope generating = timing.nest("generate machine code");
  if (hasLongBlock(**module))
    (*machine)->setOptLevel(CodeGenOptLevel::None);
  return orc::SimpleCompiler(**machine)(**module);
}

Expected<std::unique_ptr<Jit>> Jit::compile(mlir::ModuleOp source,
                                            const Processor &processor,
                                            unsigned threads,
                                            mlir::TimingScope &timing) {
  initializeTarget();
  mlir::TimingScope translating = timing.nest("translate to LLVM IR");
  Expected<ModuleParts> parts = translate(source);
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

  mlir::TimingScope linking = timing.nest("link machine code");
  auto created = orc::LLJITBuilder()
                     .setJITTargetMachineBuilder(makeTarget(processor))
                     .setNumCompileThreads(0)
                     .create();
  if (!created)
    return created.takeError();
  std::unique_ptr<orc::LLJIT> jit = std::move(*created);
  if (Error error =
          jit->getMainJITDylib().define(orc::absoluteSymbols(getLibrary(*jit))))
    return error;
  for (Object &object : objects)
    if (Error error = jit->addObjectFile(std::move(object)))
      return error;
  // Links now, so that runs don't wait for it.
  for (const std::string &function : functions)
    if (auto address = jit->lookup(function + kEntrySuffix); !address)
      return address.takeError();
  return std::unique_ptr<Jit>(new Jit(std::move(jit)));
}

Expected<ProgramFunction> Jit::lookup(StringRef program) {
  Expected<orc::ExecutorAddr> address =
      jit->lookup((program + kEntrySuffix).str());
  if (!address)
    return address.takeError();
  return address->toPtr<ProgramFunction>();
}
