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

/// What ptxas says of a kernel.
struct KernelReport {
  std::string kernel;
  unsigned registers = 0;
  unsigned spillStoreBytes = 0, spillLoadBytes = 0, stackBytes = 0;
  unsigned sharedBytes = 0, barriers = 0;

  /// Bytes of each thread's that are stored for want of registers and loaded
  /// again. Six registers that wait in memory, a row's sums during a product
  /// for instance, are no loss that smaller tiles would make good: 0.
  unsigned getSpilledBytes() const;
};

struct AssemblerReport {
  std::vector<KernelReport> kernels;
  /// Warnings and advice, among them the C75.. lines that tell of products that
  /// don't overlap; each on one line, as ptxas wrote it.
  std::vector<std::string> warnings;
  /// Why it wasn't asked about some kernel, though it is there; empty: it was.
  std::string notAsked;

  /// Why code is right but slow: registers that a kernel keeps in memory, but
  /// for a few, and lines C7500 to C7599, where ptxas serializes products.
  /// `names` says what kernels are in the program.
  std::vector<std::string>
  getLosses(const llvm::StringMap<std::string> &names = {}) const;
};

struct MachineCode {
  std::string cubin;
  AssemblerReport report;
};

/// Where ptxas is: the first of `candidates` that can be run (empty ones don't
/// count), else the PATH's, else that of a CUDA toolkit in its usual place.
std::optional<std::string> findPtxas(llvm::ArrayRef<std::string> candidates);

/// What tells the ptxas that compilations with these candidates use from
/// others, without running it.
std::string identifyPtxas(llvm::ArrayRef<std::string> candidates);

enum class Effort {
  Short, ///< instructions stay about where they are
  Full,  ///< ptxas's own choice
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

/// Runs ptxas. Fails with what it says is wrong, or with NotAskedError; none
/// where it is too old to know the architecture.
llvm::Expected<std::optional<MachineCode>>
assemble(llvm::StringRef ptxas, llvm::StringRef ptx,
         llvm::StringRef architecture, Effort effort = Effort::Full);

/// Reads what `ptxas -v` writes.
AssemblerReport parseReport(llvm::StringRef text);

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_PTXAS_H
