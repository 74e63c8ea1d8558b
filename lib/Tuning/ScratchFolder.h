//===- ScratchFolder.h - Files of one tuner ---------------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_SCRATCHFOLDER_H
#define NSACC_LIB_TUNING_SCRATCHFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace nsacc::tuning {

/// A temporary folder that is gone with its owner. Where a process is killed,
/// the next one that makes such a folder removes what is left.
class ScratchFolder {
public:
  static llvm::Expected<ScratchFolder> create();
  /// None.
  ScratchFolder() = default;
  ScratchFolder(ScratchFolder &&other);
  ScratchFolder &operator=(ScratchFolder &&other);
  ~ScratchFolder();

  /// Empty: none.
  const std::string &getPath() const { return path; }
  std::string getPath(llvm::StringRef name) const;

private:
  std::string path;
  /// Locked for as long as the process has it.
  int descriptor = -1;
};

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_SCRATCHFOLDER_H
