//===- Files.cpp - Files of commands --------------------------------------===//

#include "Files.h"
#include "Messages.h"
#include "nsacc/Support/Files.h"
#include "nsacc/Support/JSON.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"
#include <memory>
#include <vector>

using namespace nsacc;

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
nsacc::readFile(llvm::StringRef path, llvm::StringRef what) {
  if (path != "-")
    if (llvm::Error error = refuseDevice(path, what))
      return std::move(error);
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (buffer)
    return std::move(*buffer);
  return makeError("can't read '" + path + "': " + buffer.getError().message());
}

llvm::Expected<llvm::json::Value> nsacc::readJSONFile(llvm::StringRef path,
                                                      llvm::StringRef what) {
  auto buffer = readFile(path, what);
  if (!buffer)
    return buffer.takeError();
  auto value = parseJSON((*buffer)->getBuffer());
  if (!value)
    return makeError("'" + path +
                     "' isn't JSON: " + llvm::toString(value.takeError()));
  return value;
}

llvm::Error nsacc::refuseTerminal(llvm::StringRef path, const llvm::Twine &what,
                                  llvm::StringRef flag) {
  if (path != "-" || !llvm::sys::Process::StandardOutIsDisplayed())
    return llvm::Error::success();
  return makeError(what + " isn't text, and standard output is a terminal",
                   "give " + flag + " FILE, or redirect standard output");
}

llvm::Error nsacc::writeFiles(llvm::ArrayRef<OutputFile> files) {
  std::vector<std::unique_ptr<llvm::ToolOutputFile>> written;
  for (const OutputFile &file : files) {
    std::error_code code;
    auto &output = written.emplace_back(std::make_unique<llvm::ToolOutputFile>(
        file.path, code, llvm::sys::fs::OF_None));
    if (!code) {
      output->os() << file.bytes;
      output->os().flush();
      code = output->os().error();
      output->os().clear_error();
    }
    if (code)
      return makeError(
          "can't write " +
          (file.path == "-" ? "standard output" : "'" + file.path.str() + "'") +
          ": " + code.message());
  }
  for (auto &output : written)
    output->keep();
  return llvm::Error::success();
}
