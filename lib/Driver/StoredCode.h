//===- StoredCode.h - Code that outlives the process ------------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_STOREDCODE_H
#define NSACC_LIB_DRIVER_STOREDCODE_H

#include "nsacc/Driver/CompiledProgram.h"

namespace nsacc {

/// Code of a program in the cache of the options. A key is lines of text, each
/// a name and what it is; all that code depends on stands in it.
class StoredCode {
public:
  explicit StoredCode(const CompileOptions &options)
      : cache(options.cache, options.warn), warn(options.warn) {}

  /// Tells what was told when the code was made.
  std::optional<std::string> find(llvm::StringRef key) const;
  /// The same, read. A package that can't be read isn't there.
  std::optional<rt::Package> findPackage(llvm::StringRef key) const;
  void store(llvm::StringRef key, const rt::Package &package,
             llvm::ArrayRef<std::string> warnings) const;
  /// Fails where code has to be there. `what` is "kernel 'flash' for HQ=8".
  /// `beside` is who makes code, too: " and its ptxas".
  llvm::Error checkMayCompile(const llvm::Twine &what,
                              llvm::StringRef beside = "") const;

private:
  DiskCache cache;
  std::function<void(llvm::StringRef)> warn;
};

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_STOREDCODE_H
