//===- Instruments.cpp - Watching a compilation ---------------------------===//

#include "Instruments.h"
#include "Messages.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Driver/Reproducer.h"
#include "nsacc/Support/Environment.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
#include <CLI/CLI.hpp>

using namespace nsacc;

void nsacc::addInstrumentFlags(CLI::App &command, InstrumentOptions &options) {
  const char *group = "Compiler";
  command
      .add_option("--dump-phases-to", options.dumpDir,
                  "write IR after the front end and each pass to "
                  "DIR/NN-PHASE-PASS.mlir")
      ->type_name("DIR")
      ->group(group);
  command
      .add_flag("--timing", options.timing,
                "print the time of each phase and pass to standard error")
      ->group(group);
}

Instruments::Instruments(const InstrumentOptions &options) : options(options) {
  manager.setEnabled(options.timing);
  manager.setDisplayMode(mlir::DefaultTimingManager::DisplayMode::Tree);
  timing = manager.getRootScope();
}

Instruments::~Instruments() = default;

llvm::Error Instruments::start(llvm::StringRef file,
                               llvm::ArrayRef<std::string> commandLine) {
  this->file = file;
  this->commandLine = commandLine;
  if (options.dumpDir.empty())
    return llvm::Error::success();
  std::error_code code = llvm::sys::fs::create_directories(options.dumpDir);
  if (!code && !llvm::sys::fs::is_directory(options.dumpDir))
    code = std::make_error_code(std::errc::not_a_directory);
  if (code)
    return makeError("can't make the folder of --dump-phases-to '" +
                     options.dumpDir + "': " + code.message());
  return llvm::Error::success();
}

llvm::Expected<CacheOptions> Instruments::chooseCache() const {
  auto cache = lookupCache();
  if (!cache)
    return cache.takeError();
  bool isWatched =
      options.timing || options.remarks || !options.dumpDir.empty();
  if (isWatched && cache->mode == CacheMode::Require)
    return makeError("--timing, --remarks and --dump-phases-to watch a "
                     "compilation, and NSACC_CACHE=require allows none",
                     "drop the flag, or set NSACC_CACHE to readwrite");
  if (isWatched)
    cache->mode = CacheMode::Off;
  return *cache;
}

//===-- Dumps -------------------------------------------------------------===//

void Instruments::dump(llvm::StringRef name, mlir::ModuleOp module) {
  llvm::SmallString<128> path(options.dumpDir);
  std::string number = llvm::utostr(numDumps++);
  if (number.size() < 2)
    number.insert(0, "0");
  llvm::sys::path::append(path, number + "-" + name + ".mlir");
  std::error_code code;
  llvm::ToolOutputFile out(path, code, llvm::sys::fs::OF_Text);
  if (!code) {
    module.print(out.os());
    out.os() << '\n';
    out.os().flush();
    code = out.os().error();
    out.os().clear_error();
    out.keep();
  }
  if (code && problem.empty())
    problem = ("can't write '" + path + "': " + code.message()).str();
}

llvm::Error Instruments::finish() {
  llvm::outs().flush();
  remarks.print(llvm::errs());
  return problem.empty() ? llvm::Error::success() : makeError(problem);
}

namespace {

class Dumper : public mlir::PassInstrumentation {
public:
  Dumper(Instruments &instruments, llvm::StringRef phase)
      : instruments(instruments), phase(phase) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    write(pass, op, "");
  }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override {
    write(pass, op, "-failed");
  }

private:
  /// Passes over functions count as one pass, which ends after the last
  /// function.
  void write(mlir::Pass *pass, mlir::Operation *op, llvm::StringRef suffix) {
    auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
    if (!module)
      return;
    llvm::StringRef name = pass->getArgument();
    instruments.dump(
        (phase + "-" + (name.empty() ? "functions" : name) + suffix).str(),
        module);
  }

  Instruments &instruments;
  std::string phase;
};

} // namespace

void Instruments::preparePasses(mlir::PassManager &manager,
                                mlir::ModuleOp module, llvm::StringRef phase) {
  reproducer.reset();
  if (manager.size() > 0)
    reproducer.emplace(file + ".mlir", makeReproducer(manager, module),
                       commandLine);
  if (options.remarks)
    remarks.listen(*module.getContext());
  if (options.dumpDir.empty())
    return;
  if (manager.size() == 0)
    dump(phase, module);
  manager.addInstrumentation(std::make_unique<Dumper>(*this, phase));
}
