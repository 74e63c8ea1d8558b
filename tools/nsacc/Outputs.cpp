//===- Outputs.cpp - Output files of a run --------------------------------===//

#include "Outputs.h"
#include "Messages.h"
#include "nsacc/Tensor/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace nsacc;
namespace fs = llvm::sys::fs;

static llvm::Error checkWritable(llvm::StringRef path) {
  if (path == "-")
    return makeError("results can't go to standard output",
                     "name a file: --output NAME=FILE.npy");
  if (fs::is_directory(path))
    return makeError("can't write '" + path + "': it is a folder",
                     "use --output-dir, or name a file in it");
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (folder.empty())
    folder = ".";
  if (!fs::is_directory(folder))
    return makeError("can't write '" + path + "': there is no folder '" +
                     folder + "'");
  if (std::error_code code = fs::access(folder, fs::AccessMode::Write))
    return makeError("can't write '" + path + "': " + code.message());
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::string>>
nsacc::planFolder(llvm::ArrayRef<Argument> arguments, llvm::StringRef flag,
                  llvm::StringRef folder) {
  std::vector<std::string> files(arguments.size());
  if (folder.empty())
    return files;
  std::error_code code = fs::create_directories(folder);
  if (!code && !fs::is_directory(folder))
    code = std::make_error_code(std::errc::not_a_directory);
  if (code)
    return makeError("can't make the folder of " + flag + " '" + folder +
                     "': " + code.message());
  for (auto [argument, file] : llvm::zip(arguments, files)) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, argument.name + ".npy");
    file = path.str().str();
    if (llvm::Error error = checkWritable(file))
      return error;
  }
  return files;
}

llvm::Expected<std::vector<std::string>>
nsacc::planOutputs(llvm::StringRef kernel, llvm::ArrayRef<Argument> results,
                   const Settings &named, llvm::StringRef folder) {
  auto files = planFolder(results, "--output-dir", folder);
  if (!files)
    return files.takeError();
  std::vector<std::string> names;
  for (const Argument &result : results)
    names.push_back(result.name);
  for (auto &[name, path] : named) {
    auto found = llvm::find(names, name);
    if (found == names.end())
      return makeError("--output: kernel '" + kernel + "' has no result '" +
                           name + "'",
                       suggest(name, names, "it has " + quoteList(names)));
    if (llvm::Error error = checkWritable(path))
      return error;
    if (llvm::is_contained(*files, path))
      return makeError("--output: two results would go to '" + path + "'");
    (*files)[found - names.begin()] = path;
  }
  return files;
}

llvm::Error nsacc::writeTensors(llvm::ArrayRef<Tensor> tensors,
                                llvm::ArrayRef<std::string> files) {
  for (auto [tensor, file] : llvm::zip(tensors, files))
    if (!file.empty())
      if (llvm::Error error = writeNpy(file, tensor))
        return error;
  return llvm::Error::success();
}
