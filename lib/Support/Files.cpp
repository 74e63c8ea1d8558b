//===- Files.cpp - Files that others name ---------------------------------===//

#include "nsacc/Support/Files.h"
#include "llvm/Support/FileSystem.h"

namespace fs = llvm::sys::fs;

llvm::Error nsacc::refuseDevice(llvm::StringRef path, llvm::StringRef what) {
  fs::file_status status;
  if (fs::status(path, status) ||
      (status.type() != fs::file_type::character_file &&
       status.type() != fs::file_type::block_file))
    return llvm::Error::success();
  return llvm::createStringError("'" + path + "' is a device, not " + what);
}
