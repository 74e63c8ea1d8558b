//===- ModuleParts.h - Parts of LLVM IR for threads -------------*- C++ -*-===//

#ifndef NSACC_TARGET_PARTS_MODULEPARTS_H
#define NSACC_TARGET_PARTS_MODULEPARTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace nsacc {

/// A module of LLVM IR whose functions don't call each other, as bytes, so that
/// threads can compile its functions, each in its own context. The optimizer
/// sees the order of uses, so the order is kept: a function's code doesn't
/// depend on the other functions that are read with it.
class ModuleParts {
public:
  explicit ModuleParts(const llvm::Module &module);

  /// The functions that have a body, in the module's order.
  llvm::ArrayRef<std::string> getFunctions() const { return functions; }
  /// Indices of the functions, with the most instructions first, so that
  /// threads end at about the same time.
  std::vector<size_t> getLongestFirst() const;
  /// The module with these functions alone. Any thread may call it.
  llvm::Expected<std::unique_ptr<llvm::Module>>
  read(llvm::ArrayRef<std::string> wanted, llvm::LLVMContext &context) const;

private:
  llvm::SmallString<0> bytes;
  std::vector<std::string> functions;
  std::vector<unsigned> sizes; ///< instructions of each
};

} // namespace nsacc

#endif // NSACC_TARGET_PARTS_MODULEPARTS_H
