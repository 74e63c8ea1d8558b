//===- ModuleImage.cpp - Modules outside of their context -----------------===//

#include "ModuleImage.h"
#include "NSA/IR/NSAOps.h"
#include "NSATile/IR/NSATileDialect.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace nsacc;

llvm::Expected<ModuleImage> ModuleImage::create(ModuleOp module) {
  ModuleImage image;
  llvm::raw_string_ostream os(image.bytes);
  if (failed(writeBytecodeToFile(module, os)))
    return llvm::createStringError("the module can't be written as bytecode");
  return image;
}

std::string ModuleImage::getHash() const {
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes)),
                     /*LowerCase=*/true);
}

OwningOpRef<ModuleOp> ModuleImage::read(MLIRContext &context,
                                        StringRef kernel) const {
  context.loadDialect<arith::ArithDialect, math::MathDialect, nsa::NSADialect,
                      nsatile::NSATileDialect>();
  auto module = parseSourceString<ModuleOp>(bytes, &context);
  if (!module || kernel.empty())
    return module;
  for (auto other : llvm::make_early_inc_range(module->getOps<nsa::KernelOp>()))
    if (other.getSymName() != kernel)
      other.erase();
  return module;
}
