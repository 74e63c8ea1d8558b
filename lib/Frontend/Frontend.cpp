//===- Frontend.cpp - From program text to the nsa dialect ----------------===//

#include "nsacc/Frontend/Frontend.h"
#include "KernelGen.h"
#include "NSA/IR/NSADialect.h"
#include "Parser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;

/// Chooses the kernels to generate: only the ones that the options ask for.
static SmallVector<const ast::Kernel *> chooseKernels(const ast::File &file,
                                                      const Options &options,
                                                      Problems &problems) {
  SmallVector<const ast::Kernel *> chosen;
  SmallVector<StringRef> names;
  llvm::DenseMap<StringRef, frontend::Range> seen;
  for (const ast::Kernel &kernel : file.kernels) {
    if (kernel.name.text.empty())
      continue;
    auto [first, isNew] = seen.try_emplace(kernel.name.text, kernel.name.range);
    if (!isNew)
      problems
          .error(kernel.name.range,
                 "a second kernel " + quote(kernel.name.text))
          .note(first->second, "the first one is here; choose another name");
    names.push_back(kernel.name.text);
    bool wanted = options.kernel.empty() || kernel.name.text == options.kernel;
    if (wanted && !kernel.broken && isNew)
      chosen.push_back(&kernel);
  }
  if (!options.kernel.empty() && !names.empty() &&
      !llvm::is_contained(names, options.kernel))
    problems
        .error(file.kernels.front().name.range,
               "the program has no kernel " + quote(options.kernel))
        .suggest(options.kernel, names)
        .note("its kernels are " +
              llvm::join(ArrayRef(names).take_front(20), ", "));
  return chosen;
}

static void checkOptions(const Options &options, Problems &problems) {
  if (!llvm::is_contained({"bf16", "f16", "f32"}, options.dtype))
    problems
        .error({0, 0},
               "the storage type " + quote(options.dtype) + " isn't supported")
        .note("it is bf16, f16 or f32");
}

static void generate(const Source &source, const Options &options,
                     Problems &problems, ModuleOp module) {
  if (!checkText(source, problems))
    return;
  checkOptions(options, problems);
  ast::File file;
  Parser(source, problems, file).parseFile();
  for (const ast::Kernel *kernel : chooseKernels(file, options, problems))
    if (!problems.full())
      KernelGen(source, problems, options, *kernel, module).generate();
}

OwningOpRef<ModuleOp> frontend::compile(llvm::MemoryBufferRef buffer,
                                        const Options &options,
                                        MLIRContext &context) {
  context
      .loadDialect<nsa::NSADialect, arith::ArithDialect, math::MathDialect>();
  Source source(buffer);
  Problems problems;
  auto file = StringAttr::get(&context, source.getName());
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(getLocation(source, {0, 0}, file));
  generate(source, options, problems, *module);
  problems.emit(source, context);
  if (problems.hasErrors())
    return {};
  // The dialect's verifier reports the remaining errors.
  if (failed(verify(*module)))
    return {};
  return module;
}
