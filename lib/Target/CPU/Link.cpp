//===- Link.cpp - From objects to a loadable image ------------------------===//

#include "Link.h"
#include "nsacc/RT/Host.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/JITLink/aarch64.h"
#include "llvm/ExecutionEngine/JITLink/x86_64.h"
#include "llvm/ExecutionEngine/Orc/SymbolStringPool.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include <deque>
#include <lld/Common/Driver.h>
#include <mutex>

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;

//===----------------------------------------------------------------------===//
// The table of functions
//===----------------------------------------------------------------------===//

/// Functions that objects call and none of them defines.
static Expected<SetVector<StringRef>>
findCalled(ArrayRef<std::unique_ptr<object::ObjectFile>> objects) {
  SetVector<StringRef> called;
  DenseSet<StringRef> defined;
  for (const auto &object : objects)
    for (const object::SymbolRef &symbol : object->symbols()) {
      Expected<StringRef> name = symbol.getName();
      Expected<uint32_t> flags = symbol.getFlags();
      if (!name || !flags)
        return joinErrors(name.takeError(), flags.takeError());
      if (*flags & object::SymbolRef::SF_Undefined && !name->empty())
        called.insert(*name);
      else
        defined.insert(*name);
    }
  called.remove_if([&](StringRef name) { return defined.contains(name); });
  return called;
}

static FunctionType *getType(StringRef name, LLVMContext &context) {
  Type *real = Type::getFloatTy(context);
  Type *pointer = PointerType::getUnqual(context);
  Type *word = Type::getInt64Ty(context);
  if (name == "memcpy" || name == "memmove")
    return FunctionType::get(pointer, {pointer, pointer, word}, false);
  if (name == "memset")
    return FunctionType::get(pointer,
                             {pointer, Type::getInt32Ty(context), word}, false);
  if (name == rt::kReportFailureName)
    return FunctionType::get(Type::getVoidTy(context), {word, pointer}, false);
  unsigned count = StringSwitch<unsigned>(name)
                       .Cases({"powf", "fmodf"}, 2)
                       .Case("fmaf", 3)
                       .Default(1);
  return FunctionType::get(real, SmallVector<Type *>(count, real), false);
}

/// Adds name(…), which calls entry `index` of the table.
static void addStub(StringRef name, size_t index, GlobalVariable &table,
                    Module &module) {
  FunctionType *type = getType(name, module.getContext());
  auto *stub =
      Function::Create(type, GlobalValue::ExternalLinkage, name, module);
  stub->setVisibility(GlobalValue::HiddenVisibility);
  IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", stub));
  Value *slot = builder.CreateConstGEP1_64(builder.getPtrTy(), &table, index);
  SmallVector<Value *> arguments;
  for (llvm::Argument &argument : stub->args())
    arguments.push_back(&argument);
  CallInst *call = builder.CreateCall(
      type, builder.CreateLoad(builder.getPtrTy(), slot), arguments);
  call->setTailCallKind(CallInst::TCK_Tail);
  if (type->getReturnType()->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(call);
}

/// An object with stubs for the functions that are called.
static Expected<Object> makeTable(ArrayRef<StringRef> called,
                                  const Processor &processor) {
  LLVMContext context;
  Module module("functions", context);
  auto *type = ArrayType::get(PointerType::getUnqual(context),
                              std::max<size_t>(called.size(), 1));
  auto *table = new GlobalVariable(
      module, type, /*isConstant=*/false, GlobalValue::InternalLinkage,
      ConstantAggregateZero::get(type), "functions");
  for (auto [index, name] : enumerate(called)) {
    if (!rt::findHostFunction(name.str()))
      return createStringError("internal error: code calls '" + name +
                               "', which the runtime hasn't");
    addStub(name, index, *table, module);
  }
  return compileModule(module, processor);
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

namespace {

/// Places objects one after the other.
class ImageLinker {
public:
  explicit ImageLinker(const Triple &triple)
      : pageBytes(triple.isAArch64() ? 64 << 10 : 4 << 10),
        symbols(std::make_shared<orc::SymbolStringPool>()) {}

  /// Programs may write its data. Other objects have none.
  Error addTable(const Object &object, ArrayRef<StringRef> functions);
  Error add(const Object &object);
  rt::HostImage take();

private:
  class Memory;
  class Allocation;
  class Context;

  /// The image's address during linking: no symbol may be at 0.
  static constexpr uint64_t kBase = 1 << 20;

  Error allocate(jitlink::LinkGraph &graph, std::vector<char> &memory);
  Error recordPointers(jitlink::LinkGraph &graph);
  void recordSymbols(jitlink::LinkGraph &graph);

  const uint64_t pageBytes;
  std::shared_ptr<orc::SymbolStringPool> symbols;
  rt::HostImage image;
  bool isTable = false;
  StringMap<orc::ExecutorAddr> defined;
};

/// The memory in which one graph is linked; then it is copied to the image.
class ImageLinker::Allocation
    : public jitlink::JITLinkMemoryManager::InFlightAlloc {
public:
  Allocation(ImageLinker &linker, std::vector<char> memory)
      : linker(linker), memory(std::move(memory)) {}

  std::vector<char> &getMemory() { return memory; }
  void abandon(OnAbandonedFunction done) override { done(Error::success()); }
  void finalize(OnFinalizedFunction done) override {
    linker.image.bytes.append(memory.begin(), memory.end());
    done(jitlink::JITLinkMemoryManager::FinalizedAlloc());
  }

private:
  ImageLinker &linker;
  std::vector<char> memory;
};

class ImageLinker::Memory : public jitlink::JITLinkMemoryManager {
public:
  explicit Memory(ImageLinker &linker) : linker(linker) {}

  using JITLinkMemoryManager::allocate;
  void allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &graph,
                OnAllocatedFunction done) override {
    auto allocation = std::make_unique<Allocation>(linker, std::vector<char>());
    if (Error error = linker.allocate(graph, allocation->getMemory()))
      return done(std::move(error));
    done(std::unique_ptr<InFlightAlloc>(std::move(allocation)));
  }
  using JITLinkMemoryManager::deallocate;
  void deallocate(std::vector<FinalizedAlloc> allocations,
                  OnDeallocatedFunction done) override {
    done(Error::success());
  }

private:
  ImageLinker &linker;
};

class ImageLinker::Context : public jitlink::JITLinkContext {
public:
  Context(ImageLinker &linker, Memory &memory, Error &problem)
      : JITLinkContext(nullptr), linker(linker), memory(memory),
        problem(problem) {}

  jitlink::JITLinkMemoryManager &getMemoryManager() override { return memory; }
  void notifyFailed(Error error) override {
    problem = joinErrors(std::move(problem), std::move(error));
  }
  void lookup(
      const LookupMap &wanted,
      std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> done) override {
    jitlink::AsyncLookupResult found;
    for (const auto &[name, flags] : wanted)
      found[name] = {linker.defined.lookup(*name), JITSymbolFlags::Exported};
    done->run(std::move(found));
  }
  Error notifyResolved(jitlink::LinkGraph &graph) override {
    linker.recordSymbols(graph);
    return Error::success();
  }
  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc) override {
  }
  /// The default passes make tables for functions of other objects, in an order
  /// that varies. All objects are near enough to be called directly.
  bool shouldAddDefaultTargetPasses(const Triple &) const override {
    return false;
  }
  Error modifyPassConfig(jitlink::LinkGraph &,
                         jitlink::PassConfiguration &passes) override {
    passes.PrePrunePasses.push_back(jitlink::markAllSymbolsLive);
    passes.PreFixupPasses.push_back([this](jitlink::LinkGraph &graph) {
      return linker.recordPointers(graph);
    });
    return Error::success();
  }

private:
  ImageLinker &linker;
  Memory &memory;
  Error &problem;
};

} // namespace

/// Gives a graph memory, and addresses at the image's end.
Error ImageLinker::allocate(jitlink::LinkGraph &graph,
                            std::vector<char> &memory) {
  jitlink::BasicLayout layout(graph);
  auto canWrite = [](orc::AllocGroup group) {
    return (group.getMemProt() & orc::MemProt::Write) != orc::MemProt::None;
  };
  uint64_t begin = image.bytes.size(), end = begin;
  SmallVector<uint64_t> places;
  // The table comes first in the image.
  for (bool isData : {true, false}) {
    for (auto &[group, segment] : layout.segments()) {
      if (canWrite(group) != isData)
        continue;
      if (isData && !isTable)
        return createStringError("internal error: code has data of its own");
      end = alignTo(end, std::max<uint64_t>(segment.Alignment.value(), 16));
      segment.Addr = orc::ExecutorAddr(kBase + end);
      end += segment.ContentSize + segment.ZeroFillSize;
    }
    if (isData && isTable) {
      end = alignTo(end, pageBytes);
      image.writableBytes = static_cast<uint32_t>(end);
    }
  }
  memory.resize(end - begin);
  for (auto &[group, segment] : layout.segments())
    segment.WorkingMem =
        memory.data() + (segment.Addr.getValue() - kBase - begin);
  return layout.apply();
}

/// Records where absolute addresses are stored. Other relocations are
/// distances.
Error ImageLinker::recordPointers(jitlink::LinkGraph &graph) {
  bool isArm = graph.getTargetTriple().isAArch64();
  auto isDistance = [&](jitlink::Edge::Kind kind) {
    if (isArm)
      return kind != jitlink::aarch64::Pointer32;
    return kind != jitlink::x86_64::Pointer32 &&
           kind != jitlink::x86_64::Pointer32Signed &&
           kind != jitlink::x86_64::Pointer16 &&
           kind != jitlink::x86_64::Pointer8;
  };
  jitlink::Edge::Kind pointer =
      isArm ? jitlink::Edge::Kind(jitlink::aarch64::Pointer64)
            : jitlink::Edge::Kind(jitlink::x86_64::Pointer64);
  for (jitlink::Block *block : graph.blocks())
    for (const jitlink::Edge &edge : block->edges()) {
      uint64_t at = block->getFixupAddress(edge).getValue() - kBase;
      if (edge.getKind() == pointer)
        image.pointers.push_back(static_cast<uint32_t>(at));
      else if (!isDistance(edge.getKind()))
        return createStringError(
            "internal error: code has an address of " +
            StringRef(graph.getEdgeKindName(edge.getKind())));
    }
  return Error::success();
}

void ImageLinker::recordSymbols(jitlink::LinkGraph &graph) {
  for (jitlink::Symbol *symbol : graph.defined_symbols()) {
    if (!symbol->hasName() || symbol->getScope() == jitlink::Scope::Local)
      continue;
    StringRef name = *symbol->getName();
    defined[name] = symbol->getAddress();
    if (name.consume_back(kEntrySuffix))
      image.kernels.push_back(
          {name.str(),
           static_cast<uint32_t>(symbol->getAddress().getValue() - kBase)});
  }
}

Error ImageLinker::add(const Object &object) {
  auto graph =
      jitlink::createLinkGraphFromObject(object->getMemBufferRef(), symbols);
  if (!graph)
    return graph.takeError();
  Memory memory(*this);
  Error problem = Error::success();
  (void)!!problem;
  jitlink::link(std::move(*graph),
                std::make_unique<Context>(*this, memory, problem));
  return problem;
}

Error ImageLinker::addTable(const Object &object,
                            ArrayRef<StringRef> functions) {
  for (StringRef function : functions)
    image.functions.push_back(function.str());
  isTable = true;
  Error error = add(object);
  isTable = false;
  return error;
}

rt::HostImage ImageLinker::take() {
  llvm::sort(image.pointers);
  for (uint32_t pointer : image.pointers) {
    char *word = image.bytes.data() + pointer;
    support::endian::write64le(word, support::endian::read64le(word) - kBase);
  }
  return std::move(image);
}

Expected<rt::HostImage> nsacc::cpu::link(ArrayRef<Object> objects,
                                         const Processor &processor) {
  std::vector<std::unique_ptr<object::ObjectFile>> files;
  for (const Object &object : objects) {
    auto file = object::ObjectFile::createObjectFile(object->getMemBufferRef());
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
  }
  auto called = findCalled(files);
  if (!called)
    return called.takeError();
  auto table = makeTable(called->getArrayRef(), processor);
  if (!table)
    return table.takeError();
  ImageLinker linker((Triple(processor.triple)));
  if (Error error = linker.addTable(*table, called->getArrayRef()))
    return std::move(error);
  for (const Object &object : objects)
    if (Error error = linker.add(object))
      return std::move(error);
  return linker.take();
}
