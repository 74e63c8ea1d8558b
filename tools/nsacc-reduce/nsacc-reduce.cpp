//===- nsacc-reduce.cpp - Shrinks programs that fail ----------------------===//

#include "Edits.h"
#include "NSA/IR/NSADialect.h"
#include "NSATile/IR/NSATileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Reducer/Tester.h"
#include "nsacc/Frontend/Diagnostics.h"
#include "nsacc/Frontend/Frontend.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <cstdlib>

using namespace nsacc;

using Module = mlir::OwningOpRef<mlir::ModuleOp>;

static Module read(const std::string &file, const std::string &dtype,
                   mlir::MLIRContext &context) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(file);
  if (!buffer) {
    llvm::errs() << "nsacc-reduce: error: can't read '" << file
                 << "': " << buffer.getError().message() << '\n';
    return nullptr;
  }
  llvm::SourceMgr sources;
  unsigned id = sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  frontend::DiagnosticPrinter printer(sources, context, llvm::errs());
  if (!llvm::StringRef(file).ends_with(".nsa"))
    return mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  frontend::Options options;
  options.dtype = dtype;
  return frontend::compile(sources.getMemoryBuffer(id)->getMemBufferRef(),
                           options, context);
}

/// The module with one edit to its op number `index`; null if that isn't
/// possible.
static Module edit(mlir::ModuleOp module, Edit change, unsigned index) {
  Module copy = module.clone();
  mlir::Operation *chosen = nullptr;
  copy->walk([&](mlir::Operation *op) {
    if (index-- > 0)
      return mlir::WalkResult::advance();
    chosen = op;
    return mlir::WalkResult::interrupt();
  });
  if (!chosen || !change(chosen))
    return nullptr;
  eraseDead(*copy);
  // Some edits give an invalid module.
  mlir::ScopedDiagnosticHandler quiet(module.getContext(),
                                      [](mlir::Diagnostic &) {});
  return mlir::succeeded(mlir::verify(*copy)) ? std::move(copy) : nullptr;
}

static unsigned countOps(mlir::ModuleOp module) {
  unsigned count = 0;
  module.walk([&](mlir::Operation *) { ++count; });
  return count;
}

/// Applies the first edit that leaves the module interesting; false if there is
/// none.
static bool shrink(Module &module, const mlir::Tester &tester) {
  for (Edit change : getEdits())
    for (unsigned index = 0, e = countOps(*module); index < e; ++index) {
      Module smaller = edit(*module, change, index);
      if (!smaller || tester.isInteresting(*smaller).first !=
                          mlir::Tester::Interestingness::True)
        continue;
      module = std::move(smaller);
      return true;
    }
  return false;
}

static bool write(mlir::ModuleOp module, const std::string &path) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_Text);
  if (code) {
    llvm::errs() << "nsacc-reduce: error: can't write '" << path
                 << "': " << code.message() << '\n';
    return false;
  }
  module.print(file.os());
  file.os() << '\n';
  file.keep();
  return true;
}

/// The library ends the process for a script that can't be run.
[[noreturn]] static void reportScript(void *script, const char *reason, bool) {
  const std::string &path = *static_cast<std::string *>(script);
  llvm::errs() << "nsacc-reduce: error: can't run '" << path
               << "': " << llvm::StringRef(reason).rsplit(": ").second << '\n'
               << "note: a script has to be executable, 'chmod +x " << path
               << "', and to say who reads it, as in '#!/bin/sh' on its first "
                  "line\n";
  // Candidates are in files of their own.
  llvm::sys::RunInterruptHandlers();
  std::_Exit(2);
}

int main(int argc, char **argv) {
  std::string input, output = "-", script, dtype = "bf16";
  CLI::App app("Makes a program smaller for as long as a script finds it "
               "interesting");
  app.add_option("FILE", input, "program (.nsa), or IR of the nsa dialect")
      ->required();
  app.add_option("--test", script,
                 "script that gets the path of a candidate and exits with 1 "
                 "where it is interesting, with 0 where it isn't")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--dtype", dtype, "type of tensors that name none (bf16)")
      ->check(CLI::IsMember({"bf16", "f16", "f32"}));
  app.add_option("-o,--output", output,
                 "where to write its IR, as FILE.mlir; '-': standard output");
  CLI11_PARSE(app, argc, argv);
  if (llvm::StringRef(output).ends_with(".nsa")) {
    llvm::errs() << "nsacc-reduce: error: '" << output
                 << "' has the name of a program, and what is written is IR\n"
                 << "note: give -o a name that ends in .mlir, which nsacc and "
                    "nsacc-opt read\n";
    return 2;
  }

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect,
                      nsa::NSADialect, nsatile::NSATileDialect>();
  Module module = read(input, dtype, context);
  if (!module)
    return 1;
  mlir::Tester tester(script, {});
  llvm::ScopedFatalErrorHandler handler(reportScript, &script);
  if (tester.isInteresting(*module).first !=
      mlir::Tester::Interestingness::True) {
    llvm::errs() << "nsacc-reduce: error: '" << script << "' doesn't find '"
                 << input << "' interesting\n"
                 << "note: it has to exit with 1 for it\n";
    return 1;
  }
  while (shrink(module, tester))
    ;
  return write(*module, output) ? 0 : 1;
}
