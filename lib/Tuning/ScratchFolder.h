//===- ScratchFolder.h - Files of one tuner ---------------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_SCRATCHFOLDER_H
#define NSACC_LIB_TUNING_SCRATCHFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace nsacc::tuning {

/// A temporary folder that is removed with its owner. If a process is killed,
/// the next process that makes such a folder removes the old one.
class ScratchFolder {
public:
  static llvm::Expected<ScratchFolder> create();
  /// Holds no folder.
  ScratchFolder() = default;
  ScratchFolder(ScratchFolder &&other);
  ScratchFolder &operator=(ScratchFolder &&other);
  ~ScratchFolder();

  /// The path; empty if there is no folder.
  const std::string &getPath() const { return path; }
  std::string getPath(llvm::StringRef name) const;

private:
  std::string path;
  /// Locked as long as the process has the folder.
  int descriptor = -1;
};

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_SCRATCHFOLDER_H
