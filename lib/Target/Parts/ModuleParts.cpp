//===- ModuleParts.cpp - Parts of LLVM IR for threads ---------------------===//

#include "nsacc/Target/Parts/ModuleParts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace nsacc;

ModuleParts::ModuleParts(const Module &module) {
  raw_svector_ostream stream(bytes);
  WriteBitcodeToFile(module, stream, /*ShouldPreserveUseListOrder=*/true);
  for (const Function &function : module)
    if (!function.isDeclaration()) {
      functions.push_back(function.getName().str());
      sizes.push_back(function.getInstructionCount());
    }
}

std::vector<size_t> ModuleParts::getLongestFirst() const {
  auto order = to_vector(seq(functions.size()));
  sort(order, [&](size_t lhs, size_t rhs) {
    return std::pair(sizes[lhs], rhs) > std::pair(sizes[rhs], lhs);
  });
  return {order.begin(), order.end()};
}

Expected<std::unique_ptr<Module>>
ModuleParts::read(ArrayRef<std::string> wanted, LLVMContext &context) const {
  Expected<std::unique_ptr<Module>> module =
      getLazyBitcodeModule(MemoryBufferRef(bytes, "kernels"), context);
  if (!module)
    return module.takeError();
  for (Function &function : make_early_inc_range(**module))
    if (!function.isDeclaration() && !is_contained(wanted, function.getName()))
      function.eraseFromParent();
  if (Error error = (*module)->materializeAll())
    return std::move(error);
  return module;
}
