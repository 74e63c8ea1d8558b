//===- StoredCode.h - Code in the cache -------------------------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_STOREDCODE_H
#define NSACC_LIB_DRIVER_STOREDCODE_H

#include "nsacc/Driver/CompiledProgram.h"

namespace nsacc {

/// Code of a program in the options' cache. A key is lines of text, each with a
/// name and a value; it contains everything that the code depends on.
class StoredCode {
public:
  explicit StoredCode(const CompileOptions &options)
      : cache(options.cache, options.warn), warn(options.warn) {}

  /// Repeats the warnings that were given when the code was made.
  std::optional<std::string> find(llvm::StringRef key) const;
  /// Finds a package and parses it; none if it can't be parsed.
  std::optional<rt::Package> findPackage(llvm::StringRef key) const;
  void store(llvm::StringRef key, const rt::Package &package,
             llvm::ArrayRef<std::string> warnings) const;
  /// Fails if the cache must have the code. `what` is "kernel 'flash' for
  /// HQ=8". `beside` names other tools that make code, too: " and its ptxas".
  llvm::Error checkMayCompile(const llvm::Twine &what,
                              llvm::StringRef beside = "") const;

private:
  DiskCache cache;
  std::function<void(llvm::StringRef)> warn;
};

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_STOREDCODE_H
