//===- TunedStore.h - Tuned schedules that are kept -------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_TUNEDSTORE_H
#define NSACC_TOOLS_NSACC_TUNEDSTORE_H

#include "Commands.h"
#include "nsacc/Support/DiskCache.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace nsacc {

/// The folder of tuned schedules, beside the code that is kept.
struct TunedStore {
  CacheOptions options;
  /// Of schedules; seeds, which they leave for other builds, aren't among them.
  std::vector<CacheEntry> entries;

  /// "3 tuned schedules in FOLDER"
  std::string describe() const;
};

/// "NSACC_CACHE=readonly forbids to write into 'FOLDER'"; empty where nothing
/// does.
std::string explainReadOnly(const CacheOptions &options);
/// Fails where files of the folder have to stay as they are. `what` is what
/// doesn't happen then, "nothing is removed".
llvm::Error checkMayWrite(const CacheOptions &options, llvm::StringRef what);

/// Fails where the environment names no folder.
llvm::Expected<TunedStore> readTunedStore();

/// `nsacc tune ls` and `nsacc tune clear`.
void addTunedStoreCommands(CLI::App &tune, Invocation &invocation);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_TUNEDSTORE_H
