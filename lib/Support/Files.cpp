//===- Files.cpp - Files that users name ----------------------------------===//

#include "nsacc/Support/Files.h"
#include "llvm/ADT/SmallString.h"
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

/// Writes and closes. The stream's error must be cleared: it would end the
/// process.
static std::error_code
writeAndClose(int descriptor,
              llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  write(os);
  os.close();
  std::error_code error = os.error();
  os.clear_error();
  return error;
}

llvm::Error
nsacc::writeWhole(llvm::StringRef path, unsigned mode,
                  llvm::function_ref<void(llvm::raw_ostream &)> write) {
  int descriptor;
  llvm::SmallString<128> temporary;
  std::error_code error = fs::createUniqueFile(
      path + ".%%%%%%%%.tmp", descriptor, temporary, fs::OF_None, mode);
  if (error)
    return llvm::errorCodeToError(error);
  error = writeAndClose(descriptor, write);
  if (!error)
    error = fs::rename(temporary, path);
  if (error)
    fs::remove(temporary);
  return llvm::errorCodeToError(error);
}
