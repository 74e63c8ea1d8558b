//===- Ptxas.h - Machine code from PTX --------------------------*- C++ -*-===//

#ifndef NSACC_TARGET_CUDA_PTXAS_H
#define NSACC_TARGET_CUDA_PTXAS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace nsacc::cuda {

/// The report of ptxas on a kernel.
struct KernelReport {
  std::string kernel;
  unsigned registers = 0;
  unsigned spillStoreBytes = 0, spillLoadBytes = 0, stackBytes = 0;
  unsigned sharedBytes = 0, barriers = 0;

  /// Bytes of each thread that are stored and loaded again because registers
  /// run out. 0 up to six registers: a row's sums may wait in memory during a
  /// product, for instance, and smaller tiles wouldn't avoid that.
  unsigned getSpilledBytes() const;
};

struct AssemblerReport {
  std::vector<KernelReport> kernels;
  /// Warnings and advice, each on one line, as ptxas wrote it. Lines C75..
  /// report products that don't overlap.
  std::vector<std::string> warnings;
  /// Why ptxas wasn't asked about some kernel, though it is there; empty if it
  /// was.
  std::string notAsked;

  /// Why code is right but slow: registers that a kernel keeps in memory, apart
  /// from a few, and lines C7500 to C7599, where ptxas serializes products.
  /// `names` gives the kernels' names in the program.
  std::vector<std::string>
  getLosses(const llvm::StringMap<std::string> &names = {}) const;
};

struct MachineCode {
  std::string cubin;
  AssemblerReport report;
};

/// The path of ptxas: the first of `candidates` that can be run (empty ones
/// don't count), else the one on the PATH, else the one in a CUDA toolkit's
/// usual place.
std::optional<std::string> findPtxas(llvm::ArrayRef<std::string> candidates);

/// Identifies the ptxas that compilations with these candidates use, without
/// running it.
std::string identifyPtxas(llvm::ArrayRef<std::string> candidates);

enum class Effort {
  Short, ///< instructions mostly keep their order
  Full,  ///< the default of ptxas
};

/// ptxas can't be asked: it doesn't run, or there is no place for its files.
class NotAskedError : public llvm::ErrorInfo<NotAskedError> {
public:
  static char ID;

  explicit NotAskedError(const llvm::Twine &message) : text(message.str()) {}

  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string text;
};

/// Runs ptxas. Fails with its error message, or with NotAskedError; none if it
/// is too old to know the architecture.
llvm::Expected<std::optional<MachineCode>>
assemble(llvm::StringRef ptxas, llvm::StringRef ptx,
         llvm::StringRef architecture, Effort effort = Effort::Full);

/// Reads the output of `ptxas -v`.
AssemblerReport parseReport(llvm::StringRef text);

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_PTXAS_H
