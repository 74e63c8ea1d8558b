//===- TunedStore.h - The store of tuned schedules --------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_TUNEDSTORE_H
#define NSACC_TOOLS_NSACC_TUNEDSTORE_H

#include "Commands.h"
#include "nsacc/Support/DiskCache.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace nsacc {

/// The folder of tuned schedules, beside the cache of code.
struct TunedStore {
  CacheOptions options;
  /// Entries of schedules. Seeds, which schedules leave for other builds,
  /// aren't included.
  std::vector<CacheEntry> entries;

  /// "3 tuned schedules in FOLDER"
  std::string describe() const;
};

/// "NSACC_CACHE=readonly forbids to write into 'FOLDER'"; empty if writing is
/// allowed.
std::string explainReadOnly(const CacheOptions &options);
/// Fails if files of the folder must not change. `what` says what isn't done
/// then, "nothing is removed".
llvm::Error checkMayWrite(const CacheOptions &options, llvm::StringRef what);

/// Fails if the environment names no folder.
llvm::Expected<TunedStore> readTunedStore();

/// `nsacc tune ls` and `nsacc tune clear`.
void addTunedStoreCommands(CLI::App &tune, Invocation &invocation);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_TUNEDSTORE_H
