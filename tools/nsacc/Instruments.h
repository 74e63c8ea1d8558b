//===- Instruments.h - Watching a compilation -------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_INSTRUMENTS_H
#define NSACC_TOOLS_NSACC_INSTRUMENTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"
#include "nsacc/Explain/Remarks.h"
#include "nsacc/Support/CrashHandler.h"
#include "nsacc/Support/DiskCache.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace CLI {
class App;
} // namespace CLI

namespace mlir {
class PassManager;
} // namespace mlir

namespace nsacc {

struct InstrumentOptions {
  std::string dumpDir; ///< the folder for IR; empty: none
  bool timing = false;
  bool remarks = false;
};

/// --dump-phases-to and --timing.
void addInstrumentFlags(CLI::App &command, InstrumentOptions &options);

/// Instruments of a compilation: dumps, timing, remarks, and reproducers of
/// crashes.
class Instruments {
public:
  explicit Instruments(const InstrumentOptions &options);
  ~Instruments();

  /// Makes the folder for dumps.
  llvm::Error start(llvm::StringRef file,
                    llvm::ArrayRef<std::string> commandLine);

  mlir::TimingScope &getTiming() { return timing; }
  /// The environment's cache options if no instrument is used; with instruments
  /// there is no cache, since cached code runs no passes.
  llvm::Expected<CacheOptions> chooseCache() const;
  /// Called before passes run: dumps the module after each of them, and keeps a
  /// reproducer ready.
  void preparePasses(mlir::PassManager &manager, mlir::ModuleOp module,
                     llvm::StringRef phase);
  /// Called after passes: drops the reproducer.
  void finishPasses() { reproducer.reset(); }
  /// Prints remarks, and fails if a dump couldn't be written.
  llvm::Error finish();

  /// Writes DIR/NN-NAME.mlir.
  void dump(llvm::StringRef name, mlir::ModuleOp module);

private:
  InstrumentOptions options;
  std::string file;
  std::vector<std::string> commandLine;
  unsigned numDumps = 0;
  std::string problem;
  explain::Remarks remarks;
  mlir::DefaultTimingManager manager;
  mlir::TimingScope timing;
  std::optional<ReproducerScope> reproducer;
};

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_INSTRUMENTS_H
