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
/// threads can compile its functions, each in a context of its own. The
/// optimizer sees the order of uses, so that is kept: a function's code doesn't
/// depend on what is read with it.
class ModuleParts {
public:
  explicit ModuleParts(const llvm::Module &module);

  /// The functions that have a body, in the module's order.
  llvm::ArrayRef<std::string> getFunctions() const { return functions; }
  /// Their numbers, those with more instructions first: threads that begin with
  /// them end together.
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
